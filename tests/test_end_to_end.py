"""The user's story: data to model file to a proven design, by the command lines."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_regression

from scm_hw import boards
from scm_hw.__main__ import main as scm_hw
from scm_hw.build import load_design
from scm_hw.common.names import identifier
from scm_hw.design import Options
from scm_hw.host import Board
from scm_hw.host.compare import compare
from scm_hw.host.emulator import Emulator, compile_emulator, fastest_baud
from scm_train.__main__ import main as scm_train

SERVO_TEST_ROWS = 2856


def train(folder: Path, *arguments: str) -> Path:
    model = folder / "model.npz"
    assert scm_train(["fit", *arguments, "--out", str(model), "-q"]) == 0
    return model


def build(model: Path, *arguments: str) -> dict:
    folder = model.parent / "design"
    assert scm_hw(["build", str(model), "--out", str(folder), "-q", *arguments]) == 0
    return json.loads((folder / "report.json").read_text())


def write_csv(path: Path, columns: dict[str, np.ndarray]) -> Path:
    rows = np.stack([np.asarray(c).astype(str) for c in columns.values()], axis=1)
    lines = [",".join(columns), *(",".join(row) for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


def assert_proven(report: dict, simulators: tuple[str, ...]) -> None:
    """Every vector equal, and the cycles measured are the cycles reported."""
    assert set(report["bit_exact"]) == set(simulators)
    for verdict in report["bit_exact"].values():
        assert verdict["mismatches"] == 0
        assert verdict["vectors"] > 0
        assert verdict["cycles"] == report["latency_cycles"]
        assert verdict["initiation_interval"] == report["initiation_interval"] == 1


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `scm-hw demo` leaves, for the paper's part."""
    folder = tmp_path_factory.mktemp("demo") / "rtl_out"
    with redirect_stdout(io.StringIO()) as said:
        assert scm_hw(["demo", "--board", "nexys-a7", "--out", str(folder), "--json"]) == 0
    report = json.loads((folder / "servo_nexys" / "report.json").read_text())
    build = {"folder": str(folder / "servo_nexys"), **report}
    assert json.loads(said.getvalue()) == {"model": f"{folder}/servo_demo.npz", "builds": [build]}
    return folder


@pytest.fixture(scope="module")
def servo_model(demo: Path) -> Path:
    return demo / "servo_demo.npz"


@pytest.fixture(scope="module")
def nexys(demo: Path) -> dict:
    return json.loads((demo / "servo_nexys" / "report.json").read_text())


def test_sixty_sign_nodes_on_the_servo_beat_the_papers_cycles(nexys: dict) -> None:
    report = nexys
    assert report["part"] == "xc7a100tcsg324-1"
    assert [layer["nodes"] for layer in report["model"]["layers"]] == [60]
    assert_proven(report, ("amaranth", "icarus", "verilator"))
    assert report["bit_exact"]["icarus"]["vectors"] >= SERVO_TEST_ROWS
    assert report["bit_exact"]["verilator"]["vectors"] >= SERVO_TEST_ROWS
    assert report["rows"] == SERVO_TEST_ROWS
    assert report["clock_mhz"] == 100
    assert report["latency_cycles"] <= 9
    assert report["rmse_hw"] / report["rmse_pc"] <= 1.0001
    assert 0 < report["resources"]["lut"] < report["device"]["lut"]


def test_the_demo_refuses_a_board_before_it_trains(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    assert scm_hw(["demo", "--board", "arty-a77", "--out", str(tmp_path / "out")]) == 2
    printed = capsys.readouterr()
    assert printed.err.count("\n") == 1 and "arty-a77" in printed.err
    assert printed.out == "" and not (tmp_path / "out").exists()


def test_the_demo_on_a_board_that_is_emulated(servo_model: Path, tmp_path: Path) -> None:
    """All test rows over a serial line that spoils bytes, from a board unplugged in mid-run."""
    arty = boards.get("arty-a7")
    design = load_design(servo_model, arty, Options(baud=fastest_baud(arty)))
    program = compile_emulator(design, tmp_path)
    link = tmp_path / "tty"
    plugged = [Emulator(program, link=link, noise=0.001, seed=seed) for seed in (0, 1)]
    plugged[0].start()

    def unplug(done: int) -> None:
        if done > SERVO_TEST_ROWS // 2 and plugged[0].process is not None:
            plugged[0].stop()
            plugged[1].start()

    rows = design.model.evaluation
    assert rows is not None
    try:
        with Board(str(link), tries=20) as board:
            board.require_model(design.model_digest)
            found = compare(board, design.model, rows, unplug)
    finally:
        for emulator in plugged:
            emulator.stop()
    found.check()
    assert (found.rows, found.mismatches) == (SERVO_TEST_ROWS, 0)
    assert found.board == found.interpreter
    assert found.board / found.pc <= 1.0001
    assert found.cycles == design.schedule.latency
    assert found.returns == 1 and found.repeated > 1


def test_the_same_model_for_the_arty_and_the_table_beside_the_paper(
    servo_model: Path, nexys: dict
) -> None:
    """The same part at the same clock, and so the very core that was proven on all rows."""
    folder = servo_model.parent / "arty"
    command = ["build", str(servo_model), "--board", "arty-a7", "--out", str(folder)]
    done = subprocess.run(
        [sys.executable, "-m", "scm_hw", *command, "--sim", "amaranth", "--no-synth"],
        capture_output=True,
        text=True,
        check=True,
    )
    prefix = identifier(nexys["name"])
    cores = [servo_model.parent / name / f"{prefix}_core.v" for name in ("servo_nexys", "arty")]
    # The comments at the top name the board's part and the digest of the build.
    assert len({re.sub(r"^//.*\n", "", core.read_text(), flags=re.M) for core in cores}) == 1
    # The paper's case stands folded on the page, and beside the demonstration alone on the console.
    page = (folder / "report.html").read_text()
    for figure in ("0.031336", "0.031360", "60.94%", "16,500", "90 ns"):
        assert figure in page
    assert "0.031336" not in done.stdout
    assert "build.tcl" in done.stdout
    report = json.loads((folder / "report.json").read_text())
    assert (report["board"], nexys["board"]) == ("arty-a7", "nexys-a7")
    assert_proven(report, ("amaranth",))


def test_the_default_machine_within_a_budget(tmp_path: Path) -> None:
    """Families of nodes as tables, up to a budget that the netlist keeps."""
    model = train(tmp_path, "--dataset", "servo_sim", "--luts", "300", "--test-fraction", "0.04")
    report = build(model, "--sim", "icarus,verilator")
    assert [layer["activation"] for layer in report["model"]["layers"]] == ["sign", "step"]
    assert_proven(report, ("icarus", "verilator"))
    assert report["rmse_hw"] / report["rmse_pc"] <= 1.0001
    assert report["resources"]["lut"] <= 300


def test_a_deep_model(tmp_path: Path) -> None:
    nodes = ("--max-nodes", "16,6", "--activation", "step")
    model = train(tmp_path, "--dataset", "servo_sim", *nodes, "--test-fraction", "0.04")
    report = build(model, "--sim", "icarus,verilator", "--no-synth")
    assert [layer["activation"] for layer in report["model"]["layers"]] == ["step", "step"]
    assert_proven(report, ("icarus", "verilator"))
    assert report["rmse_hw"] / report["rmse_pc"] <= 1.0001


def test_eight_outputs(tmp_path: Path) -> None:
    X, Y = make_regression(600, 6, n_targets=8, noise=3.0, random_state=0)
    columns = {f"x{i}": X[:, i] for i in range(6)} | {f"y{i}": Y[:, i] for i in range(8)}
    data = write_csv(tmp_path / "data.csv", columns)
    targets = ",".join(f"y{i}" for i in range(8))
    model = train(tmp_path, str(data), "--target", targets, "--max-nodes", "8")
    report = build(model, "--sim", "icarus,verilator", "--no-synth")
    assert len(report["formats"]["out_data"]) == 8
    assert_proven(report, ("icarus", "verilator"))


def test_ten_classes_of_coded_digits(tmp_path: Path) -> None:
    X, y = load_digits(return_X_y=True)
    columns = {f"pixel{i}": X[:, i] for i in range(64)} | {"digit": y}
    data = write_csv(tmp_path / "digits.csv", columns)
    arguments = ("--target", "digit", "--task", "classification", "--encoder", "binary:1")
    arguments += ("--input-bits", "4", "--max-nodes", "16", "--test-fraction", "0.1")
    model = train(tmp_path, str(data), *arguments)
    report = build(model, "--sim", "icarus", "--no-synth")
    assert len(report["model"]["classes"]) == 10
    assert report["formats"]["out_data"][0]["bits"] == 4
    assert_proven(report, ("icarus",))
    assert report["accuracy_hw"] >= report["accuracy_pc"] - 0.001
    assert report["accuracy_hw"] > 0.8


MECHANISM = """
import numpy as np

def physics(X):
    return 2.0 * X[:, 0] ** 2 + np.sin(3.0 * X[:, 1])
"""


@pytest.mark.parametrize("kind", ["external", "polynomial", "table"])
def test_each_kind_of_mechanism(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "plant_physics.py").write_text(MECHANISM)
    monkeypatch.syspath_prepend(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.random((800, 3))
    y = 2.0 * X[:, 0] ** 2 + np.sin(3.0 * X[:, 1]) + 0.3 * (X[:, 2] > 0.5)
    columns = {f"x{i}": X[:, i] for i in range(3)} | {"y": y + rng.normal(0, 0.01, 800)}
    data = write_csv(tmp_path / "data.csv", columns)
    mechanism = ("--mechanism", "plant_physics:physics", "--mechanism-kind", kind)
    if kind != "external":
        mechanism += ("--mechanism-inputs", "x0,x1")
    model = train(tmp_path, str(data), "--target", "y", "--max-nodes", "8", *mechanism)
    report = build(model, "--sim", "icarus", "--no-synth")
    assert report["model"]["mechanism"] == kind
    assert_proven(report, ("icarus",))
    assert report["rmse_hw"] / report["rmse_pc"] <= 1.0001
