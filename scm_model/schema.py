"""The schema of ``model_file.md``: the entries of a file, and the JSON of its ``meta``.

Reader and writer go by the same description of the entries: which attribute of which dataclass
each one holds, of which type and shape. An entry of a later version is a line here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scm_model.activations import ACTIVATIONS
from scm_model.encoder import MAX_INPUT_BITS
from scm_model.errors import ModelFileError
from scm_model.memory import MAX_LAG

Array = NDArray[Any]

FORMAT = "scm-model"
#: The newest version; what an earlier one can say is written as such.
VERSION = 3
MAX_META_BYTES = 4 << 20
MAX_EVALUATION_ROWS = 20_000
MAX_LAYERS = 256
MAX_FEATURES = 1 << 16
# Eight packed weights to a byte, and long runs of them deflate to nothing: a small file may hold
# more than memory does.
MAX_LAYER_WEIGHTS = 1 << 27
#: One LUT6 has that many inputs; a larger family is a memory.
MAX_FAMILY_BITS = 12
MAX_FAMILY_NODES = 1 << 22
MAX_GRID_STEPS = 10
MAX_TABLE_INPUTS = 3
#: Labels of all categories together.
MAX_LABELS = 1 << 16

TASKS = ("regression", "classification")
WEIGHT_KINDS = ("binary", "real")
LAYER_KINDS = ("nodes", "families")
#: Keys of ``meta`` that are notes for people; the model has them as ``info``.
INFO_KEYS = ("name", "seed", "settings", "scores", "timing", "data", "interval")


# ---------------------------------------------------------------------------------- entries


@dataclass(frozen=True)
class Entry:
    """One array of a file.

    A length is a number, or the name of one: of a name that is not known yet, any length is taken,
    and other entries of the same name must have it too. A ``packed`` array is of truth values (or
    signs, true where positive), eight to a byte along its rows.
    """

    name: str
    dtype: type[np.generic]
    shape: tuple[str | int, ...]
    #: Of the dataclass that holds it, where that is called differently.
    attribute: str = ""
    packed: bool = False
    optional: bool = False
    finite: bool = True

    @property
    def held_as(self) -> str:
        return self.attribute or self.name


RANGES = (
    Entry("input_min", np.float64, ("d",)),
    Entry("input_max", np.float64, ("d",)),
    Entry("target_min", np.float64, ("m",)),
    Entry("target_max", np.float64, ("m",)),
)
#: Of a machine with memory the ranges are of its signals; its features are taps of them.
SIGNAL_RANGES = (
    Entry("input_min", np.float64, ("s",)),
    Entry("input_max", np.float64, ("s",)),
)
TARGET_RANGES = RANGES[2:]
MEMORY = (
    Entry("memory_taps", np.int32, ("d", 2), "taps"),
    Entry("memory_rest", np.float64, ("sources",), "rest"),
)
#: Of a machine with columns: which column each feature is of, and what of it.
FEATURE_SOURCES = Entry("feature_sources", np.int32, ("d", 2))
OUTPUT = (
    Entry("readout", np.float64, ("N", "m")),
    Entry("linear", np.float64, ("d", "m")),
    Entry("intercept", np.float64, ("m",)),
)
ENCODER_BITS = Entry("encoder_bits", np.int32, ("d",), "bits")
THRESHOLDS = Entry("thresholds", np.int64, ("coded",), "all_thresholds")
ENCODERS: dict[str, tuple[Entry, ...]] = {
    "thermometer": (ENCODER_BITS, THRESHOLDS),
    "binary": (ENCODER_BITS,),
    "gray": (ENCODER_BITS,),
    "none": (),
}
MECHANISMS: dict[str, tuple[Entry, ...]] = {
    "none": (),
    "external": (Entry("mechanism_range", np.float64, (2, "m"), "range"),),
    "polynomial": (
        Entry("mechanism_exponents", np.uint8, ("terms", "d"), "exponents"),
        Entry("mechanism_coefficients", np.float64, ("terms", "m"), "coefficients"),
    ),
    "table": (
        Entry("mechanism_inputs", np.int32, ("t",), "inputs"),
        Entry("mechanism_grid", np.float64, ("g1", "g2", "g3", "m"), "grid"),
    ),
}
HISTORY = (
    Entry("history_train_rmse", np.float64, ("steps",), "train_rmse", optional=True, finite=False),
    Entry(
        "history_validation_rmse",
        np.float64,
        ("steps",),
        "validation_rmse",
        optional=True,
        finite=False,
    ),
    Entry("history_layer", np.int32, ("steps",), "layer", optional=True),
)


def layer_entries(number: int, *, binary: bool) -> tuple[Entry, ...]:
    """Of a layer of n nodes that sees a inputs in groups."""
    prefix = f"layer{number}_"
    kind: type[np.generic] = np.uint8 if binary else np.float64
    return (
        Entry(f"{prefix}weights", kind, ("n", "a"), "weights", packed=binary),
        Entry(f"{prefix}mask", np.uint8, ("n", "groups"), "mask", packed=True, optional=True),
        Entry(f"{prefix}lambda", np.float64, ("n",), "lambdas"),
        Entry(f"{prefix}bias", np.float64, ("n",), "biases"),
    )


def family_entries(number: int) -> tuple[Entry, ...]:
    """Of a layer of families."""
    return (Entry(f"layer{number}_supports", np.int32, ("families", "bits"), "supports"),)


def record_entries(*, classifier: bool) -> tuple[Entry, ...]:
    """Of r held-out rows of signals, and which of them begin a record."""
    inputs, targets = evaluation_entries(classifier=classifier, external=False)
    first = Entry("eval_first", np.uint8, ("r",), "first")
    return (replace(inputs, shape=("r", "s")), targets, first)


def column_rows(entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
    """The held-out rows of a machine with columns: codes of categories, NaN where missing."""
    return (replace(entries[0], shape=("r", "s"), finite=False), *entries[1:])


def evaluation_entries(*, classifier: bool, external: bool) -> tuple[Entry, ...]:
    """Of r held-out rows."""
    targets = Entry("eval_targets", np.float64, ("r", "m"), "targets")
    if classifier:
        targets = Entry("eval_targets", np.int64, ("r",), "targets")
    rows = (Entry("eval_inputs", np.float64, ("r", "d"), "inputs"), targets)
    return (*rows, Entry("eval_mechanism", np.float64, ("r", "m"), "mechanism"))[: 2 + external]


def arrays_of(part: object, entries: Sequence[Entry]) -> dict[str, Array]:
    """The attributes of a dataclass as a file has them."""
    found = {}
    for entry in entries:
        value = getattr(part, entry.held_as)
        if value is None and entry.optional:
            continue
        if entry.packed:
            found[entry.name] = np.packbits(np.asarray(value) > 0, axis=1, bitorder="little")
        else:
            found[entry.name] = np.asarray(value, dtype=entry.dtype)
    return found


class Arrays:
    """The arrays of a file, fetched with type, shape and finiteness checked.

    Lengths are known by name; a new one is learnt from the first entry that has it.
    """

    def __init__(self, arrays: Mapping[str, Array], **lengths: int) -> None:
        self.arrays = arrays
        self.lengths = dict(lengths)

    def part(self, entries: Sequence[Entry], **lengths: int) -> dict[str, Array]:
        """The attributes of a dataclass; what is optional and absent is left out."""
        inner = Arrays(self.arrays, **self.lengths | lengths)
        return {
            entry.held_as: inner.get(entry)
            for entry in entries
            if not entry.optional or entry.name in self.arrays
        }

    def get(self, entry: Entry) -> Array:
        array = self._of_type(entry)
        known = tuple(s if isinstance(s, int) else self.lengths.get(s) for s in entry.shape)
        if entry.packed:
            return _unpacked(entry.name, array, known)
        _check_shape(entry.name, array, known)
        names = zip(entry.shape, array.shape, strict=True)
        self.lengths |= {name: n for name, n in names if isinstance(name, str)}
        if entry.finite and array.dtype.kind == "f":
            _check_finite(entry.name, array)
        return array

    def _of_type(self, entry: Entry) -> Array:
        if entry.name not in self.arrays:
            raise ModelFileError(f"entry {entry.name!r} must be present; the file is incomplete")
        array = self.arrays[entry.name]
        if array.dtype != np.dtype(entry.dtype):
            raise ModelFileError(
                f"entry {entry.name!r} must be of type {np.dtype(entry.dtype)}, not {array.dtype}"
            )
        return array


def _check_shape(name: str, array: Array, shape: tuple[int | None, ...]) -> None:
    fits = array.ndim == len(shape) and all(
        want in (None, have) for want, have in zip(shape, array.shape, strict=True)
    )
    if not fits:
        wanted = tuple("any" if s is None else s for s in shape)
        raise ModelFileError(f"entry {name!r} must have shape {wanted}, not {array.shape}")


def _check_finite(name: str, array: Array) -> None:
    if not np.isfinite(array).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise ModelFileError(f"entry {name!r} must be finite, not {array[where]} at {where}")


def _unpacked(name: str, packed: Array, shape: tuple[int | None, ...]) -> NDArray[np.bool_]:
    rows, columns = shape
    # What is packed is always of lengths that meta says.
    assert columns is not None
    _check_shape(name, packed, (rows, math.ceil(columns / 8)))
    bits = np.unpackbits(packed, axis=1, bitorder="little")
    if bits[:, columns:].any():
        raise ModelFileError(f"entry {name!r} must have clear padding bits after {columns}")
    return bits[:, :columns].view(np.bool_)


# ------------------------------------------------------------------------------------- meta


def meta_to_bytes(meta: Mapping[str, Any]) -> NDArray[np.uint8]:
    """Serialise; whatever JSON doesn't know (arrays, callables, NaN) is written as JSON can."""
    text = json.dumps(plain(meta), ensure_ascii=False, allow_nan=False, indent=1)
    return np.frombuffer(text.encode(), dtype=np.uint8)


def plain(value: Any) -> Any:
    """Turn a value into JSON's types: not-finite numbers to text, objects to their names."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (Sequence, np.ndarray, set, frozenset)):
        return [plain(v) for v in value]
    # Not repr(), which may hold an address and differ from run to run.
    return getattr(value, "__name__", type(value).__name__)


class Meta:
    """The JSON of a file, fetched key by key with every rule checked."""

    def __init__(self, raw: NDArray[np.uint8]) -> None:
        if len(raw) > MAX_META_BYTES:
            raise ModelFileError(f"entry 'meta' must have at most {MAX_META_BYTES} bytes")
        try:
            text = raw.tobytes().decode("utf-8")
            self.json = json.loads(text, parse_constant=_refuse_constant)
        except ModelFileError:
            raise
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
        if type(version) is not int or version < 1:
            raise ModelFileError(
                f"meta 'version' must be from 1 to {VERSION}, not {version!r}; the file is damaged "
                "or was written by another program, write it again"
            )
        if version > VERSION:
            raise ModelFileError(
                f"meta 'version' must be at most {VERSION}, not {version}; install a newer scm-hw"
            )

    @property
    def version(self) -> int:
        return int(self.json["version"])

    @property
    def task(self) -> str:
        return _choice(self.json.get("task"), "meta 'task'", TASKS)

    @property
    def algorithm(self) -> str:
        return self._text("algorithm")

    @property
    def info(self) -> dict[str, Any]:
        if self.json.get("name") is not None:
            self._text("name")
        return {key: self.json[key] for key in INFO_KEYS if self.json.get(key) is not None}

    @property
    def input_bits(self) -> int | None:
        value = self.json.get("input_bits")
        if value is None:
            return None
        if type(value) is not int or not 1 <= value <= MAX_INPUT_BITS:
            raise ModelFileError(
                f"meta 'input_bits' must be null or in [1, {MAX_INPUT_BITS}], not {value!r}"
            )
        return value

    def names(self, key: str) -> tuple[str, ...]:
        """The features or the targets."""
        value = self.json.get(key)
        if not isinstance(value, list) or not value or len(value) > MAX_FEATURES:
            raise ModelFileError(f"meta {key!r} must be a list of 1 to {MAX_FEATURES} names")
        for name in value:
            if not isinstance(name, str) or not name:
                raise ModelFileError(f"meta {key!r} must hold non-empty strings, not {name!r}")
        if twice := _twice(value):
            raise ModelFileError(f"meta {key!r} must hold distinct names, not {twice[0]!r} twice")
        return tuple(value)

    def classes(self, outputs: int) -> tuple[Any, ...] | None:
        """The labels of a classifier: one per output, or two for a single one."""
        if self.task != "classification":
            return None
        value = self.json.get("classes")
        wanted = 2 if outputs == 1 and self.version >= 2 else outputs
        good = isinstance(value, list) and len(value) == wanted and wanted >= 2
        if not good or any(not isinstance(c, str | int | float | bool) for c in value or ()):
            raise ModelFileError(
                f"meta 'classes' must be a list of {wanted} labels, at least 2, not {value!r}"
            )
        # True, 1 and 1.0 are equal in Python, and yet three labels.
        if twice := _twice([(type(c), c) for c in value or ()]):
            label = twice[0][1]
            raise ModelFileError(f"meta 'classes' must hold distinct labels, not {label!r} twice")
        return tuple(value or ())

    def section(self, key: str, kinds: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """The kind of encoder or mechanism, and all that is said of it."""
        value = self.json.get(key)
        if not isinstance(value, dict):
            raise ModelFileError(f"meta {key!r} must be an object, not {value!r}")
        return _choice(value.get("kind"), f"{key} 'kind'", tuple(kinds)), value

    @property
    def horizon(self) -> int | None:
        """Of a machine with memory; None without one."""
        value = self.json.get("memory") if self.version >= 3 else None
        if value is None:
            return None
        horizon = value.get("horizon", 0) if isinstance(value, dict) else value
        if type(horizon) is not int or not 0 <= horizon <= MAX_LAG:
            raise ModelFileError(
                f"meta 'memory' must be an object with a 'horizon' of 0 to {MAX_LAG}, not {value!r}"
            )
        return horizon

    @property
    def columns(self) -> list[Any] | None:
        """What is said of the columns of a machine that has such; None without."""
        value = self.json.get("columns") if self.version >= 3 else None
        if value is not None and not isinstance(value, list):
            raise ModelFileError(f"meta 'columns' must be a list of objects, not {value!r}")
        return value

    @property
    def worst_error(self) -> float | None:
        """Of the mechanism."""
        worst = self.section("mechanism", MECHANISMS)[1].get("worst_error")
        if worst is None or type(worst) in (int, float):
            return worst
        raise ModelFileError(f"mechanism 'worst_error' must be a number, not {worst!r}")

    @property
    def layers(self) -> list[Any]:
        value = self.json.get("layers")
        if not isinstance(value, list) or len(value) > MAX_LAYERS:
            raise ModelFileError(f"meta 'layers' must be a list of at most {MAX_LAYERS} layers")
        return value

    def _text(self, key: str) -> str:
        value = self.json.get(key)
        if not isinstance(value, str) or not value:
            raise ModelFileError(f"meta {key!r} must be a non-empty string, not {value!r}")
        return value


@dataclass(frozen=True)
class LayerMeta:
    """What ``meta`` says of a layer."""

    nodes: int
    binary: bool
    activation: str


def layer_kind(number: int, item: Any, version: int) -> str:
    """Whether a layer is of nodes or of families; version 1 knows the first alone."""
    if not isinstance(item, dict):
        raise ModelFileError(f"layer {number} in meta must be an object, not {item!r}")
    if version < 2:
        return "nodes"
    return _choice(item.get("kind", "nodes"), f"layer {number} 'kind'", LAYER_KINDS)


def layer_meta(number: int, item: dict[str, Any], inputs: int) -> LayerMeta:
    """Check what ``meta`` says of a layer of nodes with so many inputs."""
    nodes = item.get("nodes")
    if type(nodes) is not int or nodes < 1:
        raise ModelFileError(f"layer {number} must have at least 1 node, not {nodes!r}")
    if nodes * inputs > MAX_LAYER_WEIGHTS:
        raise ModelFileError(
            f"layer {number} must have at most {MAX_LAYER_WEIGHTS} weights, not {nodes * inputs}"
        )
    weights = _choice(item.get("weights"), f"layer {number} 'weights'", WEIGHT_KINDS)
    known = tuple(ACTIVATIONS)
    activation = _choice(item.get("activation"), f"layer {number} 'activation'", known)
    return LayerMeta(nodes, weights == "binary", activation)


def _choice(value: Any, what: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise ModelFileError(f"{what} must be one of {', '.join(allowed)}, not {value!r}")
    return str(value)


def _twice(values: Sequence[Any]) -> list[Any]:
    """The first value that occurs again, if any."""
    seen: set[Any] = set()
    for value in values:
        if value in seen:
            return [value]
        seen.add(value)
    return []


def _refuse_constant(name: str) -> None:
    raise ModelFileError(f"entry 'meta' must be JSON, which has no {name}")
