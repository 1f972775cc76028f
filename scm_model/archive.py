"""Archives of arrays (``.npz``), written atomically and read without trusting any of it.

Nothing is unpacked before its size is known from the headers and found acceptable, and an entry
that would need pickle is refused, so a file can neither run code nor exhaust memory.
"""

from __future__ import annotations

import io
import os
import secrets
import stat
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from scm_model.errors import ModelFileError

MAX_ENTRIES = 4096
MAX_ENTRY_BYTES = 1 << 28
MAX_TOTAL_BYTES = 1 << 29
# A .npy header is a short text; a long one is an attempt on the parser.
MAX_HEADER_BYTES = 4096
# What savez and savez_compressed write; other methods can take gigabytes to unpack a few bytes.
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)

# What opening and unpacking a damaged archive can end in; names that are no UTF-8 are a ValueError.
_ARCHIVE_ERRORS = (
    OSError,
    EOFError,
    ValueError,
    NotImplementedError,
    zipfile.BadZipFile,
    zlib.error,
)
# What parsing a header that is none can end in.
_HEADER_ERRORS = (
    ValueError,
    KeyError,
    TypeError,
    SyntaxError,
    tokenize.TokenError,
    RecursionError,
    MemoryError,
)

# Zip archives can't hold times before this one; a fixed time makes equal models equal bytes.
_EPOCH = (1980, 1, 1, 0, 0, 0)

Array = NDArray[Any]


def read_archive(path: str | os.PathLike[str]) -> dict[str, Array]:
    """Every array of an .npz file, by name without `.npy`."""
    path = Path(path)
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise ModelFileError(f"model file {path} must be a regular file")
        with zipfile.ZipFile(path) as archive:
            return _read_entries(archive, path)
    except ModelFileError:
        raise
    except FileNotFoundError:
        raise ModelFileError(f"model file {path} does not exist; check the path") from None
    except _ARCHIVE_ERRORS as error:
        raise ModelFileError(f"model file {path} can't be read as .npz: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return " ".join(str(text).split())


def _read_entries(archive: zipfile.ZipFile, path: Path) -> dict[str, Array]:
    entries = archive.infolist()
    if len(entries) > MAX_ENTRIES:
        raise ModelFileError(f"model file {path} must have at most {MAX_ENTRIES} entries")
    # What the directory declares; reads are bounded by it too, so that it can't say too little.
    total = sum(entry.file_size for entry in entries)
    if total > MAX_TOTAL_BYTES:
        raise ModelFileError(
            f"model file {path} must unpack to at most {MAX_TOTAL_BYTES} bytes, not {total}"
        )
    arrays: dict[str, Array] = {}
    for entry in entries:
        name = _entry_name(entry)
        if name in arrays:
            raise ModelFileError(f"entry {name!r} must occur once in {path}")
        arrays[name] = _read_entry(archive, entry, name)
    return arrays


def _entry_name(entry: zipfile.ZipInfo) -> str:
    name = entry.filename
    plain = entry.compress_type in METHODS and not entry.flag_bits & 1
    if not plain or not name.endswith(".npy") or not name[:-4].isidentifier():
        raise ModelFileError(f"entry {name!r} must be a plain .npy array; was this saved by savez?")
    return name[:-4]


def _read_entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, name: str) -> Array:
    if entry.file_size > MAX_ENTRY_BYTES:
        raise ModelFileError(
            f"entry {name!r} must have at most {MAX_ENTRY_BYTES} bytes, not {entry.file_size}"
        )
    with archive.open(entry) as stream:
        # Bounded, like every read: the archive may hold more than it says, or all of it header.
        start = io.BytesIO(stream.read(MAX_HEADER_BYTES))
        # The header says how much there has to be, before any of it is read.
        shape, fortran, dtype = _read_header(start, name)
        size = 1
        for length in shape:
            size *= length
        expected, present = size * dtype.itemsize, entry.file_size - start.tell()
        if expected != present:
            raise ModelFileError(
                f"entry {name!r} must hold {expected} bytes for shape {shape}, not {present}"
            )
        data = start.read(expected)
        data += stream.read(expected - len(data))
    if len(data) != expected:
        raise ModelFileError(f"entry {name!r} must hold {expected} bytes, not {len(data)}")
    try:
        array: Array = np.frombuffer(data, dtype).reshape(shape, order="F" if fortran else "C")
    except (ValueError, OverflowError):
        raise ModelFileError(
            f"entry {name!r} must have a shape that arrays can have, not {shape}"
        ) from None
    return array.astype(dtype.newbyteorder("="))


def _read_header(stream: IO[bytes], name: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    try:
        version = npy.read_magic(stream)
        read = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}[version]
        shape, fortran, dtype = read(stream, max_header_size=MAX_HEADER_BYTES)
    except _HEADER_ERRORS:
        raise ModelFileError(f"entry {name!r} must have a .npy header of version 1 or 2") from None
    if dtype.hasobject:
        raise ModelFileError(f"entry {name!r} must hold numbers, not pickled objects")
    if any(length < 0 for length in shape):
        raise ModelFileError(f"entry {name!r} must have lengths of at least 0, not shape {shape}")
    if dtype.itemsize == 0 or dtype.fields is not None or dtype.subdtype is not None:
        raise ModelFileError(f"entry {name!r} must hold plain numbers, not {dtype}")
    return shape, fortran, dtype


# Writing


def write_archive(
    path: Path, entries: Mapping[str, Array], check: Callable[[Path], object]
) -> None:
    """Write ``entries`` to ``path`` whole or not at all; ``check`` sees the file before it counts.

    Equal entries give equal bytes. On any failure, ``path`` stays as it was.
    """
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with open(part, "xb") as file:
            _write_entries(file, entries)
            file.flush()
            # Before the rename, which could otherwise reach the disk ahead of the contents.
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


def _write_entries(file: io.BufferedWriter, entries: Mapping[str, Array]) -> None:
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in entries.items():
            info = zipfile.ZipInfo(f"{name}.npy", date_time=_EPOCH)
            info.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(info, "w", force_zip64=True) as entry:
                npy.write_array(entry, np.ascontiguousarray(array), allow_pickle=False)
