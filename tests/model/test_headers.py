"""Headers of an archive's entries: what they may say of type and shape, and what is refused."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scm_model import ModelFileError
from scm_model.archive import read_archive
from tests.model.archives import archive, header, npy, npy_with_header, refused, survives


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.npz"


def test_a_long_header_is_read_where_numpy_writes_one(path: Path) -> None:
    archive(path, [("x.npy", npy_with_header(header("(1,)"), bytes(8), version=2))])
    assert read_archive(path)["x"].tolist() == [0.0]


@pytest.mark.filterwarnings("ignore")
def test_headers_altered_in_any_byte(path: Path) -> None:
    """Checksums right, so that the damage gets through to the parser of headers."""
    whole = npy(np.arange(3.0))
    for position in range(whole.index(b"}") + 2):
        for byte in (0, 0x0A, 0x22, 0x27, 0x28, 0x29, 0x2C, 0x39, 0x4C, 0x5C, 0x7B, 0xFF):
            changed = whole[:position] + bytes([byte]) + whole[position + 1 :]
            survives(path, archive(path, [("a.npy", changed)]).read_bytes())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "{}",
        "[1, 2]",
        "'''",
        "\x00",
        "(" * 3000,
        "-" * 3900,
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1L,",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), 'more': 1}",
        "{'descr': '<f8', 'fortran_order': 'no', 'shape': (1,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': [1]}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (True, 1.5)}",
        "{'descr': 'nonsense', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': 'f8,,', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': ('<f8', -1), 'fortran_order': False, 'shape': (1,)}",
        "{'descr': [], 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (__import__('os'),)}",
        "  {'descr':\n   '<f8'\n 0777L",
    ],
)
def test_headers_that_are_none(path: Path, text: str) -> None:
    archive(path, [("x.npy", npy_with_header(text, bytes(8)))])
    with pytest.raises(ModelFileError, match=r"^entry 'x' must "):
        read_archive(path)


def test_a_header_of_another_version(path: Path) -> None:
    archive(path, [("x.npy", npy_with_header(header("(1,)"), bytes(8), version=3))])
    refused(path, "entry 'x' must have a .npy header of version 1 or 2")


# Pickles and odd types


def test_pickles_are_not_loaded(path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> tuple[Any, ...]:
            return os.mkdir, (str(path.parent / "boom"),)

    np.savez(path, x=np.array([Bomb()], dtype=object), allow_pickle=True)
    refused(path, "entry 'x' must hold numbers, not pickled objects")
    assert not (path.parent / "boom").exists()


@pytest.mark.parametrize("descr", ["[('a', '<f8'), ('b', '<i4')]", "('<f8', (2,))", "'|S0'"])
def test_structures_are_refused(path: Path, descr: str) -> None:
    archive(path, [("x.npy", npy_with_header(header("(1,)", descr), bytes(8)))])
    with pytest.raises(ModelFileError, match=r"^entry 'x' must hold plain numbers, not "):
        read_archive(path)


def test_structures_with_objects_are_refused(path: Path) -> None:
    archive(path, [("x.npy", npy_with_header(header("(1,)", "[('a', '|O')]"), bytes(8)))])
    refused(path, "entry 'x' must hold numbers, not pickled objects")


# Claims about size


def test_a_huge_claimed_shape(path: Path) -> None:
    archive(path, [("x.npy", npy_with_header(header(f"({10**12},)"), bytes(8)))])
    refused(path, f"entry 'x' must hold {8 * 10**12} bytes for shape ({10**12},), not 8")


@pytest.mark.parametrize("shape", [f"(0, {10**12}, {10**12})", f"(0, {10**30})", str((0,) * 65)])
def test_an_impossible_empty_shape(path: Path, shape: str) -> None:
    archive(path, [("x.npy", npy_with_header(header(shape)))])
    with pytest.raises(ModelFileError, match=r"^entry 'x' must have a shape that arrays can have"):
        read_archive(path)


def test_negative_lengths(path: Path) -> None:
    archive(path, [("x.npy", npy_with_header(header("(-1, -1)"), bytes(8)))])
    refused(path, "entry 'x' must have lengths of at least 0, not shape (-1, -1)")


@pytest.mark.parametrize("size", [7, 9, 16])
def test_more_or_fewer_bytes_than_the_shape_needs(path: Path, size: int) -> None:
    archive(path, [("x.npy", npy_with_header(header("(1,)"), bytes(size)))])
    refused(path, f"entry 'x' must hold 8 bytes for shape (1,), not {size}")
