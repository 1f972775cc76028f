"""What goes to Vivado: the board top, its constraints, and scripts that run as they are.

`vivado -mode batch -source build.tcl` makes a bitstream with reports of timing, utilisation and
power; `vivado -mode batch -source project.tcl` makes a project for the GUI. Both run in the build's
folder, beside `scm_core.v` and the test bench. A design that misses its clock ends `build.tcl` with
exit code 1 and no bitstream, unless `-tclargs allow_negative_slack` is given.
"""

from __future__ import annotations

import re
from string import Template

from amaranth.hdl import Elaboratable

from scm_hw.boards import Board
from scm_hw.emit.plan import plan_files
from scm_hw.emit.testbench import DUT, TESTBENCH
from scm_hw.emit.toolchains import CORE, TOP
from scm_hw.sim.vectors import INPUTS, OUTPUTS
from scm_hw.target import XC7

# What switches in the core; builds without simulation have none.
ACTIVITY = "activity.saif"

# Given after -tclargs, it makes a design that misses its clock a warning.
ALLOW = "allow_negative_slack"
_CHECK_SLACK = f"""\
set late 0
foreach {{kind delay}} {{set-up max hold min}} {{
  set path [get_timing_paths -delay_type $delay -max_paths 1]
  set slack [expr {{[llength $path] ? [get_property SLACK $path] : ""}}]
  puts "worst $kind slack: $slack ns"
  # Without a number nothing was checked.
  if {{![string is double -strict $slack] || $slack < 0}} {{
    incr late
    report_timing -delay_type $delay -max_paths 1
  }}
}}
if {{$late && !([info exists argv] && "{ALLOW}" in $argv)}} {{
  puts "ERROR: slack must not be negative; lower --clock, or give -tclargs {ALLOW}"
  exit 1
}}
"""
_READ_ACTIVITY = f"""\
if {{[file exists {ACTIVITY}]}} {{ read_saif -strip_path {"/".join(DUT)} {ACTIVITY} }}"""


def core_path(top: str) -> tuple[str, ...]:
    """The instances that the core lies in, in a board top."""
    return ("server" if top == "uart" else "self_test", "core", CORE)


def vivado_files(board: Board, core_verilog: str, top: Elaboratable) -> dict[str, str]:
    """The top around `scm_core.v`, and what Vivado needs to build it."""
    planned = plan_files(board, core_verilog, top, script_after_route=_READ_ACTIVITY)
    verilog = planned[f"{TOP}.v"]
    return {
        f"{TOP}.v": verilog,
        f"{TOP}.xdc": planned[f"{TOP}.xdc"] + _pin_constraints(verilog),
        "build.tcl": _checked(planned[f"{TOP}.tcl"]),
        "project.tcl": _project(board, TOP, [f"{CORE}.v", f"{TOP}.v"], f"{TOP}.xdc"),
    }


def _checked(script: str) -> str:
    """The platform's script, with a check of slack right before it writes the bitstream.

    The platform has a place for such text, but some boards need it for settings of their own.
    """
    before, step, after = script.partition("write_bitstream ")
    assert step and "_design\n" not in after
    return before + _CHECK_SLACK + step + after


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


def out_of_context_files(board: Board) -> dict[str, str]:
    """Constraints and scripts for the core alone, to be placed in a design of the user's own."""
    constraint = _CORE_CONSTRAINTS.substitute(
        period=f"{1e3 / board.clock_mhz:.3f}",
        arrival=f"{XC7.register:.3f}",
        setup=f"{XC7.setup:.3f}",
    )
    return {
        f"{CORE}.xdc": constraint,
        "build.tcl": _OUT_OF_CONTEXT.substitute(
            part=board.part, core=CORE, check=_CHECK_SLACK, activity=_READ_ACTIVITY
        ),
        "project.tcl": _project(board, CORE, [f"{CORE}.v"], f"{CORE}.xdc", _CORE_IS_A_MODULE),
    }


def _project(board: Board, top: str, sources: list[str], constraints: str, extra: str = "") -> str:
    return _PROJECT.substitute(
        part=board.part,
        top=top,
        sources=" ".join(sources),
        constraints=constraints,
        testbench=TESTBENCH,
        inputs=INPUTS,
        outputs=OUTPUTS,
        extra=extra,
        scope="/".join(DUT),
    )


_CORE_CONSTRAINTS = Template("""\
create_clock -name clk -period $period [get_ports clk]
# Registers of the same clock drive the inputs and take the outputs, near by: their clock-to-out
# with a net, and their setup.
set_input_delay -clock clk $arrival [get_ports {rst in_valid in_data[*] out_ready}]
set_output_delay -clock clk $setup [get_ports {in_ready out_valid out_data[*]}]
""")

_OUT_OF_CONTEXT = Template("""\
# The core alone, placed and routed out of context: vivado -mode batch -source build.tcl
create_project -in_memory -part $part
read_verilog $core.v
read_xdc -mode out_of_context $core.xdc
synth_design -top $core -part $part -mode out_of_context
report_timing_summary -file ${core}_timing_synth.rpt
report_utilization -file ${core}_utilization_synth.rpt
write_checkpoint -force ${core}_synth.dcp
opt_design
place_design
phys_opt_design
route_design
write_checkpoint -force ${core}_route.dcp
report_utilization -hierarchical -file ${core}_utilization.rpt
report_drc -file ${core}_drc.rpt
report_timing_summary -max_paths 10 -file ${core}_timing.rpt
$activity
report_power -file ${core}_power.rpt
${check}quit
""")

_CORE_IS_A_MODULE = """\
set_property -name {STEPS.SYNTH_DESIGN.ARGS.MORE OPTIONS} -value {-mode out_of_context} \\
    -objects [get_runs synth_1]
"""

# The hex files are named in full to the test bench, since Vivado runs it in a folder of its own.
_PROJECT = Template("""\
# A project for the GUI: vivado -mode batch -source project.tcl, then vivado project/$top.xpr
set folder [file dirname [file normalize [info script]]]
cd $$folder
create_project -force $top project -part $part
add_files -fileset sources_1 {$sources}
set_property top $top [get_filesets sources_1]
add_files -fileset constrs_1 {$constraints}
add_files -fileset sim_1 {$testbench $inputs $outputs}
set_property top tb_scm_core [get_filesets sim_1]
set_property -name {xsim.simulate.runtime} -value {all} -objects [get_filesets sim_1]
set_property -name {xsim.simulate.xsim.more_options} \\
    -value "-testplusarg inputs=$$folder/$inputs -testplusarg outputs=$$folder/$outputs" \\
    -objects [get_filesets sim_1]
# The simulator's own record of what switches, for read_saif -strip_path $scope.
set_property -name {xsim.simulate.saif_scope} -value {$scope} -objects [get_filesets sim_1]
set_property -name {xsim.simulate.saif_all_signals} -value {true} -objects [get_filesets sim_1]
set_property -name {xsim.simulate.saif} -value "$$folder/xsim.saif" -objects [get_filesets sim_1]
${extra}update_compile_order -fileset sources_1
update_compile_order -fileset sim_1
close_project
""")
