"""Ways to break a model file, and what must be said about it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from scm_model import ModelFileError, model_from_arrays
from tests.hw.oracle import Arrays, meta_of
from tests.support import meta_array, model_arrays

Change = Callable[[Arrays], object]


def put(name: str, array: Any, dtype: type | None = None) -> Change:
    return lambda arrays: arrays.__setitem__(name, np.array(array, dtype=dtype))


def poke(name: str, where: Any, value: Any) -> Change:
    return lambda arrays: arrays[name].__setitem__(where, value)


def drop(name: str) -> Change:
    return lambda arrays: arrays.pop(name)


def meta(**changes: Any) -> Change:
    def change(arrays: Arrays) -> None:
        arrays["meta"] = meta_array(meta_of(arrays) | changes)

    return change


def layer(number: int, **changes: Any) -> Change:
    def change(arrays: Arrays) -> None:
        layers = meta_of(arrays)["layers"]
        layers[number - 1] |= changes
        meta(layers=layers)(arrays)

    return change


def raw_meta(data: bytes) -> Change:
    return put("meta", np.frombuffer(data, np.uint8))


def label(value: object) -> str:
    """A name for a case, the same in every process."""
    return value[:60] if isinstance(value, str) else ""


def refused(change: Change, message: str, **options: Any) -> None:
    arrays = model_arrays(**options)
    model_from_arrays(dict(arrays))
    change(arrays)
    with pytest.raises(ModelFileError, match=f"^{re.escape(message)}$"):
        model_from_arrays(arrays)
