"""From arrays and JSON to a checked `Model`. Every rule of `model_file.md` is enforced here."""

from __future__ import annotations

import json
import math
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scm_hw.errors import ModelFileError
from scm_hw.load.archive import read_archive
from scm_hw.load.model import (
    ACTIVATIONS,
    ENCODERS,
    MECHANISMS,
    Encoder,
    Evaluation,
    Layer,
    Mechanism,
    Model,
)

FORMAT = "scm-model"
VERSION = 1
MAX_META_BYTES = 4 << 20
MAX_EVALUATION_ROWS = 20_000
MAX_LAYERS = 256
MAX_FEATURES = 1 << 16
# Eight packed weights to a byte, and long runs of them deflate to nothing: a small file may hold
# more than memory does.
MAX_LAYER_WEIGHTS = 1 << 27
MAX_INPUT_BITS = 24
MAX_GRID_STEPS = 10
# Rows further away than so many training ranges are no measurements, and their squares overflow.
FARTHEST = 1e60
HISTORY: dict[str, type[np.generic]] = {
    "history_train_rmse": np.float64,
    "history_validation_rmse": np.float64,
    "history_layer": np.int32,
}


def read_model(path: str | os.PathLike[str]) -> Model:
    """The model in a file, or a `ModelFileError` that says what is wrong with it."""
    try:
        return model_from_arrays(read_archive(path))
    except ModelFileError as error:
        if str(path) in str(error):
            raise
        raise ModelFileError(f"model file {path}: {error}") from None


def model_from_arrays(arrays: dict[str, NDArray[Any]]) -> Model:
    """The model that a file's entries describe."""
    entries = _Entries(arrays)
    meta = _Meta(entries)
    features, targets = meta.names("features"), meta.names("targets")
    d, m = len(features), len(targets)
    task = meta.choice("task", ("regression", "classification"))
    input_bits = meta.input_bits()
    encoder = _read_encoder(entries, meta, d, input_bits)
    layers = _read_layers(entries, meta, d, encoder)
    ranges = _read_ranges(entries, features, m)
    return Model(
        task=task,
        algorithm=meta.text("algorithm"),
        name=meta.optional_text("name"),
        features=features,
        targets=targets,
        classes=meta.classes(m) if task == "classification" else None,
        input_bits=input_bits,
        encoder=encoder,
        layers=layers,
        readout=entries.floats("readout", (sum(layer.nodes for layer in layers), m)),
        linear=entries.floats("linear", (d, m)),
        intercept=entries.floats("intercept", (m,)),
        mechanism=_read_mechanism(entries, meta, d, m, input_bits),
        **ranges,
        evaluation=_read_evaluation(entries, meta, task, ranges),
        meta=meta.json,
        history=_read_history(entries),
        sensors=(),
    )


class _Entries:
    """The arrays of a file, fetched by name with shape, dtype and finiteness checked."""

    def __init__(self, arrays: dict[str, NDArray[Any]]) -> None:
        self.arrays = arrays

    def __contains__(self, name: str) -> bool:
        return name in self.arrays

    def get(self, name: str, dtype: type[np.generic], shape: tuple[int | None, ...]) -> Any:
        """The array `name`; `None` in `shape` allows any length."""
        if name not in self.arrays:
            raise ModelFileError(f"entry {name!r} must be present; the file is incomplete")
        array = self.arrays[name]
        if array.dtype != np.dtype(dtype):
            raise ModelFileError(
                f"entry {name!r} must be of type {np.dtype(dtype)}, not {array.dtype}"
            )
        fits = array.ndim == len(shape) and all(
            want in (None, have) for want, have in zip(shape, array.shape, strict=True)
        )
        if not fits:
            wanted = tuple("any" if s is None else s for s in shape)
            raise ModelFileError(f"entry {name!r} must have shape {wanted}, not {array.shape}")
        return array

    def floats(self, name: str, shape: tuple[int | None, ...]) -> NDArray[np.float64]:
        array: NDArray[np.float64] = self.get(name, np.float64, shape)
        if not np.isfinite(array).all():
            where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
            raise ModelFileError(f"entry {name!r} must be finite, not {array[where]} at {where}")
        return array


class _Meta:
    """The JSON of a file, fetched key by key."""

    def __init__(self, entries: _Entries) -> None:
        raw = entries.get("meta", np.uint8, (None,))
        if len(raw) > MAX_META_BYTES:
            raise ModelFileError(f"entry 'meta' must have at most {MAX_META_BYTES} bytes")
        try:
            self.json = json.loads(raw.tobytes().decode("utf-8"))
        except (ValueError, RecursionError):
            raise ModelFileError("entry 'meta' must be JSON in UTF-8") from None
        if not isinstance(self.json, dict):
            raise ModelFileError("entry 'meta' must be a JSON object")
        self._check_version()

    def _check_version(self) -> None:
        if self.json.get("format") != FORMAT:
            raise ModelFileError(
                f"meta 'format' must be {FORMAT!r}, not {self.json.get('format')!r}; "
                "this is not a model file of scm_train"
            )
        version = self.json.get("version")
        if not isinstance(version, int) or isinstance(version, bool) or version < 1:
            raise ModelFileError(f"meta 'version' must be a positive integer, not {version!r}")
        if version > VERSION:
            raise ModelFileError(
                f"meta 'version' must be at most {VERSION}, not {version}; install a newer scm-hw"
            )

    def text(self, key: str) -> str:
        value = self.json.get(key)
        if not isinstance(value, str) or not value:
            raise ModelFileError(f"meta {key!r} must be a non-empty string, not {value!r}")
        return value

    def optional_text(self, key: str) -> str | None:
        return None if self.json.get(key) is None else self.text(key)

    def choice(self, key: str, allowed: tuple[str, ...]) -> str:
        return _choice(self.json.get(key), f"meta {key!r}", allowed)

    def section(self, key: str) -> dict[str, Any]:
        value = self.json.get(key)
        if not isinstance(value, dict):
            raise ModelFileError(f"meta {key!r} must be an object, not {value!r}")
        return value

    def names(self, key: str) -> tuple[str, ...]:
        value = self.json.get(key)
        if not isinstance(value, list) or not value or len(value) > MAX_FEATURES:
            raise ModelFileError(f"meta {key!r} must be a list of 1 to {MAX_FEATURES} names")
        for name in value:
            if not isinstance(name, str) or not name:
                raise ModelFileError(f"meta {key!r} must hold non-empty strings, not {name!r}")
        seen: set[str] = set()
        for name in value:
            if name in seen:
                raise ModelFileError(f"meta {key!r} must hold distinct names, not {name!r} twice")
            seen.add(name)
        return tuple(value)

    def classes(self, outputs: int) -> tuple[Any, ...]:
        value = self.json.get("classes")
        good = isinstance(value, list) and len(value) == outputs and outputs >= 2
        if not good or any(not isinstance(c, str | int | float | bool) for c in value or ()):
            raise ModelFileError(
                f"meta 'classes' must be a list of {outputs} labels, at least 2, not {value!r}"
            )
        return tuple(value or ())

    def input_bits(self) -> int | None:
        value = self.json.get("input_bits")
        if value is None:
            return None
        if type(value) is not int or not 1 <= value <= MAX_INPUT_BITS:
            raise ModelFileError(
                f"meta 'input_bits' must be null or in [1, {MAX_INPUT_BITS}], not {value!r}"
            )
        return value


def _choice(value: Any, what: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise ModelFileError(f"{what} must be one of {', '.join(allowed)}, not {value!r}")
    return str(value)


def _read_ranges(
    entries: _Entries, features: tuple[str, ...], m: int
) -> dict[str, NDArray[np.float64]]:
    d = len(features)
    found = {name: entries.floats(name, (d,)) for name in ("input_min", "input_max")}
    found |= {name: entries.floats(name, (m,)) for name in ("target_min", "target_max")}
    if (found["input_min"] > found["input_max"]).any():
        raise ModelFileError("entry 'input_max' must be at least 'input_min' for every feature")
    _check_widths(features, found["input_min"], found["input_max"])
    if not (found["target_min"] < found["target_max"]).all():
        raise ModelFileError("entry 'target_max' must be above 'target_min' for every target")
    for kind in ("input", "target"):
        with np.errstate(over="ignore"):
            span = found[f"{kind}_max"] - found[f"{kind}_min"]
        if not np.isfinite(span).all():
            raise ModelFileError(f"entry '{kind}_max' must be at a finite distance of '{kind}_min'")
    return found


def _check_widths(
    features: tuple[str, ...], low: NDArray[np.float64], high: NDArray[np.float64]
) -> None:
    """A code is a position within the range: one of no width has none."""
    for name, least, most in zip(features, low, high, strict=True):
        if least == most:
            raise ModelFileError(
                f"feature {name!r} must have a range wider than zero, not [{least:g}, {most:g}]; "
                "leave that column out and train again, or widen the range in the file"
            )


def _check_near(
    name: str, values: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]
) -> None:
    with np.errstate(all="ignore"):
        far = np.abs((values - low) / (high - low)) > FARTHEST
    far &= high > low
    if far.any():
        where = tuple(int(i) for i in np.argwhere(far)[0])
        raise ModelFileError(
            f"entry {name!r} must be within {FARTHEST:g} training ranges of the lower end, "
            f"not {values[where]} at {where}"
        )


def _read_encoder(entries: _Entries, meta: _Meta, d: int, input_bits: int | None) -> Encoder:
    kind = _choice(meta.section("encoder").get("kind"), "encoder 'kind'", ENCODERS)
    if kind == "none":
        return Encoder(kind)
    if input_bits is None:
        raise ModelFileError(f"meta 'input_bits' must be a number for encoder {kind!r}, not null")
    bits = tuple(int(b) for b in entries.get("encoder_bits", np.int32, (d,)))
    most = (1 << input_bits) - 1 if kind == "thermometer" else input_bits
    if any(not 1 <= b <= most for b in bits):
        raise ModelFileError(f"entry 'encoder_bits' must be in [1, {most}] for {kind!r} codes")
    if kind != "thermometer":
        return Encoder(kind, bits)
    flat = entries.get("thresholds", np.int64, (sum(bits),))
    parts = np.split(flat, np.cumsum(bits)[:-1])
    for feature, part in enumerate(parts):
        if (np.diff(part) <= 0).any() or part[0] < 1 or part[-1] > most:
            raise ModelFileError(
                f"entry 'thresholds' of feature {feature} must increase strictly within [1, {most}]"
            )
    return Encoder(kind, bits, tuple(tuple(int(t) for t in part) for part in parts))


def _read_layers(entries: _Entries, meta: _Meta, d: int, encoder: Encoder) -> tuple[Layer, ...]:
    described = meta.json.get("layers")
    if not isinstance(described, list) or len(described) > MAX_LAYERS:
        raise ModelFileError(f"meta 'layers' must be a list of at most {MAX_LAYERS} layers")
    layers: list[Layer] = []
    inputs, groups = (sum(encoder.bits) or d), d
    for number, item in enumerate(described, start=1):
        layer = _read_layer(entries, number, item, inputs, groups)
        layers.append(layer)
        inputs = groups = layer.nodes
    return tuple(layers)


def _read_layer(entries: _Entries, number: int, item: Any, inputs: int, groups: int) -> Layer:
    if not isinstance(item, dict):
        raise ModelFileError(f"layer {number} in meta must be an object, not {item!r}")
    nodes = item.get("nodes")
    if type(nodes) is not int or nodes < 1:
        raise ModelFileError(f"layer {number} must have at least 1 node, not {nodes!r}")
    if nodes * inputs > MAX_LAYER_WEIGHTS:
        raise ModelFileError(
            f"layer {number} must have at most {MAX_LAYER_WEIGHTS} weights, not {nodes * inputs}"
        )
    prefix = f"layer{number}_"
    kind = _choice(item.get("weights"), f"layer {number} 'weights'", ("binary", "real"))
    if kind == "binary":
        signs = _unpack(entries, prefix + "weights", nodes, inputs)
        weights: NDArray[Any] = np.where(signs, np.int8(1), np.int8(-1))
    else:
        weights = entries.floats(prefix + "weights", (nodes, inputs))
    mask = None
    if prefix + "mask" in entries:
        mask = _unpack(entries, prefix + "mask", nodes, groups)
        if not mask.any(axis=1).all():
            raise ModelFileError(f"entry {prefix + 'mask'!r} must leave every node an input")
    lambdas = entries.floats(prefix + "lambda", (nodes,))
    if (lambdas <= 0).any():
        raise ModelFileError(f"entry {prefix + 'lambda'!r} must be positive")
    activation = _choice(item.get("activation"), f"layer {number} 'activation'", ACTIVATIONS)
    return Layer(activation, weights, mask, lambdas, entries.floats(prefix + "bias", (nodes,)))


def _unpack(entries: _Entries, name: str, rows: int, columns: int) -> NDArray[np.bool_]:
    packed = entries.get(name, np.uint8, (rows, math.ceil(columns / 8)))
    bits = np.unpackbits(packed, axis=1, bitorder="little")
    if bits[:, columns:].any():
        raise ModelFileError(f"entry {name!r} must have clear padding bits after {columns}")
    return bits[:, :columns].view(np.bool_)


def _read_mechanism(
    entries: _Entries, meta: _Meta, d: int, m: int, input_bits: int | None
) -> Mechanism:
    kind = _choice(meta.section("mechanism").get("kind"), "mechanism 'kind'", MECHANISMS)
    if kind == "polynomial":
        exponents = entries.get("mechanism_exponents", np.uint8, (None, d))
        coefficients = entries.floats("mechanism_coefficients", (len(exponents), m))
        return Mechanism(kind, exponents=exponents, coefficients=coefficients)
    if kind == "table":
        return _read_table(entries, d, m, input_bits)
    if kind == "external":
        bounds = entries.floats("mechanism_range", (2, m))
        if (bounds[0] > bounds[1]).any():
            raise ModelFileError("entry 'mechanism_range' must have its least value first")
        return Mechanism(kind, range=bounds)
    return Mechanism()


def _read_table(entries: _Entries, d: int, m: int, input_bits: int | None) -> Mechanism:
    inputs = tuple(int(i) for i in entries.get("mechanism_inputs", np.int32, (None,)))
    good = 1 <= len(inputs) <= 3 and len(set(inputs)) == len(inputs)
    if not good or any(not 0 <= i < d for i in inputs):
        raise ModelFileError(
            f"entry 'mechanism_inputs' must name one to three distinct features, not {inputs}"
        )
    grid = entries.floats("mechanism_grid", (None,) * len(inputs) + (m,))
    most = min(MAX_GRID_STEPS, input_bits or MAX_GRID_STEPS)
    allowed = [(1 << s) + 1 for s in range(1, most + 1)]
    if any(points not in allowed for points in grid.shape[:-1]):
        raise ModelFileError(
            f"entry 'mechanism_grid' must have 2**s + 1 points a side, s from 1 to {most}, "
            f"not {grid.shape[:-1]}"
        )
    return Mechanism("table", inputs=inputs, grid=grid)


def _read_evaluation(
    entries: _Entries, meta: _Meta, task: str, ranges: dict[str, NDArray[np.float64]]
) -> Evaluation | None:
    if "eval_inputs" not in entries:
        return None
    d, m = len(ranges["input_min"]), len(ranges["target_min"])
    inputs = entries.floats("eval_inputs", (None, d))
    rows = len(inputs)
    if rows > MAX_EVALUATION_ROWS:
        raise ModelFileError(
            f"entry 'eval_inputs' must have at most {MAX_EVALUATION_ROWS} rows, not {rows}"
        )
    if rows == 0:
        return None
    _check_near("eval_inputs", inputs, ranges["input_min"], ranges["input_max"])
    target_range = ranges["target_min"], ranges["target_max"]
    targets: NDArray[Any]
    if task == "classification":
        targets = entries.get("eval_targets", np.int64, (rows,))
        if ((targets < 0) | (targets >= m)).any():
            raise ModelFileError(f"entry 'eval_targets' must be class indices below {m}")
    else:
        targets = entries.floats("eval_targets", (rows, m))
        _check_near("eval_targets", targets, *target_range)
    external = meta.section("mechanism").get("kind") == "external"
    mechanism = entries.floats("eval_mechanism", (rows, m)) if external else None
    if mechanism is not None:
        _check_near("eval_mechanism", mechanism, *target_range)
    return Evaluation(inputs, targets, mechanism)


def _read_history(entries: _Entries) -> dict[str, NDArray[Any]]:
    """What there is of the training's history, all of one length; NaN is allowed."""
    found: dict[str, NDArray[Any]] = {}
    steps = None
    for name, dtype in HISTORY.items():
        if name in entries:
            found[name] = entries.get(name, dtype, (steps,))
            steps = len(found[name])
    return found
