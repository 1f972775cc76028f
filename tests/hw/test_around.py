"""Wrappers and board tops: counted with their core, and part of its schedule."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scm_hw import boards
from scm_hw.__main__ import main
from scm_hw.design import Design, Options, compile_model
from scm_hw.emit import interface_files
from scm_hw.schedule import Ends, schedule
from scm_hw.target import XC7
from scm_hw.target.resources import Resources
from scm_hw.tools.black_box import black_box, without_unknown_parameters
from scm_hw.tools.synthesis import synthesise, synthesise_around
from tests.hw.commands import small_model
from tests.hw.test_rtl_core import every_operation
from tests.support import random_model

ARTY = boards.get("arty-a7")
SHAPE: dict[str, Any] = {"features": 3, "layers": (5,), "bits": 7}


def designed(**options: Any) -> Design:
    return compile_model(random_model(2, **SHAPE), ARTY, Options(frac_bits=8, **options))


def test_the_multiplexer_of_a_wrapper_is_part_of_the_first_stage() -> None:
    plain, wrapped = designed(), designed(interface="axis")
    assert wrapped.schedule.stage_ns[0] > plain.schedule.stage_ns[0]
    for stages in (plain.schedule.stage_ns, wrapped.schedule.stage_ns):
        assert max(stages) <= 0.8 * 10.0
    # Where the core's ready is a register, no sample waits outside of it.
    queued = designed(interface="axis", handshake="skid")
    assert queued.schedule.stage_ns == plain.schedule.stage_ns


def test_what_has_no_time_behind_a_wrapper_is_registered_first() -> None:
    """A stage that just fits is one too many with logic before it."""
    program = every_operation()
    plain = schedule(program, clock_mhz=20)
    clock = 0.999 * 1000 * 0.8 / (plain.stage_ns[0] + XC7.setup)
    assert schedule(program, clock_mhz=clock).latency == 1
    behind = schedule(program, clock_mhz=clock, ends=Ends(arrival=XC7.level))
    assert behind.latency == 2
    assert max(behind.stage_ns) + XC7.setup <= 0.8 * 1000 / clock


@pytest.mark.parametrize("interface", ["axis", "axil"])
def test_a_wrapper_and_its_core_count_as_both_together(interface: str) -> None:
    # A DSP block takes in registers that it leaves outside where a bus resets them.
    design = designed(interface=interface, multipliers="lut")
    core, wrapper = design.names.core, design.names.wrapper(interface)
    files = interface_files(interface, design.ports, "0" * 64, ARTY, design.names)
    text = files[f"{wrapper}.v"]
    alone = synthesise({f"{core}.v": design.verilog}, core)
    around = synthesise_around(design.verilog, core, text, wrapper, "xc7")
    together = synthesise({f"{core}.v": design.verilog, f"{wrapper}.v": text}, wrapper)
    assert core not in around.by_cell
    added = alone + around
    # In a core as small as this a few LUTs at the border are many.
    assert added.lut == pytest.approx(together.lut, rel=0.12)
    assert added.ff == together.ff
    guess = design.around("wrapper").cost()
    assert guess.lut == pytest.approx(around.lut, rel=0.25)
    assert guess.ff == pytest.approx(around.ff, rel=0.1)


def test_cells_are_added_by_kind() -> None:
    left = Resources(3, 4, bram=0.5, route_throughs=2, by_cell={"LUT2": 3, "FDRE": 4})
    right = Resources(1, 1, lut_pairs=1, by_cell={"LUT2": 1, "FDSE": 1})
    found = left + right
    assert (found.lut, found.ff, found.bram, found.lut_sites) == (4, 5, 0.5, 5)
    assert found.by_cell == {"FDRE": 4, "FDSE": 1, "LUT2": 4}


def test_a_black_box_has_the_ports_alone() -> None:
    design = designed()
    core = design.names.core
    text = black_box(design.verilog, core)
    assert text.count("module ") == 1
    assert "assign" not in text and "output [" in text
    buffer = 'BUFGCTRL #(\n    .SIM_DEVICE("7SERIES")\n  ) U ('
    assert "SIM_DEVICE" not in without_unknown_parameters(buffer)


def test_a_build_has_a_line_for_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, out = small_model(tmp_path / "model.npz"), tmp_path / "out"
    words = ["build", str(model), "--out", str(out), "--no-sim", "--no-synth", "--name", "tiny"]
    assert main([*words, "--interface", "axis"]) == 0
    shown = capsys.readouterr().out
    report = json.loads((out / "report.json").read_text())
    used = report["resources"]
    for part, module in (("wrapper", "tiny_axis"), ("top", "scm_top")):
        assert used[part]["module"] == module
        assert used[part]["lut"] > used["lut"]
        assert used[part]["max_clock_mhz_modelled"] >= report["clock_mhz"]
        assert f"with the {part} {module}: {used[part]['lut']:,} LUT" in shown
        assert module in (out / "report.html").read_text()


@pytest.mark.long
def test_a_build_counts_all_that_it_writes(tmp_path: Path) -> None:
    model, out = small_model(tmp_path / "model.npz"), tmp_path / "out"
    words = ["build", str(model), "--out", str(out), "--no-sim", "--interface", "axil"]
    assert main(words) == 0
    used = json.loads((out / "report.json").read_text())["resources"]
    assert used["lut"] < used["wrapper"]["lut"] < used["top"]["lut"]
    assert used["top"]["bram"] > used["bram"]


def test_a_part_without_board_has_no_top() -> None:
    bare = replace(ARTY, platform=None)
    design = compile_model(random_model(2, **SHAPE), bare, Options(frac_bits=8))
    assert design.schedule == designed().schedule
