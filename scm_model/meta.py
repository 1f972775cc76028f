"""The JSON of a file's ``meta`` entry, read key by key with every rule checked, and written."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scm_model.activations import ACTIVATIONS
from scm_model.encoder import MAX_INPUT_BITS
from scm_model.errors import ModelFileError
from scm_model.memory import MAX_LAG
from scm_model.schema import (
    FORMAT,
    INFO_KEYS,
    LAYER_KINDS,
    MAX_FEATURES,
    MAX_LAYER_WEIGHTS,
    MAX_LAYERS,
    MAX_META_BYTES,
    MECHANISMS,
    TASKS,
    VERSION,
    WEIGHT_KINDS,
)


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
        # Not isinstance: True is an int too, and would be version 1.
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
        # Version 1 knows one output per class alone.
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
    def flags(self) -> Any:
        """What is said of the flags of a machine that has such; None without."""
        return self.json.get("flags") if self.version >= 4 else None

    @property
    def washout(self) -> int:
        """Rows of a record that pass before a machine with memory is scored."""
        value = self.json.get("memory") if self.version >= 4 else None
        washout = value.get("washout", 0) if isinstance(value, dict) else 0
        if type(washout) is not int or not 0 <= washout <= MAX_LAG:
            raise ModelFileError(
                f"meta 'memory' must have a 'washout' of 0 to {MAX_LAG}, not {washout!r}"
            )
        return washout

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
    """Check what ``meta`` says of a layer of nodes with ``inputs`` inputs."""
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
