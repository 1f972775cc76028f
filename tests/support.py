"""What more than one test needs: random models of every kind, as the entries of a model file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from scm_hw import passes
from scm_hw.ir import Program
from scm_hw.load import Model, lower, model_from_arrays, quantise
from scm_hw.schedule import Layout, lay_out
from scm_hw.target import XC7, Technology

REPOSITORY = Path(__file__).resolve().parents[1]


def model_arrays(
    seed: int = 0,
    *,
    features: int = 3,
    outputs: int = 1,
    layers: tuple[int, ...] = (5,),
    activation: str | tuple[str, ...] = "sign",
    encoder: str = "thermometer",
    bits: int | tuple[int, ...] = 7,
    spacing: str = "uniform",
    input_bits: int = 8,
    inputs_per_node: int | None = None,
    linear: bool = True,
    mechanism: str = "none",
    task: str = "regression",
    rows: int = 40,
) -> dict[str, np.ndarray]:
    """The entries of a random, valid model file."""
    rng = np.random.default_rng(seed)
    activations = (activation,) * len(layers) if isinstance(activation, str) else activation
    arrays: dict[str, np.ndarray] = {
        "input_min": np.round(rng.normal(size=features), 3),
        "target_min": np.round(rng.normal(size=outputs), 3),
    }
    arrays["input_max"] = arrays["input_min"] + rng.uniform(0.5, 2, features)
    arrays["target_max"] = arrays["target_min"] + rng.uniform(0.5, 2, outputs)
    if task == "classification":
        arrays["target_min"], arrays["target_max"] = np.zeros(outputs), np.ones(outputs)
    each = (bits,) * features if isinstance(bits, int) else bits
    widths = _encoder_arrays(arrays, rng, encoder, each, spacing, input_bits)
    _layer_arrays(arrays, rng, layers, activations, widths, inputs_per_node, encoder)
    nodes = sum(layers)
    arrays["readout"] = rng.normal(0, 0.1, (nodes, outputs))
    arrays["linear"] = rng.normal(0, 0.3, (features, outputs)) * linear
    if linear:
        arrays["linear"][rng.random(features) < 0.3] = 0
    arrays["intercept"] = rng.uniform(0, 1, outputs)
    _mechanism_arrays(arrays, rng, mechanism, features, outputs, input_bits)
    _evaluation_arrays(arrays, rng, rows, outputs, task, mechanism)
    meta = {
        "format": "scm-model",
        "version": 1,
        "task": task,
        "algorithm": "SCM",
        "input_bits": input_bits,
        "features": [f"x{i}" for i in range(features)],
        "targets": [f"y{i}" for i in range(outputs)],
        "classes": [f"class {i}" for i in range(outputs)],
        "encoder": {"kind": encoder, "thresholds": spacing},
        "layers": [
            {"nodes": n, "activation": a, "weights": "binary"}
            for n, a in zip(layers, activations, strict=True)
        ],
        "mechanism": {"kind": mechanism},
    }
    return arrays | {"meta": meta_array(meta)}


def meta_array(meta: dict[str, Any]) -> np.ndarray:
    return np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8)


def exposing_hidden(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The same hidden layers with an output for each node.

    On a grid of one fraction bit its integers are the nodes' own values: 1 and -1, or 1 and 0.
    """
    meta = json.loads(arrays["meta"].tobytes())
    nodes = sum(layer["nodes"] for layer in meta["layers"])
    meta |= {"task": "regression", "mechanism": {"kind": "none"}}
    meta["targets"] = [f"node{i}" for i in range(nodes)]
    kept = {name: array for name, array in arrays.items() if not name.startswith("eval_")}
    return kept | {
        "meta": meta_array(meta),
        "target_min": np.zeros(nodes),
        "target_max": np.ones(nodes),
        "readout": np.eye(nodes) / 2,
        "linear": np.zeros((len(meta["features"]), nodes)),
        "intercept": np.zeros(nodes),
    }


def optimise(program: Program, tech: Technology = XC7) -> Program:
    """The program after the passes that always run."""
    return passes.optimise(program, tech)


def random_model(seed: int = 0, **options: Any) -> Model:
    return model_from_arrays(model_arrays(seed, **options))


def compiled(model: Model, *, clock_mhz: float, frac_bits: int = 8, **options: Any) -> Layout:
    """A model's program as hardware has it, with its schedule."""
    program = optimise(lower(model, quantise(model, frac_bits)))
    return lay_out(program, clock_mhz=clock_mhz, **options)


def write_model(path: Path, arrays: dict[str, np.ndarray]) -> Path:
    np.savez(path, **arrays)
    return path


def _encoder_arrays(
    arrays: dict[str, np.ndarray],
    rng: np.random.Generator,
    encoder: str,
    bits: tuple[int, ...],
    spacing: str,
    input_bits: int,
) -> list[int]:
    if encoder == "none":
        return [1] * len(bits)
    arrays["encoder_bits"] = np.array(bits, dtype=np.int32)
    if encoder == "thermometer":
        top = 1 << input_bits
        if spacing == "uniform":
            parts = [np.arange(1, count + 1) * top // (count + 1) for count in bits]
        else:
            parts = [np.sort(1 + rng.choice(top - 1, count, replace=False)) for count in bits]
        arrays["thresholds"] = np.concatenate(parts).astype(np.int64)
    return list(bits)


def _layer_arrays(
    arrays: dict[str, np.ndarray],
    rng: np.random.Generator,
    layers: tuple[int, ...],
    activations: tuple[str, ...],
    widths: list[int],
    inputs_per_node: int | None,
    encoder: str,
) -> None:
    inputs, groups = sum(widths), len(widths)
    for number, nodes in enumerate(layers, start=1):
        signs = rng.integers(0, 2, (nodes, inputs), dtype=np.uint8)
        arrays[f"layer{number}_weights"] = np.packbits(signs, axis=1, bitorder="little")
        if inputs_per_node is not None:
            mask = np.zeros((nodes, groups), dtype=np.uint8)
            for row in mask:
                row[rng.choice(groups, min(inputs_per_node, groups), replace=False)] = 1
            arrays[f"layer{number}_mask"] = np.packbits(mask, axis=1, bitorder="little")
        spread = 0.5 if number == 1 and encoder == "none" else np.sqrt(inputs)
        arrays[f"layer{number}_lambda"] = rng.choice([0.5, 1.0, 5.0, 100.0], nodes)
        arrays[f"layer{number}_bias"] = _biases(rng, nodes, float(spread))
        inputs = groups = nodes


def _biases(rng: np.random.Generator, nodes: int, spread: float) -> np.ndarray:
    """Real biases, some of them integers so that sums meet them exactly."""
    biases = rng.normal(0, spread, nodes)
    return np.where(rng.random(nodes) < 0.3, np.rint(biases), biases)


def _mechanism_arrays(
    arrays: dict[str, np.ndarray],
    rng: np.random.Generator,
    kind: str,
    features: int,
    outputs: int,
    input_bits: int,
) -> None:
    if kind == "polynomial":
        exponents = rng.integers(0, 2, (4, features), dtype=np.uint8)
        exponents[0, 0] = 2
        exponents[1] = 0
        arrays["mechanism_exponents"] = exponents
        arrays["mechanism_coefficients"] = rng.normal(0, 0.3, (4, outputs))
    elif kind == "table":
        sides = [min(side, (1 << input_bits) + 1) for side in (5, 3, 9)][: min(features, 3)]
        arrays["mechanism_inputs"] = rng.permutation(features)[: len(sides)].astype(np.int32)
        arrays["mechanism_grid"] = rng.normal(0, 0.3, (*sides, outputs))
    elif kind == "external":
        arrays["mechanism_range"] = np.array([[-0.3] * outputs, [1.2] * outputs])


def _evaluation_arrays(
    arrays: dict[str, np.ndarray],
    rng: np.random.Generator,
    rows: int,
    outputs: int,
    task: str,
    mechanism: str,
) -> None:
    low, high = arrays["input_min"], arrays["input_max"]
    # A little outside the training range, so that codes saturate.
    arrays["eval_inputs"] = rng.uniform(low - 0.1, high + 0.1, (rows, len(low)))
    span = arrays["target_max"] - arrays["target_min"]
    if task == "classification":
        arrays["eval_targets"] = rng.integers(0, outputs, rows)
    else:
        arrays["eval_targets"] = arrays["target_min"] + span * rng.random((rows, outputs))
    if mechanism == "external":
        p0 = rng.uniform(-0.3, 1.2, (rows, outputs))
        arrays["eval_mechanism"] = arrays["target_min"] + span * p0
