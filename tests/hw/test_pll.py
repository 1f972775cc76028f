"""Clocks that a board's oscillator does not have, made by its clock manager."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scm_hw import boards
from scm_hw.boards.pll import DETECTOR, VCO, Pll, pll_for
from scm_hw.boards.toolchains import toolchain_of
from scm_hw.build import BuildOptions, build, choose_board, load_design
from scm_hw.design import Options
from scm_hw.errors import OptionError
from scm_hw.host import Board
from scm_hw.host.emulator import Emulator, compile_emulator, fastest_baud
from scm_hw.verify import lint
from scm_hw.verify.rows import check_rows
from tests.hw.commands import small_model


@pytest.mark.parametrize(
    ("oscillator", "clock", "multiply", "divide", "output"),
    [(100, 200, 12, 1, 6), (12, 100, 50, 1, 6), (100, 137.5, 11, 1, 8), (100, 52, 52, 5, 20)],
)
def test_known_clocks(
    oscillator: float, clock: float, multiply: int, divide: int, output: int
) -> None:
    wanted = Pll(Fraction(oscillator), Fraction(multiply), divide, Fraction(output))
    assert pll_for(oscillator, clock) == wanted


@settings(deadline=None, database=None)
@given(
    st.sampled_from([12.0, 50.0, 100.0, 125.0, 200.0]),
    st.integers(1 * 16, 600 * 16).map(lambda sixteenths: sixteenths / 16),
)
def test_what_is_found_is_exact_and_within_the_limits(oscillator: float, clock: float) -> None:
    pll = pll_for(oscillator, clock)
    if pll is None:
        return
    assert pll.clock_mhz == Fraction(clock)
    assert VCO[0] <= pll.vco_mhz <= VCO[1]
    assert DETECTOR[0] <= pll.oscillator_mhz / pll.divide <= DETECTOR[1]
    for factor, least, most in ((pll.multiply, 2, 64), (pll.output_divide, 1, 128)):
        assert least <= factor <= most
        assert (8 * factor).denominator == 1
    assert pll.output_divide >= 2 or pll.output_divide == 1


@pytest.mark.parametrize(("oscillator", "clock"), [(100, 4), (100, 500), (100, 33.333), (12, 99.9)])
def test_some_clocks_are_out_of_reach(oscillator: float, clock: float) -> None:
    assert pll_for(oscillator, clock) is None


def test_boards_at_other_clocks() -> None:
    own = boards.get("arty-a7")
    assert own.at_clock(100.0) is own
    fast = choose_board("arty-a7", None, 200.0)
    assert (fast.clock_mhz, fast.platform) == (200.0, own.platform)
    assert fast.pll is not None and fast.pll.clock_mhz == 200
    for board, clock in (("arty-a7", 99.9), ("ulx3s-85f", 50.0)):
        bare = choose_board(board, None, clock)
        assert (bare.clock_mhz, bare.platform, bare.pll) == (clock, None, None)
    with pytest.raises(OptionError, match="toolchain xray must have a 7-series board with its own"):
        toolchain_of(fast, "xray")


@pytest.mark.parametrize("top", ["uart", "self-test"])
def test_a_top_at_another_clock(top: str, tmp_path: Path) -> None:
    model = small_model(tmp_path / "m.npz")
    board = choose_board("arty-a7", None, 150.0)
    folder = tmp_path / "out"
    how = BuildOptions(out=folder, simulators=(), synthesis=False)
    report = build(model, board, Options(clock_mhz=150.0, top=top), how).report
    assert report["clock_mhz"] == 150.0
    verilog = (folder / "scm_top.v").read_text()
    manager = re.search(r"MMCME2_BASE #\((.*?)\) mmcm", verilog, re.S)
    assert manager is not None
    factors = dict(re.findall(r"\.(\w+)\(([\d.]+)\)", manager[1]))
    assert factors == {
        "CLKFBOUT_MULT_F": "12.0",
        "CLKIN1_PERIOD": "10.0",
        "CLKOUT0_DIVIDE_F": "8.0",
    }
    assert re.search(r"\.DIVCLK_DIVIDE\(32'd1\)", manager[1])
    # The oscillator's period; Vivado derives that of the manager's clock.
    constraints = (folder / "scm_top.xdc").read_text()
    assert re.findall(r"create_clock.*-period (\S+)", constraints) == ["10.0"]
    lint([folder / "scm_top.v", folder / "m_core.v"], "scm_top")


def test_the_board_answers_at_another_clock(tmp_path: Path) -> None:
    """Its bit rate and its hello follow the clock."""
    model = small_model(tmp_path / "m.npz", rows=40)
    board = choose_board("cmod-a7-35", None, 36.0)
    design = load_design(model, board, Options(clock_mhz=36.0, baud=fastest_baud(board)))
    program = compile_emulator(design, tmp_path, "fast")
    rows = check_rows(design, design.model.evaluation)
    with Emulator(program).running() as emulated, Board(emulated.port) as served:
        assert served.hello.clock_hz == 36_000_000
        outputs, _ = served.predict_integers(rows.inputs)
    np.testing.assert_array_equal(outputs, rows.outputs)
