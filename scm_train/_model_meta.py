"""The ``meta`` entry of a model file: JSON, checked key by key."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scm_train.activations import ACTIVATIONS
from scm_train.encoders import ENCODER_KINDS, MAX_INPUT_BITS
from scm_train.errors import ModelFileError

FORMAT = "scm-model"
VERSION = 1
MAX_META_BYTES = 4 * 2**20
MAX_NODES = 10**6
TASKS = ("regression", "classification")
WEIGHT_KINDS = ("binary", "real")
MECHANISM_KINDS = ("none", "external", "polynomial", "table")
#: Keys of ``Machine.info`` that travel in the file.
INFO_KEYS = ("name", "seed", "settings", "scores", "timing", "data")


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


def meta_from_bytes(data: NDArray[np.uint8]) -> dict[str, Any]:
    """Parse and check; the result has every required key, of the right type and range."""
    try:
        meta = json.loads(data.tobytes().decode(), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"meta must be JSON in UTF-8 ({error})") from None
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        raise ModelFileError(f"meta must be of format {FORMAT!r}; is this a model file at all?")
    version = meta.get("version")
    if not _whole(version, 1, VERSION):
        raise ModelFileError(
            f"version must be at most {VERSION}, not {version!r}; update this program"
        )
    _check_names(meta)
    _check_task(meta)
    _check_shape(meta)
    return meta


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON's")


def _whole(value: object, low: int, high: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def _require(condition: bool, thing: str, rule: str, value: object) -> None:
    if not condition:
        shown = repr(value)
        shown = shown if len(shown) <= 80 else shown[:77] + "..."
        raise ModelFileError(f"{thing} must be {rule}, not {shown}")


def _check_names(meta: dict[str, Any]) -> None:
    _require(isinstance(meta.get("algorithm"), str), "algorithm", "text", meta.get("algorithm"))
    _require(isinstance(meta.get("name", ""), str), "name", "text", meta.get("name"))
    for key in ("features", "targets"):
        names = meta.get(key)
        fine = isinstance(names, list) and names and all(isinstance(n, str) for n in names)
        _require(bool(fine), key, "a list of names", names)
        _require(len(set(names)) == len(names), key, "distinct names", names)


def _check_task(meta: dict[str, Any]) -> None:
    _require(meta.get("task") in TASKS, "task", f"one of {', '.join(TASKS)}", meta.get("task"))
    if meta["task"] == "regression":
        return
    classes = meta.get("classes")
    count = len(meta["targets"])
    fine = isinstance(classes, list) and all(isinstance(c, (str, int, float)) for c in classes)
    _require(bool(fine), "classes", "a list of text, numbers or booleans", classes)
    _require(len(classes) == count >= 2, "classes", f"{count} labels, at least 2", classes)
    # True, 1 and 1.0 are equal in Python, and yet three labels.
    distinct = len({(type(c), c) for c in classes}) == count
    _require(distinct, "classes", "distinct labels", classes)


def _check_shape(meta: dict[str, Any]) -> None:
    bits = meta.get("input_bits")
    _require(
        bits is None or _whole(bits, 1, MAX_INPUT_BITS),
        "input_bits",
        f"null or a whole number from 1 to {MAX_INPUT_BITS}",
        bits,
    )
    kind = _kind(meta, "encoder", ENCODER_KINDS)
    _require(bits is not None or kind == "none", "input_bits", f"a number for {kind}", bits)
    _kind(meta, "mechanism", MECHANISM_KINDS)
    layers = meta.get("layers")
    _require(isinstance(layers, list), "layers", "a list", layers)
    for layer in layers:
        _check_layer(layer)


def _kind(meta: dict[str, Any], key: str, kinds: tuple[str, ...]) -> str:
    part = meta.get(key)
    kind = part.get("kind") if isinstance(part, dict) else None
    _require(kind in kinds, f"kind of {key}", f"one of {', '.join(kinds)}", kind)
    assert isinstance(kind, str)
    return kind


def _check_layer(layer: object) -> None:
    _require(isinstance(layer, dict), "a layer", "an object", layer)
    assert isinstance(layer, dict)
    nodes, phi, weights = layer.get("nodes"), layer.get("activation"), layer.get("weights")
    _require(_whole(nodes, 1, MAX_NODES), "nodes", f"from 1 to {MAX_NODES}", nodes)
    known = isinstance(phi, str) and phi in ACTIVATIONS
    _require(known, "activation", f"one of {', '.join(ACTIVATIONS)}", phi)
    _require(weights in WEIGHT_KINDS, "weights", f"one of {', '.join(WEIGHT_KINDS)}", weights)
