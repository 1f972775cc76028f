"""Boards of amaranth-boards by their names, and tops for those that can have one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scm_hw import boards
from scm_hw.boards import by_name
from scm_hw.build import BuildOptions, build
from scm_hw.emit import board_files, uart_files
from scm_hw.errors import OptionError
from scm_hw.rtl import to_verilog
from scm_hw.rtl.uart import Hello
from tests.hw.commands import small_model
from tests.hw.standin import StandIn, standin_vectors

WITH_UART = [
    platform
    for found in by_name.platforms().values()
    for platform in found
    if by_name.has_uart(platform) and platform.__name__ != "QuickfeatherPlatform"
]
# One of each maker and tool.
SOME = ("de10_nano", "tang_nano_9k", "machxo3lfsk", "atlys", "ecpix585", "icestick")


def test_there_are_boards_to_choose_from() -> None:
    assert len(WITH_UART) > 45


@pytest.mark.parametrize(
    ("name", "board", "part"),
    [
        ("de10_nano", "de10_nano", "5CSEBA6-U23"),
        ("DE10NanoPlatform", "de10_nano", "5CSEBA6-U23"),
        ("DE10-Nano", "de10_nano", "5CSEBA6-U23"),
        ("ULX3S_12F_Platform", "ulx3s_12f", "LFE5U-12F-6BG381"),
        ("ulx3s_85f", "ulx3s-85f", "LFE5U-85F-6BG381"),
        ("ICEBreakerPlatform", "icebreaker", "iCE40UP5K-SG48"),
        ("genesys2", "genesys2", "xc7k325tffg900-2"),
        ("tang_nano_9k", "tang-nano-9k", "GW1NR-LV9QN88PC6/I5"),
        # Our own board stands for the file it mends.
        ("ArtyA7_100Platform", "arty-a7", "xc7a100tcsg324-1"),
        ("nexys4ddr", "nexys-a7", "xc7a100tcsg324-1"),
    ],
)
def test_a_board_by_module_or_class(name: str, board: str, part: str) -> None:
    found = boards.get(name)
    assert (found.name, found.part, found.has_uart) == (board, part, True)
    assert boards.get(found.name) == found


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("fomu_pvt", "board must have a UART and a clock in amaranth-boards, not 'fomu_pvt', whi"),
        ("ulx3s", "board must be one of ulx3s_12f, ulx3s_25f, ulx3s_45f, ulx3s_85f, not just 'u"),
        ("de10_nan", "not 'de10_nan'; did you mean 'de10_nano'"),
        ("ice40", "not 'ice40'; did you mean 'ice40_hx8k_b_evn'?"),
        ("quickfeather", "board must have a part of known size, not 'quickfeather' with 'ql-eos-"),
        ("", "not ''; or name a part with --part"),
        ("platform", "not 'platform'; or name a part with --part"),
    ],
)
def test_a_board_that_cannot_be_had_is_one_line(name: str, message: str) -> None:
    with pytest.raises(OptionError, match=re.escape(message)) as error:
        boards.get(name)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("platform", WITH_UART, ids=lambda p: p.__name__)
def test_every_board_with_a_uart_has_a_size(platform: by_name.Platform) -> None:
    board = boards.get(platform.__name__)
    assert board.device.lut > 500
    assert board.room.lut <= board.device.lut
    assert 1 < board.clock_mhz < 300


def tops(board: boards.Board) -> dict[str, str]:
    core = to_verilog(StandIn(), "scm_core")
    vectors = standin_vectors(20)
    hello = Hello(
        digest=bytes(32),
        model_digest=bytes(32),
        in_width=vectors.in_width,
        out_width=vectors.out_width,
        capacity=2048,
        latency=3,
        interval=1,
        clock_hz=round(board.clock_mhz * 1e6),
        baud=115_200,
        description_bytes=0,
    )
    return uart_files(board, core, hello, b"")


def check_top(board: boards.Board) -> None:
    """The top has the core, and both wires of the serial port are pins of it."""
    files = tops(board)
    text = files["scm_top.v"]
    assert re.search(r"^  scm_core ", text, re.M)
    header = re.search(r"^module scm_top\s*\((.*?)\);", text, re.M | re.S)
    assert header is not None
    assert {"uart_0__rx__io", "uart_0__tx__io"} <= set(re.findall(r"\w+", header[1]))
    others = "".join(t for name, t in files.items() if name != "scm_top.v")
    assert "uart_0__rx__io" in others, "no constraints"


@pytest.mark.parametrize("name", SOME)
def test_some_boards_get_a_top(name: str) -> None:
    check_top(boards.get(name))


GOOD = [p for p in WITH_UART if p.__name__ != "Supercon19BadgePlatform"]


@pytest.mark.long
@pytest.mark.parametrize("platform", GOOD, ids=lambda p: p.__name__)
def test_every_board_with_a_uart_gets_a_top(platform: by_name.Platform) -> None:
    check_top(boards.get(platform.__name__))


def test_a_board_file_that_fails_is_one_line() -> None:
    with pytest.raises(
        OptionError, match=r"not 'supercon19badge', whose file fails \(.*\); choose"
    ):
        tops(boards.get("supercon19badge"))


def test_lamps_of_other_boards() -> None:
    assert boards.get("ecpix585").lights == (
        ("rgb_led", 0, "g"),
        ("rgb_led", 0, "b"),
        ("rgb_led", 0, "r"),
    )
    assert boards.get("icesugar_nano").lights == (("led", 0, None), None, None)
    assert boards.get("cmod_a7_15").lights == (("led", 0, None), None, ("led", 1, None))
    assert boards.get("tangprimer20k").lights == (None, None, None)
    # Its only lamp is the wire of the serial port.
    assert boards.get("colorlight_5a75b_r7_0").lights == (None, None, None)


def test_the_colours_of_one_lamp_show_all_three_states() -> None:
    core = to_verilog(StandIn(), "scm_core")
    text = board_files(boards.get("ecpix585"), core, standin_vectors(20))["scm_top.v"]
    (test,) = re.findall(r" self_test \(([^;]*)\);", text)
    inside, _ = text.split("endmodule", 1)
    for colour, state in (("r", "failed"), ("g", "alive"), ("b", "passed")):
        (lamp,) = re.findall(rf" lamp0{colour} \(\s*\.o_1\((\w+)\)", inside)
        assert f".{state}({lamp})" in test, colour


def test_a_build_for_another_makers_board(tmp_path: Path) -> None:
    model = small_model(tmp_path / "m.npz", rows=3)
    how = BuildOptions(out=tmp_path / "out", simulators=())
    report = build(model, boards.get("de10_nano"), None, how).report
    assert report["resources"]["source"] == "estimate"
    assert report["implementation"] is None
    assert report["device"]["family"] == "lut4"
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"scm_top.v", "m_core.v", "scm_top.qsf", "build_scm_top.sh", "report.html"} <= names
    assert "build.tcl" not in names
