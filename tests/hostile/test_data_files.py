"""Data files and options that would fill the memory: one line, before they do."""

from __future__ import annotations

import gzip
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from scm_model.tables import unpacking
from scm_train.__main__ import main
from scm_train.data.files import read_rows
from scm_train.datasets import load
from scm_train.errors import DataError
from tests.train.commands import FAST, plant_csv

MIB = 1 << 20
GIB = 1 << 30


def gzipped(path: Path, header: bytes = b"a,y\n", line: bytes = b"0,0\n", size: int = GIB) -> Path:
    """A file of a few MB that unpacks to ``size`` bytes: one packed block again and again."""
    block = gzip.compress(line * (MIB // len(line)))
    path.write_bytes(gzip.compress(header) + block * (size // MIB))
    return path


def zipped(path: Path) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("X", "y"):
            with archive.open(f"{name}.npy", "w") as entry:
                shape = (100 * MIB // 8,)
                header = {"descr": "<f8", "fortran_order": False, "shape": shape}
                np.lib.format.write_array_header_1_0(entry, header)
                for _ in range(100):
                    entry.write(bytes(MIB))
    return path


def constant(path: Path) -> Path:
    zeros = pa.array(np.zeros(20 * MIB))
    parquet.write_table(pa.table({"a": zeros, "y": zeros}), path, compression="zstd")
    return path


def one_line(path: Path) -> Path:
    """A table without an end to its first line, as a device of zeros is."""
    path.symlink_to("/dev/zero")
    return path


BOMBS: dict[str, tuple[Callable[[Path], Path], str]] = {
    "rows.csv.gz": (gzipped, "it unpacks to more than 128 MiB"),
    "line.csv.gz": (lambda path: gzipped(path, b"a", b"a"), "it unpacks to more than 128 MiB"),
    "rows.npz": (zipped, "it unpacks to more than 128 MiB"),
    "rows.parquet": (constant, "it unpacks to more than 128 MiB"),
    "zeros.csv": (one_line, "it is no text; check the file, or give its --encoding"),
}


@pytest.mark.parametrize("name", list(BOMBS))
def test_a_file_that_would_fill_the_memory(name, tmp_path, capsys):
    make, message = BOMBS[name]
    path = make(tmp_path / name)
    assert path.is_symlink() or path.stat().st_size < 4 * MIB
    tracemalloc.start()
    try:
        code = main(["fit", str(path), "--target", "y", "--out", str(tmp_path / "m.npz")])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
    assert peak < 256 * MIB
    assert not (tmp_path / "m.npz").exists()


def test_named_data_sets_are_bounded_too(tmp_path, monkeypatch):
    monkeypatch.setenv("SCM_DATA", str(tmp_path))
    gzipped(tmp_path / "emps_servo.csv.gz")
    (tmp_path / "mnist").mkdir()
    gzipped(tmp_path / "mnist" / "train-images-idx3-ubyte.gz")
    gzipped(tmp_path / "mnist" / "train-labels-idx1-ubyte.gz")
    for name in ("emps_servo", "mnist"):
        with pytest.raises(DataError, match="it unpacks to more than 128 MiB"):
            load(name)


def test_what_packs_as_tables_do_is_read_whatever_its_size(tmp_path, monkeypatch):
    plant = Path(plant_csv(tmp_path / "plant.csv", n=2000)).read_bytes()
    packed = tmp_path / "plant.csv.gz"
    packed.write_bytes(gzip.compress(plant))
    monkeypatch.setattr(unpacking, "ALWAYS", 1)
    assert len(read_rows(packed, ["force"]).X) == 2000
    monkeypatch.setattr(unpacking, "MOST_RATIO", 1)
    with pytest.raises(DataError, match="it unpacks to more than"):
        read_rows(packed, ["force"])


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--candidates 100000000", "candidates must be at most "),
        ("--candidates 10,100000000 --algorithm deepscn", "candidates must be at most "),
        ("--candidates 100000000 --encoder none --activation tanh", "candidates must be at most "),
        ("--layers 100000000", "layers must be at most 1000, not 100000000"),
    ],
)
def test_options_that_would_fill_the_memory(flags, message, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    argv = ["fit", plant_csv(), "--target", "force", *FAST, "--out", "m.npz", *flags.split()]
    tracemalloc.start()
    try:
        code = main(argv)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
    assert peak < 64 * MIB
    assert not Path("m.npz").exists()


def test_a_failed_allocation_is_one_line(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def exhausted(*_, **__):
        raise MemoryError

    monkeypatch.setattr("scm_train.cli.fit.split", exhausted)
    assert main(["fit", plant_csv(), "--target", "force", "--out", "m.npz"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: can't finish: there is too little memory")
