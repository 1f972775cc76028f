"""Arrays of a file as entries that say of which type and shape they are, and their checks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scm_model.errors import ModelFileError

Array = NDArray[Any]


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
