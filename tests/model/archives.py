"""Archives of our own making, and how they are refused."""

from __future__ import annotations

import io
import re
import struct
import time
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from scm_model import ModelFileError
from scm_model.archive import read_archive

MEBIBYTE = 1 << 20


def npy(array: NDArray[Any]) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array)
    return stream.getvalue()


def npy_with_header(header: str, data: bytes = b"", version: int = 1) -> bytes:
    """A .npy entry with a header of our own, padded as numpy does."""
    text = header.encode("latin1")
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    length = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + length + text + data


def header(shape: str, descr: str = "'<f8'") -> str:
    return f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}"


def archive(path: Path, entries: list[tuple[str, bytes]], method: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", method) as target:
        for name, data in entries:
            target.writestr(zipfile.ZipInfo(name), data, compress_type=method)
    return path


def refused(path: Path, message: str, read: Callable[[Path], object] = read_archive) -> None:
    """The file is refused with exactly this message, in a second and 16 MiB."""
    tracemalloc.start()
    begin = time.process_time()
    try:
        with pytest.raises(ModelFileError, match=f"^{re.escape(message)}$") as caught:
            read(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert "\n" not in str(caught.value)
    assert peak < 16 * MEBIBYTE
    assert time.process_time() - begin < 1


def survives(path: Path, data: bytes, read: Callable[[Path], object] = read_archive) -> None:
    """The file is read, or refused in one line."""
    path.write_bytes(data)
    try:
        read(path)
    except ModelFileError as error:
        assert "\n" not in str(error)
