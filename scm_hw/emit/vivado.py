"""What goes to Vivado: the board top, its constraints, and scripts that run as they are.

`vivado -mode batch -source build.tcl` makes a bitstream with reports of timing, utilisation and
power; `vivado -mode batch -source project.tcl` makes a project for the GUI. Both run in the build's
folder, beside the core and the test bench. A design that misses its clock ends `build.tcl` with
exit code 1 and no bitstream, unless `-tclargs allow_negative_slack` is given.
"""

from __future__ import annotations

import re
from typing import Any

from amaranth.hdl import Elaboratable

from scm_hw.boards import Board
from scm_hw.common.names import DEFAULT, Names
from scm_hw.common.templates import render
from scm_hw.emit.plan import plan_files
from scm_hw.emit.testbench import DUT
from scm_hw.rtl.ports import INSTANCE
from scm_hw.sim.vectors import INPUTS, OUTPUTS
from scm_hw.target import XC7
from scm_hw.tools.toolchain import TOP

# Switching activity in the core; builds without simulation have none.
ACTIVITY = "activity.saif"

# Given after -tclargs, it makes a design that misses its clock a warning.
ALLOW = "allow_negative_slack"


def core_path(top: str, handshake: str = "global") -> tuple[str, ...]:
    """The instances that the core lies in, in a board top; one that can't wait has a queue."""
    if top == "uart":
        return ("server", "core", INSTANCE)
    queued = ("core",) if handshake == "none" else ()
    return ("self_test", "core", *queued, INSTANCE)


def vivado_files(
    board: Board, core_verilog: str, top: Elaboratable, names: Names = DEFAULT
) -> dict[str, str]:
    """The top around the core, and what Vivado needs to build it."""
    read_activity = _script("read_activity.tcl", names).rstrip("\n")
    planned = plan_files(board, core_verilog, top, names.core, script_after_route=read_activity)
    verilog = planned[f"{TOP}.v"]
    return {
        f"{TOP}.v": verilog,
        f"{TOP}.xdc": planned[f"{TOP}.xdc"] + _pin_constraints(verilog),
        "build.tcl": _checked(planned[f"{TOP}.tcl"], names),
        "project.tcl": _project(board, names, TOP, [f"{names.core}.v", f"{TOP}.v"], f"{TOP}.xdc"),
    }


def _checked(script: str, names: Names) -> str:
    """The platform's script, with a check of slack right before it writes the bitstream.

    The platform has a place for such text, but some boards need it for settings of their own.
    """
    before, step, after = script.partition("write_bitstream ")
    assert step and "_design\n" not in after
    return before + _script("check_slack.tcl", names) + step + after


def _pin_constraints(verilog: str) -> str:
    """Paths to and from pins: nothing outside the chip shares its clock."""
    module = re.search(rf"^module {TOP}\(.*?^endmodule", verilog, re.MULTILINE | re.DOTALL)
    assert module is not None
    ports = re.findall(r"^  (input|output) (?:\[.*\] )?(\w+);", module[0], re.MULTILINE)
    inputs = [name for side, name in ports if side == "input" and not name.startswith("clk")]
    outputs = [name for side, name in ports if side == "output"]
    lines = ["# The reset button is synchronised before it is used, and so is received data."]
    lines += [f"set_false_path -from [get_ports {name}]" for name in inputs]
    lines += [
        "# Lamps are for eyes, and sent data has a bit's time to settle: no clock goes along."
    ]
    lines += [f"set_false_path -to [get_ports {name}]" for name in outputs]
    return "\n".join(lines) + "\n"


def out_of_context_files(
    board: Board, names: Names = DEFAULT, handshake: str = "global"
) -> dict[str, str]:
    """Constraints and scripts for the core alone, to be placed in a design of the user's own."""
    core = names.core
    constraint = render(
        __package__,
        "core.xdc",
        period=f"{1e3 / board.clock_mhz:.3f}",
        # As in the schedule, samples come from a register.
        arrival=f"{XC7.register:.3f}",
        setup=f"{XC7.setup:.3f}",
        ready=handshake != "none",
    )
    return {
        f"{core}.xdc": constraint,
        "build.tcl": _script("out_of_context.tcl", names, part=board.part, core=core),
        "project.tcl": _project(
            board, names, core, [f"{core}.v"], f"{core}.xdc", out_of_context=True
        ),
    }


def _project(
    board: Board,
    names: Names,
    top: str,
    sources: list[str],
    constraints: str,
    *,
    out_of_context: bool = False,
) -> str:
    return _script(
        "project.tcl",
        names,
        part=board.part,
        top=top,
        sources=" ".join(sources),
        constraints=constraints,
        bench=names.testbench,
        testbench=names.testbench_file,
        inputs=INPUTS,
        outputs=OUTPUTS,
        out_of_context=out_of_context,
    )


def _script(name: str, names: Names, **words: Any) -> str:
    """A script, with the words that several of them have in common."""
    scope = f"{names.testbench}/{DUT}"
    return render(__package__, name, allow=ALLOW, activity=ACTIVITY, scope=scope, **words)
