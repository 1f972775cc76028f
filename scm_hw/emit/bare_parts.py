"""The core alone on a part without a board, in the tools of its maker or in open ones.

For the 7 series that is `vivado`. ECP5 and iCE40 are placed and routed with open tools, Cyclone V
and MAX 10 are a project of Quartus with virtual pins, Gowin is one of its own tools up to
synthesis.
"""

from __future__ import annotations

from typing import Any

from scm_hw.boards import Board
from scm_hw.boards.toolchains import trial_toolchain
from scm_hw.common.names import DEFAULT, Names
from scm_hw.common.templates import render
from scm_hw.emit.build_script import build_script
from scm_hw.emit.flows import Port, ports_of
from scm_hw.emit.vivado import out_of_context_files
from scm_hw.target import TECHNOLOGIES

_QUARTUS = {"cyclonev": "Cyclone V", "max10": "MAX 10"}


def bare_part_files(
    board: Board, core_verilog: str, names: Names = DEFAULT, handshake: str = "global"
) -> dict[str, str]:
    """Constraints, project and scripts, file name to text; nothing for parts of other makers."""
    if board.family == "xc7":
        return out_of_context_files(board, names, handshake)
    ports = [port for port in ports_of(names.core, core_verilog) if port.name != "clk"]
    if board.family in _QUARTUS:
        return _quartus(board, names.core, ports)
    if board.family == "gowin":
        return _gowin(board, names.core)
    return _trial(board, names.core, ports)


def _trial(board: Board, core: str, ports: list[Port]) -> dict[str, str]:
    top = f"{core}_trial"
    tools = trial_toolchain(board, core, top)
    if tools is None:
        return {}
    inputs, outputs = _sides(ports)
    harness = render(
        __package__,
        "trial.v",
        core=core,
        top=top,
        inputs=inputs,
        outputs=outputs,
        in_width=sum(port.width for port in inputs),
        out_width=sum(port.width for port in outputs),
    )
    return {f"{top}.v": harness, "build.sh": build_script(tools)}


def _quartus(board: Board, core: str, ports: list[Port]) -> dict[str, str]:
    words: dict[str, Any] = {"core": core, "ports": ports, "part": board.part}
    tech = TECHNOLOGIES[board.grade or ""]
    inputs, outputs = _sides(ports)
    constraints = render(
        __package__,
        "quartus.sdc",
        period=f"{1e3 / board.clock_mhz:.3f}",
        arrival=f"{tech.register * tech.scale:.3f}",
        setup=f"{tech.setup * tech.scale:.3f}",
        inputs=inputs,
        outputs=outputs,
    )
    return {
        f"{core}.qpf": f'PROJECT_REVISION = "{core}"\n',
        f"{core}.qsf": render(__package__, "quartus.qsf", family=_QUARTUS[board.family], **words),
        f"{core}.sdc": constraints,
        "check_slack.tcl": render(__package__, "quartus_slack.tcl", **words),
        "build.sh": render(__package__, "quartus.sh", **words),
    }


def _gowin(board: Board, core: str) -> dict[str, str]:
    period = f"{1e3 / board.clock_mhz:.3f}"
    return {
        "build.tcl": render(__package__, "gowin.tcl", core=core, part=board.part),
        f"{core}.sdc": f"create_clock -name clk -period {period} [get_ports {{clk}}]\n",
    }


def _sides(ports: list[Port]) -> tuple[list[Port], list[Port]]:
    """Inputs and outputs."""
    return [p for p in ports if p.direction == "in"], [p for p in ports if p.direction == "out"]
