"""Parts of all makers without a board: their numbers, and the project of each maker's tools."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tkinter
from pathlib import Path

import pytest

from scm_hw import boards
from scm_hw.build import Build, BuildOptions, build
from scm_hw.design import Options, compile_model
from scm_hw.errors import OptionError
from scm_hw.target.part_numbers import EXAMPLES
from scm_hw.target.resources import LUT_ERROR
from scm_hw.tools.icarus import compile_verilog
from scm_hw.tools.synthesis import synthesise
from scm_hw.verify import lint
from tests.hw.commands import quick_build, small_model
from tests.support import random_model


@pytest.mark.parametrize(
    ("text", "part", "device", "luts", "grade"),
    [
        ("LFE5U-25F-6BG256C", "LFE5U-25F-6BG256", "LFE5U-25F", 24_288, "ecp5-6"),
        ("lfe5um5g-45f-8bg381", "LFE5UM5G-45F-8BG381", "LFE5UM5G-45F", 43_848, "ecp5-8"),
        ("ICE40HX8K-CT256", "iCE40HX8K-CT256", "iCE40HX8K", 7_680, "ice40-hx"),
        ("iCE40UP5K-SG48ITR", "iCE40UP5K-SG48", "iCE40UP5K", 5_280, "ice40-up"),
        ("5CSEBA6U23I7", "5CSEBA6U23I7", "5CSEBA6", 83_820, "cyclonev-7"),
        ("5CGXFC5C6F27C7N", "5CGXFC5C6F27C7N", "5CGXFC5", 58_160, "cyclonev-7"),
        ("5CEBA4F23C8", "5CEBA4F23C8", "5CEBA4", 36_960, "cyclonev-8"),
        ("10M08SAE144C8G", "10M08SAE144C8G", "10M08", 8_064, "max10-8"),
        ("10m50daf484c7g", "10M50DAF484C7G", "10M50", 49_760, "max10-7"),
        ("GW1NR-LV9QN88PC6/I5", "GW1NR-LV9QN88PC6/I5", "GW1NR-9", 8_640, "gw1n"),
        ("GW2AR-LV18QN88C7/I6", "GW2AR-LV18QN88C7/I6", "GW2AR-18", 20_736, "gw2a-slow"),
    ],
)
def test_part_numbers(text: str, part: str, device: str, luts: int, grade: str) -> None:
    found = boards.by_part(text)
    assert (found.part, found.device.name, found.grade) == (part, device, grade)
    assert found.device.lut == luts and found.platform is None
    assert boards.by_part(found.part) == found


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("LFE5U-26F-6BG256", "did you mean LFE5U-25F"),
        ("lfe5u-25f", "give 'LFE5U-25F' a package and a speed grade"),
        ("5CSEBA6", "give '5CSEBA6' a package and a speed grade"),
        ("10M07SAE144C8G", "did you mean 10M08SAE144C8G"),
        ("GW1N-LV3QN48C6/I5", "did you mean GW1N"),
        # It has one speed.
        ("LFE5UM5G-45F-6BG381", "did you mean LFE5U-"),
        ("xc7a101tcsg324-1", "did you mean xc7a100t"),
        ("zzz", "see the name in the maker's part list"),
    ],
)
def test_an_unknown_part_is_one_line(text: str, advice: str) -> None:
    with pytest.raises(OptionError) as caught:
        boards.by_part(text)
    message = str(caught.value)
    assert message.startswith("part must be a ") and f"not {text!r}; " in message
    assert advice in message and "\n" not in message


def test_the_examples_are_parts() -> None:
    assert len({boards.by_part(text).family for text in EXAMPLES}) == len(EXAMPLES)


PROJECT = {
    "LFE5U-25F-6BG256C": {"build.sh", "pump_core_trial.v"},
    "iCE40HX1K-TQ144": {"build.sh", "pump_core_trial.v"},
    "5CSEBA6U23I7": {"build.sh", "check_slack.tcl", *(f"pump_core.q{x}f" for x in "ps")},
    "10M08SAE144C8G": {"build.sh", "check_slack.tcl", *(f"pump_core.q{x}f" for x in "ps")},
    "GW1NR-LV9QN88PC6/I5": {"build.tcl", "pump_core.sdc"},
}


def built(folder: Path, part: str, clock: float = 40.0, **options: object) -> Build:
    model = small_model(folder / "pump.npz", outputs=2)
    how = BuildOptions(out=folder / "out", simulators=(), synthesis=False)
    board = boards.by_part(part, clock)
    return build(model, board, Options(clock_mhz=clock, **options), how)  # type: ignore[arg-type]


@pytest.mark.parametrize("part", PROJECT)
@pytest.mark.parametrize("handshake", ["global", "none"])
def test_a_part_has_its_makers_project(part: str, handshake: str, tmp_path: Path) -> None:
    done = built(tmp_path, part, handshake=handshake)
    names = {path.name for path in done.folder.iterdir()}
    assert PROJECT[part] <= names
    assert ("pump_core.sdc" in names) == ("trial" not in " ".join(PROJECT[part]))
    page = (done.folder / "report.html").read_text()
    assert all(f'href="{name}"' in page for name in PROJECT[part])
    if "pump_core_trial.v" in names:
        sources = [done.folder / f"pump_core{x}.v" for x in ("_trial", "")]
        lint(sources, "pump_core_trial")
        how = {"cwd": tmp_path, "log": tmp_path / "log", "timeout": 60.0}
        compile_verilog(sources, tmp_path / "trial", top="pump_core_trial", **how)  # type: ignore
        assert not (tmp_path / "log").read_text()
    else:
        script = "build.tcl" if "build.tcl" in names else "pump_core.qsf"
        assert part in tcl(done.folder, script)


QUARTUS = """
set said {}
# In a project, brackets are of names.
proc unknown {name args} { return "\\[$name\\]" }
proc take {name options words} {
  lappend ::said {*}$words
  foreach word $words {
    if {[string match -* $word] && $word ni $options} { error "$name: $word" }
  }
}
proc known {name options} { proc $name args "take $name {$options} \\$args" }
known set_global_assignment {-name}
known set_instance_assignment {-name -to}
known set_device {}
known add_file {-type}
known set_option {-top_module -verilog_std -output_base_name}
known run {}
known project_open {}
known create_timing_netlist {}
known read_sdc {}
known update_timing_netlist {}
known set_operating_conditions {}
known project_close {}
proc get_available_operating_conditions {} { return {slow fast} }
proc foreach_in_collection {name list body} { uplevel 1 [list foreach $name $list $body] }
proc get_timing_paths {check count number} { return $::paths }
proc get_path_info {path what} { return $path }
proc qexit {how} { error "ended with $how" }
"""


def tcl(folder: Path, script: str, paths: str = "0.5") -> str:
    """All words that the script gave to commands of Quartus or Gowin; their files must be there."""
    interpreter = tkinter.Tcl()
    interpreter.eval(f"cd {{{folder}}}\n{QUARTUS}\nset paths {{{paths}}}\nsource {script}")
    said = str(interpreter.eval("set said"))
    for name in re.findall(r"\S+\.(?:v|sdc)\b", said):
        assert (folder / name).exists(), name
    return said


@pytest.mark.parametrize(("paths", "late"), [("0.5", False), ("-0.01", True), ("", True)])
def test_quartus_fails_where_the_clock_is_missed(paths: str, late: bool, tmp_path: Path) -> None:
    folder = built(tmp_path, "5CEBA4F23C7").folder
    if late:
        with pytest.raises(tkinter.TclError, match="ended with -error"):
            tcl(folder, "check_slack.tcl", paths)
    else:
        assert "pump_core" in tcl(folder, "check_slack.tcl", paths)
    for code in (0, 3):
        for name, ends in (("quartus_sh", 0), ("quartus_sta", code)):
            fake = tmp_path / name
            fake.write_text(f"#!/bin/sh\ntest -f {folder}/pump_core.qsf && exit {ends}\n")
            fake.chmod(0o755)
        environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
        done = subprocess.run(["sh", folder / "build.sh"], env=environment, timeout=60, check=False)
        assert done.returncode == code


@pytest.mark.parametrize(
    ("part", "clock", "code"),
    [
        ("iCE40HX1K-TQ144", 20.0, 0),
        pytest.param("iCE40HX1K-TQ144", 500.0, 1, marks=pytest.mark.long),
        pytest.param("LFE5U-12F-6BG256", 40.0, 0, marks=pytest.mark.long),
        pytest.param("LFE5U-12F-6BG256", 590.0, 1, marks=pytest.mark.long),
    ],
)
def test_open_tools_route_the_core_alone(
    part: str, clock: float, code: int, tmp_path: Path
) -> None:
    """Compiled for a slow clock, and routed for one that may be too fast."""
    folder = built(tmp_path, part, 20.0).folder
    script = (folder / "build.sh").read_text()
    assert "--freq 20" in script
    (folder / "build.sh").write_text(script.replace("--freq 20", f"--freq {clock:g}"))
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    argv = ["sh", "build.sh"]
    done = subprocess.run(
        argv, cwd=folder, env=environment, capture_output=True, text=True, timeout=600
    )
    assert min(done.returncode, 1) == code, done.stderr[-2000:]
    assert bool([*folder.glob("*_trial.bi[tn]")]) == (code == 0)


@pytest.mark.parametrize("part", ["5CSEBA6U23I7", "GW1NR-LV9QN88PC6/I5"])
def test_yosys_counts_what_was_estimated(part: str) -> None:
    board = boards.by_part(part, 50.0)
    design = compile_model(random_model(3, features=4, layers=(16,)), board, Options(fold="none"))
    found = synthesise({"scm_core.v": design.verilog}, "scm_core", board.family)
    assert abs(design.estimate.lut / found.lut - 1) < LUT_ERROR
    assert (design.estimate.ff, design.estimate.dsp) == pytest.approx(
        (found.ff, found.dsp), rel=0.1
    )


def test_there_are_no_models_of_cyclone_v(tmp_path: Path) -> None:
    model = small_model(tmp_path / "m.npz")
    how = BuildOptions(out=tmp_path / "out", gate_sim=True)
    with pytest.raises(OptionError, match=r"^gate-level simulation must have models of .* Cyclone"):
        build(model, boards.by_part("5CEBA4F23C7"), None, how)
    with pytest.raises(OptionError, match=r"to be synthesised here, not '10M08SAE144C8G'"):
        build(model, boards.by_part("10M08SAE144C8G"), None, how)
    assert not (tmp_path / "out").exists()


def test_a_board_at_another_clock_is_a_part(tmp_path: Path) -> None:
    model = small_model(tmp_path / "m.npz")
    how = BuildOptions(out=tmp_path / "out", simulators=(), synthesis=False)
    build(model, boards.get("tang-nano-9k").at_clock(50.0), Options(clock_mhz=50.0), how)
    assert "create_clock -name clk -period 20.000" in (tmp_path / "out" / "m_core.sdc").read_text()


def test_tang_nano_has_the_files_of_open_tools(tmp_path: Path) -> None:
    model = small_model(tmp_path / "m.npz")
    for board, die, pin in (("tang-nano-9k", "GW1N-9C", 52), ("tang-nano-20k", "GW2A-18C", 4)):
        folder = quick_build(model, tmp_path / board, board).folder
        script = (folder / "build.sh").read_text()
        assert f"--device {boards.get(board).part} --vopt family={die} " in script
        assert f"gowin_pack -d {die} -o scm_top.fs" in script
        assert f'IO_LOC "clk27_0__io" {pin};' in (folder / "scm_top.cst").read_text()
