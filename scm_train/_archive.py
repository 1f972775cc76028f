"""Archives of arrays (``.npz``), written atomically and read with suspicion.

Reading looks at an entry's header before its data: an array is only read when its dtype and shape
are those asked for, so a hostile file can neither run code nor claim memory it has no right to.
"""

from __future__ import annotations

import io
import os
import secrets
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import numpy as np
from numpy.lib import format as npy
from numpy.typing import DTypeLike, NDArray

from scm_train.errors import ModelFileError

MAX_ENTRY_BYTES = 2**30

# Zip archives can't hold times before this one; a fixed time makes equal machines equal bytes.
_EPOCH = (1980, 1, 1, 0, 0, 0)
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError)


def write_archive(
    path: Path, entries: Mapping[str, NDArray], check: Callable[[Path], object]
) -> None:
    """Write ``entries`` to ``path`` whole or not at all; ``check`` sees the file before it counts.

    Equal entries give equal bytes. On any failure, ``path`` stays as it was.
    """
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with open(part, "xb") as file:
            _write_entries(file, entries)
            file.flush()
            os.fsync(file.fileno())
        check(part)
        os.replace(part, path)
    except OSError as error:
        raise ModelFileError(
            f"model file must be in a folder that can be written to, not {str(path)!r} "
            f"({error.strerror or error}); choose another place"
        ) from error
    finally:
        part.unlink(missing_ok=True)


def _write_entries(file: io.BufferedWriter, entries: Mapping[str, NDArray]) -> None:
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in entries.items():
            info = zipfile.ZipInfo(f"{name}.npy", date_time=_EPOCH)
            info.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(info, "w", force_zip64=True) as entry:
                npy.write_array(entry, np.ascontiguousarray(array), allow_pickle=False)


@dataclass(frozen=True)
class _Header:
    dtype: np.dtype
    shape: tuple[int, ...]
    fortran: bool
    offset: int


class Archive:
    """An archive opened for reading; a context manager."""

    def __init__(self, path: Path) -> None:
        try:
            self._zip = zipfile.ZipFile(path)
        except FileNotFoundError:
            raise ModelFileError(
                "file must exist; check the name, or write one with `scm_train fit`"
            ) from None
        except _DAMAGE as error:
            raise ModelFileError(
                f"file must be a whole .npz archive ({error}); write it again with `scm_train fit`"
            ) from error
        names = self._zip.namelist()
        if len(set(names)) < len(names):
            self._zip.close()
            raise ModelFileError("entries must have distinct names; write the file again")

    def __enter__(self) -> Archive:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._zip.close()

    def __contains__(self, name: str) -> bool:
        return f"{name}.npy" in self._zip.NameToInfo

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape an entry claims, unread."""
        return self._header(name).shape

    def dtype(self, name: str) -> np.dtype:
        """The dtype an entry claims, unread."""
        return self._header(name).dtype

    def take(self, name: str, dtype: DTypeLike, shape: tuple[int | None, ...]) -> NDArray:
        """Read one entry of that dtype (in any byte order) and shape; None is any length."""
        header = self._header(name)
        wanted = np.dtype(dtype)
        if header.dtype.newbyteorder("=") != wanted:
            raise ModelFileError(f"{name} must be of dtype {wanted}, not {header.dtype}")
        fits = len(header.shape) == len(shape) and all(
            want is None or have == want for have, want in zip(header.shape, shape, strict=True)
        )
        if not fits:
            readable = str(shape).replace("None", "any")
            raise ModelFileError(f"{name} must be of shape {readable}, not {header.shape}")
        array = self._data(name, header).astype(wanted, copy=False)
        if wanted.kind == "f" and not name.startswith("history_") and not np.isfinite(array).all():
            raise ModelFileError(f"{name} must be finite, not {array[~np.isfinite(array)][0]}")
        return array

    def _header(self, name: str) -> _Header:
        if name not in self:
            raise ModelFileError(f"entry {name} must be there; is this a model file at all?")
        try:
            with self._zip.open(f"{name}.npy") as entry:
                return _parse_header(entry)
        except ModelFileError:
            raise
        except _DAMAGE as error:
            raise ModelFileError(f"{name} must be a whole .npy entry ({error})") from error

    def _data(self, name: str, header: _Header) -> NDArray:
        size = header.dtype.itemsize
        for length in header.shape:
            size *= length
        if size > MAX_ENTRY_BYTES:
            raise ModelFileError(f"{name} must be at most {MAX_ENTRY_BYTES} bytes, not {size}")
        try:
            with self._zip.open(f"{name}.npy") as entry:
                entry.read(header.offset)
                # One byte more than there should be: it shows a surplus, and reaching the end of
                # the entry makes zipfile compare its checksum.
                data = entry.read(size + 1)
        except _DAMAGE as error:
            raise ModelFileError(f"{name} must be undamaged ({error})") from error
        if len(data) != size:
            raise ModelFileError(f"{name} must hold {size} bytes of data, not {len(data)}")
        order = "F" if header.fortran else "C"
        return np.frombuffer(data, dtype=header.dtype).reshape(header.shape, order=order)


def _parse_header(entry: zipfile.ZipExtFile) -> _Header:
    version = npy.read_magic(entry)
    if version == (1, 0):
        shape, fortran, dtype = npy.read_array_header_1_0(entry)
    elif version == (2, 0):
        shape, fortran, dtype = npy.read_array_header_2_0(entry)
    else:
        raise ModelFileError(f"{entry.name} must be of .npy version 1.0 or 2.0, not {version}")
    if dtype.hasobject:
        raise ModelFileError(f"{entry.name} must be plain numbers, not a pickled object")
    return _Header(dtype, shape, fortran, entry.tell())
