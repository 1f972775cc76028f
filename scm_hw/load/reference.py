"""The PC model: a model file evaluated in double precision, to compare hardware with."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from scm_hw.errors import OptionError
from scm_hw.load.model import Encoder, Floats, Layer, Model
from scm_hw.load.table import table_of_sensors

BLOCK_ROWS = 4096


@dataclass(frozen=True, eq=False)
class Activity:
    """What the PC model sees and does on some rows."""

    x: Floats
    hidden: Floats
    mechanism: Floats
    output: Floats


def normalise(model: Model, inputs: Floats) -> Floats:
    """Features scaled to [0, 1] by the training range; 0 where that range is empty."""
    span = model.input_max - model.input_min
    return np.divide(
        inputs - model.input_min, span, out=np.zeros_like(inputs, np.float64), where=span > 0
    )


def codes(model: Model, inputs: Floats) -> NDArray[np.int64]:
    """The unsigned integer codes with which features enter hardware."""
    top = np.array([(1 << code.bits) - 1 for code in model.codes])
    scaled = np.floor(normalise(model, inputs) * (top + 1))
    return np.clip(scaled, 0, top).astype(np.int64)


def held_codes(model: Model, code: NDArray[np.int64]) -> NDArray[np.int64]:
    """The codes as the linear part and the mechanism see them, held inside the training range."""
    low, high = [c.low for c in model.codes], [c.high for c in model.codes]
    return np.clip(code, low, high)


def evaluate(model: Model, inputs: Floats, mechanism: Floats | None = None) -> Activity:
    """Run the PC model on raw rows; `mechanism` holds P0 in target units where it is external."""
    blocks = []
    for start in range(0, len(inputs), BLOCK_ROWS):
        rows = slice(start, start + BLOCK_ROWS)
        p0 = None if mechanism is None else mechanism[rows]
        blocks.append(_evaluate_block(model, inputs[rows], p0))
    parts = zip(*blocks, strict=True)
    return Activity(*(np.concatenate(part) for part in parts))


def classes_of(output: Floats | NDArray[np.int64]) -> NDArray[np.int64]:
    """The winning class of every row, ties to the lower."""
    return np.asarray(output).argmax(axis=1).astype(np.int64)


def _evaluate_block(
    model: Model, inputs: Floats, external: Floats | None
) -> tuple[Floats, Floats, Floats, Floats]:
    if model.input_bits is None:
        x = first = normalise(model, inputs)
        p0 = mechanism_values(model, x, external)
    else:
        code = codes(model, inputs)
        held = held_codes(model, code)
        x = (held + 0.5) / np.array([1 << c.bits for c in model.codes])
        first = x if model.encoder.kind == "none" else encode(model.encoder, code, model.input_bits)
        p0 = mechanism_values(model, x, external, held)
    hidden = _hidden(model, first)
    output = p0 + x @ model.linear + model.intercept + hidden @ model.readout
    return x, hidden, p0, output


def encode(encoder: Encoder, code: NDArray[np.int64], input_bits: int) -> Floats:
    """The coded bits of each row as +1 and -1."""
    columns = []
    for feature, bits in enumerate(encoder.bits):
        value = code[:, feature]
        if encoder.kind == "thermometer":
            columns.append(value[:, None] >= np.array(encoder.thresholds[feature]))
            continue
        top = _level(encoder, feature, value, input_bits - bits)
        if encoder.kind == "gray":
            top = top ^ (top >> 1)
        columns.append((top[:, None] >> np.arange(bits)) & 1 == 1)
    return np.where(np.concatenate(columns, axis=1), 1.0, -1.0)


def _level(
    encoder: Encoder, feature: int, code: NDArray[np.int64], lowest: int
) -> NDArray[np.int64]:
    """The top bits of a code, or how many thresholds it has reached."""
    if encoder.thresholds and encoder.thresholds[feature]:
        return np.searchsorted(encoder.thresholds[feature], code, side="right")
    return code >> lowest


def _hidden(model: Model, first: Floats) -> Floats:
    below, all_layers = first, [np.empty((len(first), 0))]
    groups = _groups(model)
    for layer in model.layers:
        below = _layer_outputs(layer, below, groups)
        groups = np.arange(layer.nodes)
        all_layers.append(below)
    return np.concatenate(all_layers, axis=1)


def _groups(model: Model) -> NDArray[np.int64]:
    """The feature that each input of the first layer belongs to."""
    bits = model.encoder.bits or (1,) * len(model.features)
    return np.repeat(np.arange(len(bits)), bits)


def _layer_outputs(layer: Layer, below: Floats, groups: NDArray[np.int64]) -> Floats:
    weights = layer.weights.astype(np.float64)
    if layer.mask is not None:
        weights = weights * layer.mask[:, groups]
    z = below @ weights.T + layer.biases
    if layer.activation == "sign":
        return np.where(z > 0, 1.0, -1.0)
    if layer.activation == "step":
        return np.where(z >= 0, 1.0, 0.0)
    z = z * layer.lambdas
    if layer.activation == "sigmoid":
        return 1.0 / (1.0 + np.exp(-np.clip(z, -700.0, 700.0)))
    return np.tanh(z) if layer.activation == "tanh" else np.clip(z, 0.0, 1.0)


def mechanism_values(
    model: Model, x: Floats, external: Floats | None, held: NDArray[np.int64] | None = None
) -> Floats:
    """P0 in normalised target units; `held` are the codes that `x` was made of."""
    mechanism = model.mechanism
    if mechanism.kind == "none":
        return np.zeros((len(x), model.outputs))
    if mechanism.kind == "polynomial":
        assert mechanism.exponents is not None and mechanism.coefficients is not None
        powers = x[:, None, :] ** mechanism.exponents.astype(np.int64)[None]
        return powers.prod(axis=2) @ mechanism.coefficients
    if mechanism.corners is not None:
        assert held is not None
        return table_of_sensors(model, held)
    if mechanism.kind == "table":
        assert mechanism.grid is not None
        return _interpolate(mechanism.grid, x[:, list(mechanism.inputs)])
    if external is None:
        raise OptionError(
            "this model's mechanism is external; give P0 of each row, in target units, beside it"
        )
    return (external - model.target_min) / (model.target_max - model.target_min)


def _interpolate(grid: Floats, x: Floats) -> Floats:
    """Multilinear interpolation on a grid over [0, 1] in every direction."""
    steps = np.array(grid.shape[:-1]) - 1
    cell = np.clip(np.floor(x * steps).astype(np.int64), 0, steps - 1)
    fraction = x * steps - cell
    total = np.zeros((len(x), grid.shape[-1]))
    for corner in product((0, 1), repeat=x.shape[1]):
        share = np.where(np.array(corner), fraction, 1.0 - fraction).prod(axis=1)
        total += share[:, None] * grid[tuple((cell + np.array(corner)).T)]
    return total
