"""A build as a whole: what it leaves, and that it is proven."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import platformdirs
import pytest

from scm_hw import boards
from scm_hw import build as building
from scm_hw.build import (
    Build,
    BuildOptions,
    build,
    build_name,
    choose_board,
    load_design,
    without_block_tables,
)
from scm_hw.cli.console import summary_lines
from scm_hw.common.cache import user_cache
from scm_hw.common.packing import unpack
from scm_hw.design import Options, compile_model
from scm_hw.errors import ModelFileError, OptionError
from tests.hw import oracle
from tests.hw.commands import (
    COMMON_FILES,
    contents,
    own_files,
    quick_build,
    run,
    small_arrays,
    small_model,
    write_csv,
)
from tests.hw.reports import COUNTED, KEYS
from tests.support import random_model

BOARD_FILES = COMMON_FILES | {"scm_top.v", "scm_top.xdc"}
PART_FILES = COMMON_FILES | {"m_core.xdc"}
# Evaluation rows, corners of two inputs, random codes.
VECTORS = 10 + 6 + 200


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """One build with all that belongs to it: three simulators, test bench, lint, synthesis."""
    folder = tmp_path_factory.mktemp("full")
    model = small_model(folder / "servo.npz")
    return build(model, boards.get("arty-a7"), None, BuildOptions(out=folder / "design"))


def test_a_build_leaves_all_its_files(built: Build) -> None:
    assert contents(built.folder).keys() == BOARD_FILES | own_files("servo") | {"activity.saif"}
    assert [path.name for path in built.folder.parent.iterdir() if path.name[0] == "."] == []
    assert json.loads((built.folder / "report.json").read_text()) == built.report
    assert (built.folder / "digest.txt").read_text() == built.report["digest"] + "\n"


def test_the_report_is_complete(built: Build) -> None:
    assert built.report.keys() >= KEYS | {"rmse_pc", "rmse_hw"}
    assert built.report["resources"].keys() >= COUNTED
    assert built.report["name"] == "servo"


def test_every_simulator_saw_its_vectors_and_measured_the_schedule(built: Build) -> None:
    verdicts = built.report["bit_exact"]
    assert {name: v["vectors"] for name, v in verdicts.items()} == {
        "amaranth": 24,
        "icarus": VECTORS,
        "verilator": VECTORS,
    }
    for verdict in verdicts.values():
        assert verdict["mismatches"] == 0
        assert verdict["cycles"] == built.report["latency_cycles"]
        assert verdict["initiation_interval"] == built.report["initiation_interval"]


def test_the_vectors_are_what_the_model_means(built: Build) -> None:
    """Inputs and outputs of the test bench against exact fractions of the model file."""
    arrays, formats = small_arrays(), built.report["formats"]

    def column(name: str, ports: list[dict[str, Any]]) -> np.ndarray:
        words = [int(line, 16) for line in (built.folder / name).read_text().splitlines()[1:]]
        assert len(words) == VECTORS
        return unpack(words, [p["bits"] for p in ports], [p["signed"] for p in ports])

    inputs = column("vectors_in.hex", formats["in_data"])
    outputs = column("vectors_out.hex", formats["out_data"])
    codes = [oracle.code_of(arrays, row) for row in arrays["eval_inputs"]]
    np.testing.assert_array_equal(inputs[:10], codes)
    fraction = formats["out_data"][0]["fraction"]
    for code, output in zip(inputs.tolist(), outputs[:, 0].tolist(), strict=True):
        # Seven coefficients, each rounded to the nearest: half a unit of each at most.
        exact = oracle.y_norm(arrays, code)[0]
        assert abs(output / 2**fraction - exact) <= 7 / 2 ** (
            formats["coefficient_fraction_bits"] + 1
        )


def test_synthesis_found_the_ports_registers(built: Build) -> None:
    resources, formats = built.report["resources"], built.report["formats"]
    assert "yosys" in resources["source"]
    # Beside the bit of a valid result, as many as tell the values of the output apart.
    low, high = formats["out_data"][0]["range"]
    assert (high - low).bit_length() < resources["ff"] < built.report["device"]["ff"]
    assert 0 < resources["lut"] < built.report["device"]["lut"]


def test_equal_inputs_give_equal_bytes(built: Build, tmp_path: Path) -> None:
    model = small_model(tmp_path / "servo.npz")
    arguments = ["build", model, "--board", "arty-a7", "--out", "elsewhere"]
    # Another user's home, language and clock, besides another folder.
    home = tmp_path / "home"
    home.mkdir()
    elsewhere = {"HOME": str(home), "XDG_CACHE_HOME": "", "TMPDIR": str(home)}
    # But for Yosys, Amaranth's too, and Verilator's own library: they take a minute to be compiled.
    elsewhere["YOWASP_CACHE_DIR"] = platformdirs.user_cache_dir("YoWASP", appauthor=False)
    shutil.copytree(platformdirs.user_cache_path("wasmtime"), home / ".cache" / "wasmtime")
    shutil.copytree(user_cache("verilator"), home / ".cache" / "scm-hw" / "verilator")
    others = {"PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo", "LC_ALL": "C", "LANG": "C"}
    done = run(*arguments, cwd=tmp_path, env=elsewhere | others)
    assert (done.returncode, done.stderr) == (0, "")
    assert contents(tmp_path / "elsewhere") == contents(built.folder)


def test_no_file_tells_where_it_was_made(built: Build) -> None:
    for name, content in contents(built.folder).items():
        assert str(built.folder.parent).encode() not in content, name


def test_a_part_has_no_board_top(tmp_path: Path) -> None:
    model = small_model(tmp_path / "m.npz")
    board = choose_board(None, "XC7K70T-2FBG484C", 125.0)
    how = BuildOptions(out=tmp_path / "out", simulators=(), synthesis=False)
    done = build(model, board, Options(clock_mhz=125.0), how)
    assert contents(done.folder).keys() == PART_FILES | own_files("m")
    assert "-period 8.000" in (done.folder / "m_core.xdc").read_text()
    assert (done.report["part"], done.report["bit_exact"]) == ("xc7k70tfbg484-2", {})
    assert done.report["resources"]["source"] == "estimate"


def test_every_board_has_its_top(tmp_path: Path) -> None:
    model = small_model(tmp_path / "m.npz")
    digests = set()
    names = [name for name in boards.names() if boards.get(name).platform is not None]
    for name in names:
        done = quick_build(model, tmp_path / name, name)
        if boards.get(name).family == "xc7":
            assert contents(done.folder).keys() == BOARD_FILES | own_files("m")
            assert boards.get(name).part in (done.folder / "build.tcl").read_text()
        else:
            pins = {"ecp5": "lpf", "ice40": "pcf", "gowin": "cst"}[boards.get(name).family]
            own = {"build.sh", f"scm_top.{pins}"}
            vivado = {path for path in BOARD_FILES if path.endswith((".tcl", ".xdc"))}
            assert contents(done.folder).keys() == BOARD_FILES - vivado | own_files("m") | own
        digests.add(done.report["digest"])
    assert len(digests) == len(names) >= 6


@pytest.mark.parametrize(
    "options",
    [
        {"task": "classification", "outputs": 3, "layers": (3, 2)},
        {"outputs": 2, "mechanism": "external", "encoder": "gray", "activation": "step"},
    ],
    ids=["deep classifier", "external mechanism"],
)
def test_other_kinds_of_model_are_proven_too(tmp_path: Path, options: dict[str, Any]) -> None:
    model = small_model(tmp_path / "m.npz", **options)
    how = BuildOptions(out=tmp_path / "out", simulators=("icarus",), synthesis=False)
    # At a clock that takes more than one cycle.
    report = build(model, boards.by_part("xc7a100tcsg324-1", 250.0), None, how).report
    assert report["bit_exact"]["icarus"]["mismatches"] == 0
    assert report["bit_exact"]["icarus"]["cycles"] == report["latency_cycles"] > 1


def test_own_rows_take_the_place_of_the_models(tmp_path: Path) -> None:
    model = small_model(tmp_path / "m.npz")
    data = write_csv(tmp_path / "d.csv", ["x0", "x1", "y0"], [[0, 0, 0], [1, 1, 1], [2, 2, 2]])
    report = quick_build(model, tmp_path / "out", data=data).report
    assert report["rows"] == 3
    assert len((tmp_path / "out" / "vectors_in.hex").read_text().splitlines()) == 1 + 3 + 6 + 200


def test_a_model_without_rows_is_built_without_a_score(tmp_path: Path) -> None:
    arrays = small_arrays()
    np.savez(tmp_path / "m.npz", **{k: v for k, v in arrays.items() if k[:5] != "eval_"})
    report = quick_build(tmp_path / "m.npz", tmp_path / "out").report
    assert "rmse_pc" not in report
    assert report["formats"]["coefficient_fraction_bits"] >= 10


@pytest.mark.parametrize(
    ("told", "own", "name"),
    [
        (None, None, "my_model_v1"),
        (None, "Servo, 60 nodes", "Servo_60_nodes"),
        (None, "../..", "model"),
        ("demo-1.2", "Servo", "demo-1.2"),
    ],
)
def test_a_build_is_called_as_told_or_as_its_model(
    tmp_path: Path, told: str | None, own: str | None, name: str
) -> None:
    arrays = small_arrays()
    meta = oracle.meta_of(arrays) | ({"name": own} if own else {})
    path = tmp_path / "my model (v1).npz"
    np.savez(path, **(arrays | {"meta": np.frombuffer(json.dumps(meta).encode(), np.uint8)}))
    design = load_design(path, boards.get("arty-a7"), Options())
    assert build_name(path, design.model, told) == name


@pytest.mark.parametrize("name", ["a/b", "../x", ".hidden", "a b", "-x"])
def test_a_name_is_no_path(built: Build, name: str, tmp_path: Path) -> None:
    design = load_design(small_model(tmp_path / "m.npz"), boards.get("arty-a7"), Options())
    with pytest.raises(OptionError, match="name must be letters, digits, "):
        build_name(tmp_path / "m.npz", design.model, name)


def test_paths_may_be_strings(tmp_path: Path) -> None:
    model = str(small_model(tmp_path / "m.npz"))
    how = BuildOptions(out=tmp_path / "out", simulators=(), synthesis=False)
    board = boards.get("arty-a7")
    assert load_design(model, board, Options()).model_digest
    assert build(model, board, build_options=how).folder == tmp_path / "out"


def test_the_default_place_is_below_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    small_model(tmp_path / "m.npz")
    how = BuildOptions(name="demo", simulators=(), synthesis=False)
    done = build(Path("m.npz"), boards.get("arty-a7"), None, how)
    assert done.folder == Path("rtl_out/demo")
    assert (tmp_path / "rtl_out" / "demo" / "demo_core.v").exists()


def test_a_model_that_goes_away_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = small_model(tmp_path / "m.npz")
    read = building.read_model
    monkeypatch.setattr(building, "read_model", lambda path: (read(path), path.unlink())[0])
    with pytest.raises(ModelFileError, match=r"can't be read \(No such file"):
        load_design(model, boards.get("arty-a7"), Options())


def test_block_tables_that_change_nothing_are_said_to(tmp_path: Path) -> None:
    """Few nodes share no row of a block RAM; sixteen nodes of four coded features do."""
    how = BuildOptions(out=tmp_path / "few", synthesis=False, simulators=())
    told: list[str] = []
    options, board = Options(tables="block"), boards.get("arty-a7")
    done = build(small_model(tmp_path / "m.npz"), board, options, how, told.append)
    (line,) = done.report["left_out"]
    assert line.startswith("tables in block RAM (no 6 sums read tables of the same two levels")
    assert f"leaving out {line}" in told
    assert f"left out: {line}" in summary_lines(done.report)
    model = random_model(1, features=4, layers=(16,), bits=31, input_bits=8, rows=4)
    design = compile_model(model, board, options)
    assert without_block_tables(design) == []
    assert without_block_tables(compile_model(model, board, Options())) == []


def test_a_build_without_icarus_says_what_it_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what Verilator needs on the path, and no Icarus."""
    there = tmp_path / "bin"
    there.mkdir()
    for folder in map(Path, os.environ["PATH"].split(os.pathsep)):
        for program in folder.glob("*") if folder.is_dir() else ():
            if program.name not in ("iverilog", "vvp") and not os.path.lexists(
                there / program.name
            ):
                (there / program.name).symlink_to(program)
    monkeypatch.setenv("PATH", str(there))
    told: list[str] = []
    how = BuildOptions(out=tmp_path / "out", synthesis=False)
    done = build(small_model(tmp_path / "m.npz"), boards.get("arty-a7"), None, how, told.append)
    assert set(done.report["bit_exact"]) == {"amaranth", "verilator"}
    assert all(v["mismatches"] == 0 for v in done.report["bit_exact"].values())
    simulation, bench = done.report["left_out"]
    assert simulation.startswith("simulation in icarus (can't run icarus: iverilog is not on the")
    assert told[:2] == [f"leaving out {simulation}", f"leaving out {bench}"]
    assert "linting" in told and "running the Verilog test bench" not in told
    assert not (done.folder / "activity.saif").exists()
    assert f"left out: {bench}" in summary_lines(done.report)
    only = BuildOptions(out=tmp_path / "only", synthesis=False, simulators=("amaranth",))
    done = build(tmp_path / "m.npz", boards.get("arty-a7"), None, only)
    assert set(done.report["bit_exact"]) == {"amaranth"}
    assert done.report["left_out"] == [bench]
