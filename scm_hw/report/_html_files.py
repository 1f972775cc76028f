"""The files of a build, and the way into Vivado."""

from __future__ import annotations

from typing import Any

from scm_hw.common.names import Names
from scm_hw.design import Design
from scm_hw.emit.interface import IP_SCRIPT, MAPPED
from scm_hw.emit.vivado import ACTIVITY
from scm_hw.emit.zynq import REACHED
from scm_hw.report._html_elements import Section, el, facts, section


def vivado_section(report: dict[str, Any], design: Design) -> Section:
    """The commands for Vivado, and what each file of the folder is."""
    if design.board.family != "xc7":
        return _files_section(report, design)
    has_board = design.board.platform is not None
    top = "scm_top" if has_board else design.names.core
    made = "a bitstream" if has_board else "the placed and routed core, out of context,"
    if _in_block_design(design):
        made = "a block design with the processors, its bitstream, .hwh and .xsa,"
    lines = [
        ("build.tcl", f"{made} with reports of timing, utilisation and power", ""),
        (
            "project.tcl",
            "a project for the GUI, with the test bench in it",
            f"vivado project/{top}.xpr",
        ),
    ]
    steps = [
        el(
            "li",
            f"For {what}, run in this folder:",
            el(
                "pre",
                el("code", f"vivado -mode batch -source {script}\n{then}".strip()),
                tabindex=0,
            ),
        )
        for script, what, then in lines
    ]
    return section(
        "vivado",
        "Opening it in Vivado",
        el("ol", *steps),
        el("h3", "Files"),
        facts((el("a", file, href=file), what) for file, what in _files(report, design)),
    )


def _files_section(report: dict[str, Any], design: Design) -> Section:
    """What there is where Vivado has no part in it."""
    tools = design.toolchain
    if tools is not None:
        words = (
            f"build.sh makes {tools.bitstream} once more, with the open tools that this build "
            "used: pip install 'scm-hw[open]'."
        )
    elif design.board.platform is not None:
        words = "The build_scm_top scripts are Amaranth's, for the tools of the device's maker."
    else:
        words = _BARE[design.board.family]
    return section(
        "files",
        "Files",
        el("p", words),
        facts((el("a", file, href=file), what) for file, what in _files(report, design)),
    )


_OPEN = (
    "build.sh places and routes the core between registers, with open tools, and fails where it "
    "misses its clock: pip install 'scm-hw[open]'."
)
_QUARTUS = "build.sh compiles the core in Quartus, and fails where it misses its clock."
# What there is for a part without a board.
_BARE = {
    "ecp5": _OPEN,
    "ice40": _OPEN,
    "cyclonev": _QUARTUS,
    "max10": _QUARTUS,
    "gowin": "gw_sh build.tcl synthesises the core in Gowin's tools.",
    "lut4": "There is no board top for another clock than the board's.",
}


def _in_block_design(design: Design) -> bool:
    return design.board.has_processors and design.options.interface in REACHED


_ACTIVITY_FILE = (ACTIVITY, "what switches in the core on real data, for estimates of power")
_TOPS = {
    "uart": "the board top: answers over the serial port",
    "self-test": "the board top: tests itself, result on the LEDs",
}


_SIMULATORS = (("questa", "Questa"), ("riviera", "Riviera-PRO"), ("xsim", "Vivado's simulator"))


def _flows(names: Names) -> list[tuple[str, str]]:
    scripts = ((f"sim_{name}.sh", f"runs the test bench in {tool}") for name, tool in _SIMULATORS)
    return [
        (f"{names.prefix}.core", "the core for FuseSoC"),
        (f"{names.prefix}.vhd", "its component for VHDL, with an instantiation"),
        (names.litex_module, "its module for LiteX, with streams or registers"),
        *scripts,
    ]


def _files(report: dict[str, Any], design: Design) -> list[tuple[str, str]]:
    has_board, simulated = design.board.platform is not None, report["checks"]["test_bench"]
    board = [("scm_top.v", _TOPS[design.options.top])] if has_board else []
    names = design.names
    wrapper = names.wrapper(design.options.interface)
    bus = []
    if design.options.interface != "stream":
        bus = [(f"{wrapper}.v", "the bus around the core")]
    if design.options.interface in ("axis", "axil"):
        bus += [(IP_SCRIPT, "packages it as Vivado IP")]
    if design.options.interface in MAPPED:
        bus += [
            (names.registers_header, "addresses and bits of its registers, for C"),
            (names.driver_header, "its driver in C"),
            (names.driver_source, "the same, for bare metal and Linux"),
            (names.uio_header, "its driver from a Linux process"),
            (names.uio_source, "the same, by UIO or physical memory"),
        ]
    if design.options.interface == "axil" or _in_block_design(design):
        bus.append((names.pynq_module, "its driver for PYNQ"))
    if _in_block_design(design) and design.adaptive is None:
        bus.append((names.notebook, "a notebook for the board: RMSE, PC against hardware"))
        if "rows" in report:
            bus.append((names.evaluation, "evaluation rows for it, with the PC's predictions"))
    return [
        (f"{names.core}.v", "the core"),
        *board,
        *bus,
        *_tool_files(design),
        (names.testbench_file, "self-checking test bench, for Vivado's simulator and Icarus alike"),
        ("vectors_in.hex", "its input words"),
        ("vectors_out.hex", "the output words it expects"),
        *([_ACTIVITY_FILE] if simulated and design.board.family == "xc7" else []),
        (names.formats_header, "the formats of the fields, for C"),
        (names.formats_module, "the same for Python"),
        *_to_take_along(design),
        *_flows(names),
        ("report.json", "all figures of this page, for programs"),
        ("digest.txt", "the digest of model, options and tools"),
    ]


def _to_take_along(design: Design) -> list[tuple[str, str]]:
    if design.adaptive is not None:
        return []
    names = design.names
    return [
        (names.python_model, "the machine in plain Python"),
        ("cocotb/Makefile", "runs a test bench under cocotb, which needs nothing else"),
        (f"cocotb/{names.cocotb_module}.py", "that test bench"),
    ]


def _tool_files(design: Design) -> list[tuple[str, str]]:
    """Constraints and scripts."""
    found, tools = [], design.toolchain
    if design.board.family == "xc7":
        top = "scm_top" if design.board.platform is not None else design.names.core
        found += [
            (f"{top}.xdc", "constraints"),
            ("build.tcl", "synthesis, implementation and reports"),
            ("project.tcl", "the project for the GUI"),
        ]
    found += _project_files(design)
    if tools is not None:
        found += [
            (tools.sources[-1], "constraints for the open tools"),
            ("build.sh", "makes the bitstream with open tools"),
        ]
    return found


def _project_files(design: Design) -> list[tuple[str, str]]:
    """Of a part without a board."""
    core, family = design.names.core, design.board.family
    if design.board.platform is not None:
        return []
    if family in ("ecp5", "ice40"):
        return [
            (f"{core}_trial.v", "the core between registers, on three pins"),
            ("build.sh", "places and routes that with open tools"),
        ]
    if family in ("cyclonev", "max10"):
        return [
            (f"{core}.qpf", "a project of Quartus"),
            (f"{core}.qsf", "its settings"),
            (f"{core}.sdc", "its constraints"),
            ("check_slack.tcl", "whether the clock is met"),
            ("build.sh", "runs Quartus and that"),
        ]
    if family == "gowin":
        return [(f"{core}.sdc", "constraints"), ("build.tcl", "synthesis in Gowin's tools")]
    return []
