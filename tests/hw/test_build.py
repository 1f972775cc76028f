"""A build as a whole: what it leaves, that it is proven, and what a failure leaves."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import platformdirs
import pytest

from scm_hw import boards
from scm_hw import build as building
from scm_hw.__main__ import main
from scm_hw.build import Build, BuildOptions, build, build_name, choose_board, load_design
from scm_hw.design import Design, Options
from scm_hw.errors import FitError, ModelFileError, OptionError
from scm_hw.report.synthesis import Resources
from scm_hw.rows import CheckRows, unpack
from tests.hw import oracle
from tests.hw.commands import (
    COMMON_FILES,
    command,
    contents,
    run,
    small_arrays,
    small_model,
    write_csv,
)
from tests.hw.reports import COUNTED, KEYS

BOARD_FILES = COMMON_FILES | {"scm_top.v", "scm_top.xdc"}
PART_FILES = COMMON_FILES | {"scm_core.xdc"}
# Evaluation rows, corners of two inputs, random codes.
VECTORS = 10 + 6 + 200


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """One build with all that belongs to it: three simulators, test bench, lint, synthesis."""
    folder = tmp_path_factory.mktemp("full")
    model = small_model(folder / "servo.npz")
    return build(model, boards.get("arty-a7"), None, BuildOptions(out=folder / "design"))


def quick(model: Path, out: Path, board: str = "arty-a7", **options: Any) -> Build:
    """A build that nothing is proven of."""
    how = BuildOptions(out=out, simulators=(), synthesis=False, **options)
    return build(model, boards.get(board), None, how)


def test_a_build_leaves_all_its_files(built: Build) -> None:
    assert contents(built.folder).keys() == BOARD_FILES | {"activity.saif"}
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
    assert formats["out_width"] < resources["ff"] < built.report["device"]["ff"]
    assert 0 < resources["lut"] < built.report["device"]["lut"]


def test_equal_inputs_give_equal_bytes(built: Build, tmp_path: Path) -> None:
    model = small_model(tmp_path / "servo.npz")
    arguments = ["build", model, "--board", "arty-a7", "--out", "elsewhere"]
    # Another user's home, language and clock, besides another folder.
    home = tmp_path / "home"
    home.mkdir()
    elsewhere = {"HOME": str(home), "XDG_CACHE_HOME": "", "TMPDIR": str(home)}
    # But for Yosys itself, which takes a minute to be compiled.
    elsewhere["YOWASP_CACHE_DIR"] = platformdirs.user_cache_dir("YoWASP", appauthor=False)
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
    assert contents(done.folder).keys() == PART_FILES
    assert "-period 8.000" in (done.folder / "scm_core.xdc").read_text()
    assert (done.report["part"], done.report["bit_exact"]) == ("xc7k70tfbg484-2", {})
    assert done.report["resources"]["source"] == "estimate"


def test_every_board_has_its_top(tmp_path: Path) -> None:
    model = small_model(tmp_path / "m.npz")
    digests = set()
    for name in boards.names():
        done = quick(model, tmp_path / name, name)
        if boards.get(name).family == "xc7":
            assert contents(done.folder).keys() == BOARD_FILES
            assert boards.get(name).part in (done.folder / "build.tcl").read_text()
        else:
            own = {"build.sh", "scm_top.lpf" if name == "ulx3s-85f" else "scm_top.pcf"}
            vivado = {path for path in BOARD_FILES if path.endswith((".tcl", ".xdc"))}
            assert contents(done.folder).keys() == BOARD_FILES - vivado | own
        digests.add(done.report["digest"])
    assert len(digests) == len(boards.names())


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
    report = quick(model, tmp_path / "out", data=data).report
    assert report["rows"] == 3
    assert len((tmp_path / "out" / "vectors_in.hex").read_text().splitlines()) == 1 + 3 + 6 + 200


def test_a_model_without_rows_is_built_without_a_score(tmp_path: Path) -> None:
    arrays = small_arrays()
    np.savez(tmp_path / "m.npz", **{k: v for k, v in arrays.items() if k[:5] != "eval_"})
    report = quick(tmp_path / "m.npz", tmp_path / "out").report
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
    assert build_name(path, design, told) == name


@pytest.mark.parametrize("name", ["a/b", "../x", ".hidden", "a b", "-x"])
def test_a_name_is_no_path(built: Build, name: str, tmp_path: Path) -> None:
    design = load_design(small_model(tmp_path / "m.npz"), boards.get("arty-a7"), Options())
    with pytest.raises(OptionError, match="name must be letters, digits, "):
        build_name(tmp_path / "m.npz", design, name)


def test_the_default_place_is_below_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    small_model(tmp_path / "m.npz")
    how = BuildOptions(name="demo", simulators=(), synthesis=False)
    done = build(Path("m.npz"), boards.get("arty-a7"), None, how)
    assert done.folder == Path("rtl_out/demo")
    assert (tmp_path / "rtl_out" / "demo" / "scm_core.v").exists()


def test_a_model_that_goes_away_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = small_model(tmp_path / "m.npz")
    read = building.read_model
    monkeypatch.setattr(building, "read_model", lambda path: (read(path), path.unlink())[0])
    with pytest.raises(ModelFileError, match=r"can't be read \(No such file"):
        load_design(model, boards.get("arty-a7"), Options())


# A fault in the design, and what is left of it.


@pytest.fixture
def earlier(tmp_path: Path) -> dict[str, bytes]:
    """A good build in place, as bytes; the model beside it is another one by now."""
    small_model(tmp_path / "m.npz", seed=2)
    quick(tmp_path / "m.npz", tmp_path / "out")
    small_model(tmp_path / "m.npz")
    return contents(tmp_path)


def failing(folder: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """Exit code and the only line of a build in process."""
    argv = ["build", str(folder / "m.npz"), "--out", str(folder / "out"), "--no-synth"]
    handler = signal.getsignal(signal.SIGTERM)
    code = main([*argv, *arguments])
    signal.signal(signal.SIGTERM, handler)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    return code, err


def flip_node(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every build from here on has the second hidden bit inverted in its Verilog."""
    emit = Design.verilog.func

    def faulty(self: Design) -> str:
        # The signals to look at are known once the good core has been emitted.
        emit(self)
        ops = [
            replace(op, contents=tuple(1 - bit for bit in op.contents))
            if op.name == "layer1.node1"
            else op
            for op in self.program.ops
        ]
        return emit(replace(self, program=replace(self.program, ops=tuple(ops))))

    wrong = cached_property(faulty)
    wrong.__set_name__(Design, "verilog")
    monkeypatch.setattr(Design, "verilog", wrong)


def test_a_wrong_core_fails_the_build_and_is_kept(
    tmp_path: Path,
    earlier: dict[str, bytes],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    flip_node(monkeypatch)
    code, line = failing(tmp_path, capsys, "--sim", "icarus")
    assert code == 1
    assert re.match(
        r"error: icarus must agree with the interpreter, not differ \(full_speed: ", line
    )
    assert re.search(r"vector 0 gave 0x[0-9a-f]+ for 0x[0-9a-f]+", line)
    assert re.search(r"the first stage that differs is cycle \d+, layer1\.node1;", line)
    waveform = Path(re.search(r"see the waveform (\S+)$", line)[1])
    assert waveform.is_relative_to(tmp_path / "out.failed")
    assert waveform.stat().st_size > 300
    now = contents(tmp_path)
    assert {name: now.pop(name) for name in earlier} == earlier
    assert {name.split("/")[0] for name in now} == {"out.failed"}
    assert {"out.failed/scm_core.v", "out.failed/tb_scm_core.v"} <= now.keys()


def test_a_wrong_expectation_names_its_vector(
    tmp_path: Path,
    earlier: dict[str, bytes],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pack_rows = CheckRows.vectors

    def altered(self: CheckRows, design: Design) -> Any:
        vectors = pack_rows(self, design)
        outputs = list(vectors.outputs)
        outputs[57] ^= 1
        return type(vectors)(vectors.inputs, tuple(outputs), vectors.in_width, vectors.out_width)

    monkeypatch.setattr(CheckRows, "vectors", altered)
    code, line = failing(tmp_path, capsys, "--sim", "verilator")
    assert code == 1
    assert "(full_speed: 1 wrong results; vector 57 gave" in line
    assert "stage" not in line
    assert {
        k: v for k, v in contents(tmp_path).items() if not k.startswith("out.failed")
    } == earlier


def test_files_that_fail_their_own_checks_are_not_handed_out(
    tmp_path: Path,
    earlier: dict[str, bytes],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(building, "prove", lambda *_: [])
    bench = building.testbench_files
    monkeypatch.setattr(
        building,
        "testbench_files",
        lambda vectors, latency, interval: bench(vectors, latency + 1, interval),
    )
    code, line = failing(tmp_path, capsys, "--sim", "icarus")
    assert code == 1
    assert re.match(r"error: tb_scm_core\.v must pass, not fail \(error: vector 0 took", line)
    log = Path(re.search(r"see (\S+)$", line)[1])
    assert log.is_relative_to(tmp_path / "out.failed")
    assert "FAIL" in log.read_text()
    kept = {k: v for k, v in contents(tmp_path).items() if not k.startswith("out.failed")}
    assert kept == earlier


def test_a_design_too_large_after_synthesis_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = small_model(tmp_path / "m.npz")
    monkeypatch.setattr(building, "synthesise", lambda *_, **__: Resources(lut=70_000, ff=1))
    how = BuildOptions(out=tmp_path / "out", simulators=())
    with pytest.raises(FitError, match=r"not need 70,000 LUT of 63,400 \(110%\)"):
        build(model, boards.get("arty-a7"), None, how)
    assert contents(tmp_path).keys() == {"m.npz"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_leaves_nothing_behind(
    tmp_path: Path, earlier: dict[str, bytes], number: signal.Signals
) -> None:
    aside = tmp_path.with_name(f"{tmp_path.name}.aside")
    for name in ("bin", "tmp"):
        (aside / name).mkdir(parents=True)
    # A simulator that says who it is and then never ends.
    vvp = aside / "bin" / "vvp"
    vvp.write_text(
        f"#!/bin/sh\necho $$ > {aside}/pid.new; mv {aside}/pid.new {aside}/pid\nsleep 99\n"
    )
    vvp.chmod(0o755)
    environment = os.environ | {
        "PATH": f"{aside / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "TMPDIR": str(aside / "tmp"),
    }
    argv = command("build", "m.npz", "--out", "out", "--sim", "icarus", "--no-synth")
    with subprocess.Popen(
        argv,
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        wait_for(lambda: (aside / "pid").exists() or process.poll() is not None)
        simulator = int((aside / "pid").read_text())
        assert contents(tmp_path) != earlier
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (130, "")
    assert err == "interrupted: nothing was written, an earlier build is untouched\n"
    wait_for(lambda: not Path(f"/proc/{simulator}").exists())
    assert contents(tmp_path) == earlier
    assert contents(aside / "tmp") == {}


def wait_for(condition: Any, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)
