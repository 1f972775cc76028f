"""Archives by numpy are read; hostile ones are refused in one line, in little time and memory."""

from __future__ import annotations

import os
import re
import struct
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np
import pytest

from scm_model import ModelFileError, read_model
from scm_model.archive import MAX_ENTRIES, MAX_ENTRY_BYTES, MAX_TOTAL_BYTES, read_archive
from tests.model.archives import (
    MEBIBYTE,
    archive,
    header,
    npy,
    npy_with_header,
    refused,
    survives,
)
from tests.support import model_arrays, write_model


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.npz"


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_archives_by_numpy_are_read(path: Path, save: Callable[..., None]) -> None:
    rng = np.random.default_rng(0)
    arrays = {
        "plain": rng.normal(size=(3, 4)),
        "fortran": np.asfortranarray(rng.normal(size=(3, 4))),
        "swapped": np.arange(5, dtype=">i4"),
        "scalar": np.array(3.5),
        "empty": np.empty((0, 3)),
        "bytes": np.frombuffer(b"text", np.uint8),
    }
    save(path, **arrays)
    found = read_archive(path)
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype.newbyteorder("=")
        assert found[name].dtype.isnative


# Paths that are no file


def test_an_entry_that_is_shorter_than_it_says(path: Path) -> None:
    """Its size is that of four numbers in header and directory, its checksum that of three."""
    data = npy_with_header(header("(4,)"), np.zeros(3).tobytes())
    whole = bytearray(archive(path, [("a.npy", data)]).read_bytes())
    struct.pack_into("<I", whole, whole.index(b"PK\x01\x02") + 24, len(data) + 8)
    path.write_bytes(bytes(whole))
    refused(path, "entry 'a' must hold 32 bytes, not 24")


def test_a_missing_file(path: Path) -> None:
    refused(path, f"model file {path} does not exist; check the path")


def test_a_folder(tmp_path: Path) -> None:
    refused(tmp_path, f"model file {tmp_path} must be a regular file")


def test_a_fifo_is_not_waited_for(path: Path) -> None:
    os.mkfifo(path)
    refused(path, f"model file {path} must be a regular file")


def test_a_device() -> None:
    refused(Path(os.devnull), f"model file {os.devnull} must be a regular file")


def test_a_file_inside_a_file(path: Path) -> None:
    path.write_bytes(b"")
    refused(path / "x", f"model file {path / 'x'} can't be read as .npz: Not a directory")


def test_a_link_to_itself(path: Path) -> None:
    path.symlink_to(path)
    reason = os.strerror(40)
    refused(path, f"model file {path} can't be read as .npz: {reason}")


def test_a_file_without_permission(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_bytes(b"")

    def deny(*_: object) -> None:
        # Tests may run as root, to whom nothing is denied.
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(zipfile, "ZipFile", deny)
    refused(path, f"model file {path} can't be read as .npz: Permission denied")


@pytest.mark.parametrize("data", [b"", b"a,b\n1,2\n", b"\x93NUMPY" + bytes(200), bytes(5000)])
def test_files_that_are_no_archive(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    refused(path, f"model file {path} can't be read as .npz: File is not a zip file")


# Damage


def small_model(path: Path) -> bytes:
    arrays = model_arrays(features=1, layers=(1,), rows=1, mechanism="table")
    return write_model(path, arrays).read_bytes()


def test_truncated_anywhere(path: Path) -> None:
    whole = small_model(path)
    for length in [*range(0, len(whole), 13), len(whole) - 1]:
        path.write_bytes(whole[:length])
        with pytest.raises(ModelFileError):
            read_model(path)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_altered_in_any_byte(path: Path, method: int) -> None:
    entries = [("a.npy", npy(np.arange(3.0))), ("b.npy", npy(np.arange(2)))]
    whole = archive(path, entries, method).read_bytes()
    for position in range(len(whole)):
        for flip in (0x01, 0x80, 0xFF):
            changed = bytearray(whole)
            changed[position] ^= flip
            survives(path, bytes(changed))


@pytest.mark.parametrize("length", [1, 100, 505, 10_000])
@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_altered_numbers_are_noticed(path: Path, length: int, method: int) -> None:
    data = npy(np.random.default_rng(0).normal(size=length))
    whole = archive(path, [("a.npy", data)], method).read_bytes()
    np.testing.assert_array_equal(read_archive(path)["a"].tobytes(), data[-8 * length :])
    changed = bytearray(whole)
    changed[whole.index(b"PK\x01\x02") - 6] ^= 0x10
    path.write_bytes(bytes(changed))
    with pytest.raises(ModelFileError, match=rf"^model file {re.escape(str(path))} can't be read"):
        read_archive(path)


def test_names_that_no_system_takes(path: Path) -> None:
    data = bytearray(archive(path, [("\u00e9.npy", npy(np.zeros(1)))]).read_bytes())
    path.write_bytes(bytes(data).replace("\u00e9".encode(), b"\xff\xfe"))
    with pytest.raises(ModelFileError, match=r"can't be read as .npz: 'utf-8' codec can't decode"):
        read_archive(path)
    with pytest.raises(ModelFileError, match=r"can't be read as .npz: (stat: )?embedded null"):
        read_archive(f"{path}\0")


def test_models_altered_in_many_bytes(path: Path) -> None:
    whole = small_model(path)
    random = Random(0)
    for _ in range(400):
        changed = bytearray(whole)
        for _ in range(random.choice([1, 1, 3, 10])):
            changed[random.randrange(len(whole))] = random.randrange(256)
        survives(path, bytes(changed), read_model)


# Claims about size


def with_claimed_size(path: Path, claimed: int) -> Path:
    """Rewrite the unpacked size of the only entry in the directory of an archive."""
    data = bytearray(path.read_bytes())
    directory = data.rindex(b"PK\x01\x02")
    data[directory + 24 : directory + 28] = struct.pack("<I", claimed)
    path.write_bytes(bytes(data))
    return path


def test_a_bomb_that_claims_little(path: Path) -> None:
    """The directory says 8 bytes of data, the stream unpacks to 64 MiB."""
    whole = npy_with_header(header("(1,)"), bytes(8))
    data = whole + bytes(64 * MEBIBYTE)
    with_claimed_size(archive(path, [("x.npy", data)], zipfile.ZIP_DEFLATED), len(whole))
    assert path.stat().st_size < MEBIBYTE
    tracemalloc.start()
    survives(path, path.read_bytes())
    assert tracemalloc.get_traced_memory()[1] < 16 * MEBIBYTE
    tracemalloc.stop()


def test_a_bomb_that_is_all_header(path: Path) -> None:
    start = b"\x93NUMPY\x02\x00" + struct.pack("<I", 64 * MEBIBYTE)
    archive(path, [("x.npy", start + bytes(64 * MEBIBYTE))], zipfile.ZIP_DEFLATED)
    refused(path, "entry 'x' must have a .npy header of version 1 or 2")


def test_an_entry_that_claims_too_much(path: Path) -> None:
    claimed = MAX_ENTRY_BYTES + 1
    with_claimed_size(archive(path, [("x.npy", npy(np.zeros(1)))]), claimed)
    refused(path, f"entry 'x' must have at most {MAX_ENTRY_BYTES} bytes, not {claimed}")


def test_entries_that_claim_too_much_together(path: Path) -> None:
    with_claimed_size(archive(path, [("x.npy", npy(np.zeros(1)))]), MAX_TOTAL_BYTES + 1)
    refused(
        path,
        f"model file {path} must unpack to at most {MAX_TOTAL_BYTES} bytes, "
        f"not {MAX_TOTAL_BYTES + 1}",
    )


def test_too_many_entries(path: Path) -> None:
    archive(path, [(f"x{i}.npy", b"") for i in range(MAX_ENTRIES + 1)])
    with pytest.raises(ModelFileError, match=rf"must have at most {MAX_ENTRIES} entries$"):
        read_archive(path)


# Names, methods and encryption


@pytest.mark.parametrize(
    "name",
    [
        *("../x.npy", "/x.npy", "folder/x.npy", "C:\\x.npy", "x", "x.txt", ".npy", "x.npy/"),
        *("x.npz.npy", "a b.npy", "x\n.npy"),
    ],
)
def test_names_that_are_no_array(path: Path, name: str) -> None:
    archive(path, [(name, npy(np.zeros(1)))])
    refused(path, f"entry {name!r} must be a plain .npy array; was this saved by savez?")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_duplicate_entries(path: Path) -> None:
    archive(path, [("x.npy", npy(np.zeros(1))), ("x.npy", npy(np.ones(1)))])
    refused(path, f"entry 'x' must occur once in {path}")


def test_encrypted_entries(path: Path) -> None:
    data = bytearray(archive(path, [("x.npy", npy(np.zeros(1)))]).read_bytes())
    data[data.rindex(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(bytes(data))
    refused(path, "entry 'x.npy' must be a plain .npy array; was this saved by savez?")


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_compression_is_refused_before_it_is_unpacked(path: Path, method: int) -> None:
    archive(path, [("x.npy", npy(np.zeros(8 * MEBIBYTE)))], method)
    refused(path, "entry 'x.npy' must be a plain .npy array; was this saved by savez?")


def test_an_empty_archive_and_a_foreign_one(path: Path) -> None:
    missing = "entry 'meta' must be present; the file is incomplete"
    archive(path, [])
    refused(path, f"model file {path}: {missing}", read_model)
    np.savez(path, weights=np.zeros(3))
    refused(path, f"model file {path}: {missing}", read_model)
