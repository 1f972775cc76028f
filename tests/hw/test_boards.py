"""Boards, parts, and the self-testing top."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from amaranth.hdl import Signal
from amaranth.sim import Simulator, SimulatorContext

from scm_hw import boards
from scm_hw.boards import top as board_top
from scm_hw.emit import board_files
from scm_hw.errors import OptionError
from scm_hw.rtl import to_verilog
from scm_hw.sim import Vectors
from scm_hw.target.devices import DEVICES
from scm_hw.verify.verilator_lint import PRIMITIVES
from tests.hw.standin import StandIn, standin_vectors

LISTED = (
    *("arty-a7", "arty-a7-35", "nexys-a7", "cmod-a7-35", "ulx3s-85f", "icebreaker"),
    *("tang-nano-9k", "tang-nano-20k"),
    *("pynq-z2", "arty-z7-20", "zedboard"),
)


@pytest.mark.parametrize(
    ("name", "part", "clock_mhz"),
    [
        ("arty-a7", "xc7a100tcsg324-1", 100.0),
        ("arty-a7-35", "xc7a35ticsg324-1L", 100.0),
        ("nexys-a7", "xc7a100tcsg324-1", 100.0),
        ("cmod-a7-35", "xc7a35tcpg236-1", 12.0),
        ("ulx3s-85f", "LFE5U-85F-6BG381", 25.0),
        ("icebreaker", "iCE40UP5K-SG48", 12.0),
        ("tang-nano-9k", "GW1NR-LV9QN88PC6/I5", 27.0),
        ("tang-nano-20k", "GW2AR-LV18QN88C8/I7", 27.0),
    ],
)
def test_boards_have_their_parts_and_clocks(name: str, part: str, clock_mhz: float) -> None:
    board = boards.get(name)
    assert (board.part, board.clock_mhz, board.has_uart) == (part, clock_mhz, True)
    assert board.platform is not None


def test_names_are_the_boards() -> None:
    assert boards.names() == LISTED


def test_unknown_board_lists_the_known_ones() -> None:
    message = (
        f"board must be one of {', '.join(LISTED)} or a board of amaranth-boards with a "
        "UART, not 'arty-a8'; did you mean 'arty-a7'?"
    )
    with pytest.raises(OptionError, match=re.escape(message)):
        boards.get("arty-a8")
    with pytest.raises(OptionError, match=r"not 'zzz'; or name a part with --part"):
        boards.get("zzz")


@pytest.mark.parametrize(
    ("text", "name", "resources"),
    [
        ("xc7a35tcpg236-1", "xc7a35tcpg236-1", (20_800, 41_600, 90, 50)),
        ("XC7A100T-1CSG324C", "xc7a100tcsg324-1", (63_400, 126_800, 240, 135)),
        ("XC7A200T-2FBG676I", "xc7a200tfbg676-2", (134_600, 269_200, 740, 365)),
        ("xc7a100ticsg324-1l", "xc7a100ticsg324-1L", (63_400, 126_800, 240, 135)),
        ("xc7k325tffg900-2", "xc7k325tffg900-2", (203_800, 407_600, 840, 445)),
        ("xc7s50csga324-1IL", "xc7s50csga324-1IL", (32_600, 65_200, 120, 75)),
        ("xc7s6cpga196-2", "xc7s6cpga196-2", (3_750, 7_500, 10, 5)),
        ("xc7z020clg400-1", "xc7z020clg400-1", (53_200, 106_400, 220, 140)),
        ("xc7z007sclg225-1", "xc7z007sclg225-1", (14_400, 28_800, 66, 50)),
        ("xc7vx485tffg1761-2", "xc7vx485tffg1761-2", (303_600, 607_200, 2_800, 1_030)),
    ],
)
def test_parts_by_number(text: str, name: str, resources: tuple[int, ...]) -> None:
    board = boards.by_part(text)
    device = board.device
    assert board.part == name
    assert (device.lut, device.ff, device.dsp, device.bram) == resources
    assert board.platform is None


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("xc7a101tcsg324-1", "did you mean xc7a100t"),
        ("xc7a100t", "give 'xc7a100t' a package and a speed grade"),
        ("xc7a100tcsg324", "give 'xc7a100t' a package and a speed grade"),
        ("xc7a100tcsg324-4", "give 'xc7a100t' a package and a speed grade"),
    ],
)
def test_unknown_part_says_what_is_close(text: str, advice: str) -> None:
    with pytest.raises(OptionError, match=f"part must be a 7-series device.*{advice}"):
        boards.by_part(text)


def test_every_device_has_twice_as_many_flip_flops_as_luts() -> None:
    assert len(DEVICES) == 42
    assert all(device.ff == 2 * device.lut for device in DEVICES.values())


def watch_self_test(
    test: board_top.SelfTest, signals: Sequence[Signal], cycles: int
) -> list[tuple[int, ...]]:
    """The signals, cycle by cycle."""
    values: list[tuple[int, ...]] = []

    async def watch(ctx: SimulatorContext) -> None:
        async for _, _, *sample in ctx.tick().sample(*signals):
            values.append(tuple(sample))
            if len(values) == cycles:
                break

    simulator = Simulator(test)
    simulator.add_clock(1e-8)
    simulator.add_testbench(watch)
    simulator.run()
    return values


def run_self_test(core: StandIn, vectors: Vectors, cycles: int) -> list[tuple[int, ...]]:
    """alive, passed and failed, cycle by cycle."""
    test = board_top.SelfTest(core, vectors, blink_cycles=10)
    return watch_self_test(test, (test.alive, test.passed, test.failed), cycles)


def altered(vectors: Vectors, index: int) -> Vectors:
    outputs = list(vectors.outputs)
    outputs[index] ^= 1
    return Vectors(vectors.inputs, tuple(outputs), vectors.in_width, vectors.out_width)


def test_self_test_passes_and_stays_so() -> None:
    lamps = run_self_test(StandIn(), standin_vectors(20), 600)
    passed = [lamp[1] for lamp in lamps]
    assert not any(lamp[2] for lamp in lamps)
    # One round at full speed and one with stalls come first.
    first = passed.index(1)
    assert 40 < first < 200
    assert all(passed[first:])
    toggles = [i for i in range(1, 600) if lamps[i][0] != lamps[i - 1][0]]
    assert {b - a for a, b in pairwise(toggles)} == {10}


@pytest.mark.parametrize("index", [0, 19])
def test_self_test_fails_on_a_wrong_value_and_stays_so(index: int) -> None:
    lamps = run_self_test(StandIn(), altered(standin_vectors(20), index), 600)
    failed = [lamp[2] for lamp in lamps]
    assert all(failed[failed.index(1) :])
    assert not any(lamp[1] for lamp in lamps[failed.index(1) :])


@pytest.mark.parametrize("fault", ["unstable", "doubled"])
def test_self_test_stalls_enough_to_see_a_core_that_cannot_wait(fault: str) -> None:
    lamps = run_self_test(StandIn(fault=fault), standin_vectors(20), 200)
    failed = [lamp[2] for lamp in lamps]
    # The first round, at full speed, is good.
    assert failed.index(1) > 20


def test_self_test_keeps_an_offer_until_it_is_taken() -> None:
    core = StandIn()
    test = board_top.SelfTest(core, standin_vectors(20), blink_cycles=10)
    offers = watch_self_test(test, (core.in_valid, core.in_ready, core.in_data), 400)
    refused = [(now, later) for now, later in pairwise(offers) if now[:2] == (1, 0)]
    assert len(refused) > 20
    assert all(later[0] and later[2] == now[2] for now, later in refused)


def test_self_test_fails_when_nothing_comes_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(board_top, "PATIENCE", 64)

    class Mute(StandIn):
        def elaborate(self, platform: object) -> object:
            m = super().elaborate(platform)
            m.d.comb += self.out_valid.eq(0)
            return m

    assert run_self_test(Mute(), standin_vectors(20), 100)[-1] == (1, 0, 1)
    assert run_self_test(StandIn(), standin_vectors(20), 600)[-1][1:] == (1, 0)


BENCH = """\
`timescale 1ns / 1ps
module bench;
  reg clk = 0, rst_n = 0;
  wire alive, passed, failed;
  always #5 clk = ~clk;
  scm_top top(.clk100_0__io(clk), .rst_0__io(rst_n), .led_0__io(alive), .led_1__io(passed),
    .led_2__io(failed));
  initial begin
    #100 rst_n = 1;
    #30000 $display("passed=%b failed=%b", passed, failed);
    $finish;
  end
endmodule
"""


@pytest.mark.parametrize(
    ("change", "lamps"),
    [
        (lambda vectors: vectors, "passed=1 failed=0"),
        (lambda v: altered(v, 250), "passed=0 failed=1"),
    ],
)
def test_emitted_top_runs_in_icarus(
    tmp_path: Path, change: Callable[[Vectors], Vectors], lamps: str
) -> None:
    core = to_verilog(StandIn(), "scm_core")
    files = board_files(boards.get("nexys-a7"), core, change(standin_vectors(300)))
    sources = {"scm_core.v": core, "scm_top.v": files["scm_top.v"]}
    sources |= {"bench.v": BENCH, "primitives.v": PRIMITIVES}
    for name, text in sources.items():
        (tmp_path / name).write_text(text)
    build = ["iverilog", "-g2012", "-s", "bench", "-o", "top.vvp", *sources]
    subprocess.run(build, cwd=tmp_path, check=True, capture_output=True)
    run = subprocess.run(["vvp", "-n", "top.vvp"], cwd=tmp_path, capture_output=True, text=True)
    assert lamps in run.stdout, run.stdout
