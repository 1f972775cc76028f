"""The Vivado scripts, run by a Tcl interpreter that knows Vivado's commands by name and options."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from scm_hw import boards
from scm_hw.emit import board_files, interface_files, out_of_context_files, uart_files
from scm_hw.emit import testbench_files as bench_files
from scm_hw.emit.vivado import core_path
from scm_hw.rtl import to_verilog
from scm_hw.rtl.ports import CorePorts
from scm_hw.verify import lint
from tests.hw.standin import StandIn, standin_hello, standin_vectors

XDC = "scm_top.xdc"
VIVADO_BOARDS = [
    name
    for name in boards.names()
    if boards.get(name).family == "xc7" and boards.get(name).platform is not None
]
# Options with a value end with a colon. Anything else that begins with a dash is an error, as is a
# file that isn't there and a command that isn't listed.
STUB = r"""
set called {}
set planted(max) 0.5
set planted(min) 0.1
set argv {}
set ports {}
set constrained {}
set clocks {}
set properties {
  top name display_name description version supported_families value slave_memory_map_ref
  usage range width address_offset size access
  HD.CLK_SRC LOC IOSTANDARD PULLUP SLEW DRIVE INTERNAL_VREF CFGBVS
  CONFIG_VOLTAGE BITSTREAM.CONFIG.SPI_BUSWIDTH {STEPS.SYNTH_DESIGN.ARGS.MORE OPTIONS}
  xsim.simulate.runtime xsim.simulate.xsim.more_options xsim.simulate.saif_scope
  xsim.simulate.saif xsim.simulate.saif_all_signals
}
namespace eval ipx {}
set commands {
  create_project {-force -name: -part: -in_memory}
  add_files {-fileset:} read_verilog {} read_xdc {-mode:}
  set_property {-name: -value: -objects:}
  current_design {} get_iobanks {} get_filesets {} get_runs {}
  get_ports {} get_nets {} get_pin {} get_clocks {-of_objects:}
  get_cells {-quiet -hier -filter:} get_pins {-of: -filter:}
  get_property {} get_timing_paths {-delay_type: -max_paths:} all_fanin {-flat -startpoints_only}
  create_clock {-name: -period:} set_false_path {-from: -to:}
  set_max_delay {-datapath_only -from: -to:} set_input_delay {-clock:} set_output_delay {-clock:}
  read_saif {-strip_path:}
  synth_design {-top: -part: -mode:} opt_design {} place_design {} phys_opt_design {}
  route_design {} write_checkpoint {-force} write_bitstream {-force -bin_file}
  write_cfgmem {-force -format: -interface: -size: -loadbit: -file:}
  report_timing {-delay_type: -max_paths:}
  report_timing_summary {-file: -datasheet -max_paths: -no_header -no_detailed_paths}
  report_utilization {-hierarchical -file:} report_io {-file:} report_power {-file:}
  report_control_sets {-verbose -file:} report_clock_utilization {-file:}
  report_route_status {-file:} report_drc {-file:} report_methodology {-file:}
  update_compile_order {-fileset:} close_project {} quit {}
  ipx::package_project {-root_dir: -vendor: -library: -taxonomy: -import_files -force}
  ipx::current_core {} ipx::associate_bus_interfaces {-busif: -clock: -reset:}
  ipx::infer_bus_interface {} ipx::add_bus_parameter {}
  ipx::get_bus_interfaces {-quiet -of_objects:} ipx::get_memory_maps {-quiet -of_objects:}
  ipx::add_memory_map {} ipx::get_address_blocks {-quiet -of_objects:} ipx::add_address_block {}
  ipx::add_register {}
  ipx::update_checksums {} ipx::check_integrity {} ipx::save_core {}
}
proc vivado {name options arguments} {
  lappend ::called $name
  set words {}
  while {[llength $arguments]} {
    set arguments [lassign $arguments word]
    if {[string match {-[a-z]*} $word]} {
      if {"$word:" in $options} {
        set arguments [lassign $arguments value]
        set given($word) $value
      } elseif {$word ni $options} { error "$name has no option $word" }
    } else { lappend words $word }
  }
  if {$name in {add_files read_verilog read_xdc read_saif}} {
    foreach file [join $words] {
      if {![file exists $file]} { error "$name: no file $file" }
      if {[file extension $file] eq ".xdc"} { uplevel #0 [list source $file] }
    }
  }
  if {$name eq "set_property"} {
    set property [expr {[info exists given(-name)] ? $given(-name) : [lindex $words 0]}]
    if {$property ni $::properties} { error "no property $property" }
  }
  if {$name eq "create_clock"} { lappend ::clocks $given(-name) }
  if {[info exists given(-clock)] && $name ne "ipx::associate_bus_interfaces"
      && $given(-clock) ni $::clocks} { error "$name: no clock $given(-clock)" }
  if {$name eq "get_ports"} {
    foreach port [join $words] {
      set base [regsub {\[[0-9*]+\]$} $port ""]
      if {$base ni $::declared} { error "get_ports: no port $port" }
      lappend ::ports $base
    }
    return [join $words]
  }
  if {$name in {set_false_path set_input_delay set_output_delay}} {
    set named [lrange $words 1 end]
    foreach end {-from -to} { if {[info exists given($end)]} { lappend named $given($end) } }
    foreach list $named {
      foreach port $list { lappend ::constrained [regsub {\[[0-9*]+\]$} $port ""] }
    }
  }
  if {$name eq "get_timing_paths"} {
    return $::planted([expr {[info exists given(-delay_type)] ? $given(-delay_type) : "max"}])
  }
  if {$name eq "get_property" && [lindex $words 0] eq "SLACK"} { return [lindex $words 1] }
  if {[string match get_* $name]} { return "object" }
}
proc exit {{code 0}} { error "exit code $code after: $::called." }
foreach {name options} $commands {
  proc $name args "vivado $name {$options} \$args"
}
"""


def run_tcl(folder: Path, script: str, before: str = "") -> str:
    """Calls, ports and constrained ports on three lines; raises where the script fails.

    `before` is Tcl that runs between the stub and the script.
    """
    ports = declared_ports(folder)
    program = f"set declared {{{' '.join(ports)}}}\n{STUB}\n{before}\ncd {{{folder}}}\n"
    program += f"source {script}\n"
    if shutil.which("tclsh"):
        shown = "puts $called\nputs $ports\nputs $constrained\n"
        (folder / "stub.tcl").write_text(program + shown)
        argv = ["tclsh", str(folder / "stub.tcl")]
        run = subprocess.run(argv, capture_output=True, text=True, check=False)
        (folder / "stub.tcl").unlink()
        assert run.returncode == 0, run.stderr
        return "\n".join(run.stdout.splitlines()[-3:])
    import tkinter

    interpreter = tkinter.Tcl()
    interpreter.eval(program)
    return "\n".join(interpreter.eval(f"set {name}") for name in ("called", "ports", "constrained"))


def declared_ports(folder: Path) -> dict[str, str]:
    """The ports of what is built, and their direction."""
    name = "scm_top" if (folder / "scm_top.v").exists() else "scm_core"
    path = folder / f"{name}.v"
    text = path.read_text() if path.exists() else ""
    module = re.search(rf"^module {name}\(.*?^endmodule", text, re.MULTILINE | re.DOTALL)
    found = re.findall(r"^  (input|output) (?:\[.*\] )?(\w+);", module[0], re.M) if module else []
    return {port: side for side, port in found}


def assert_core_is_there(verilog: str, path: tuple[str, ...]) -> None:
    """Follow instances from the top down to the core."""
    module = "scm_top"
    for instance in path:
        body = re.search(rf"^module \\?{re.escape(module)} ?\(.*?^endmodule", verilog, re.M | re.S)
        assert body is not None
        found = re.search(rf"^  \\?(\S+) +{instance} \($", body[0], re.M)
        assert found is not None, f"{module} has no instance {instance}"
        module = found[1]
    assert module == "scm_core"


def write_design(folder: Path, name: str, top: str = "uart") -> dict[str, str]:
    vectors = standin_vectors(300)
    core = to_verilog(StandIn(), "scm_core")
    if name in boards.names() and top == "uart":
        own = uart_files(boards.get(name), core, standin_hello(boards.get(name)), b"")
    elif name in boards.names():
        own = board_files(boards.get(name), core, vectors)
    else:
        own = out_of_context_files(boards.by_part(name, clock_mhz=104))
    files = {"scm_core.v": core, **bench_files(vectors, 3), **own}
    for file, text in files.items():
        (folder / file).write_text(text)
    return files


@pytest.mark.parametrize("top", ["uart", "self-test"])
@pytest.mark.parametrize("board", VIVADO_BOARDS)
def test_board_scripts_run_as_they_are(tmp_path: Path, board: str, top: str) -> None:
    files = write_design(tmp_path, board, top)
    (tmp_path / "activity.saif").write_text("")
    called, ports, constrained = run_tcl(tmp_path, "build.tcl").splitlines()
    steps = ["synth_design", "place_design", "route_design", "report_timing_summary"]
    steps += ["report_utilization", "report_power", "write_bitstream"]
    assert set(steps) <= set(called.split())
    declared = declared_ports(tmp_path)
    assert set(ports.split()) == set(declared)
    # All pins but the clock's, whose period is given instead.
    (clock,) = set(declared) - set(constrained.split())
    assert clock.startswith("clk") and f"-period {1e3 / boards.get(board).clock_mhz}" in files[XDC]
    # What switches is read before power is reported, and is that of the core.
    order = called.split()
    assert order.index("route_design") < order.index("read_saif") < order.index("report_power")
    assert_core_is_there(files["scm_top.v"], core_path(top))
    assert f"-part {boards.get(board).part}\n" in files["build.tcl"]
    assert "close_project" in run_tcl(tmp_path, "project.tcl")


def test_part_without_a_board_is_built_out_of_context(tmp_path: Path) -> None:
    files = write_design(tmp_path, "xc7k70tfbg484-2")
    called, ports, constrained = run_tcl(tmp_path, "build.tcl").splitlines()
    assert {"route_design", "report_power"} <= set(called.split())
    assert "write_bitstream" not in called
    # There was no simulation.
    assert "read_saif" not in called
    assert set(ports.split()) == set(declared_ports(tmp_path))
    assert set(ports.split()) - set(constrained.split()) == {"clk"}
    for side, command in (("input", "set_input_delay"), ("output", "set_output_delay")):
        (line,) = [x for x in files["scm_core.xdc"].splitlines() if x.startswith(command)]
        named = set(re.findall(r"\w+", line.split("get_ports")[1]))
        mine = {port for port, found in declared_ports(tmp_path).items() if found == side}
        assert named == mine - {"clk"}
    assert "-period 9.615 " in files["scm_core.xdc"]
    assert "set_property HD.CLK_SRC BUFGCTRL_X0Y0 [get_ports clk]" in files["scm_core.xdc"]
    assert "-part xc7k70tfbg484-2 -mode out_of_context" in files["build.tcl"]
    assert "close_project" in run_tcl(tmp_path, "project.tcl")


def steps_until_exit(folder: Path, before: str) -> list[str]:
    """What build.tcl called before it ended with code 1."""
    with pytest.raises(Exception, match=r"exit code 1 after: ") as caught:
        run_tcl(folder, "build.tcl", before)
    return str(caught.value).split("exit code 1 after: ")[1].split(".")[0].split()


@pytest.mark.parametrize("kind", ["max", "min"])
@pytest.mark.parametrize("target", ["nexys-a7", "cmod-a7-35", "xc7k70tfbg484-2"])
def test_negative_slack_fails_the_build(tmp_path: Path, target: str, kind: str) -> None:
    """Of set-up or hold, after the last step that moves anything, with the worst path shown."""
    write_design(tmp_path, target)
    steps = steps_until_exit(tmp_path, f"set planted({kind}) -0.013")
    assert "write_bitstream" not in steps and "write_cfgmem" not in steps
    changes = {"opt_design", "place_design", "phys_opt_design", "route_design"}
    last_change = max(i for i, step in enumerate(steps) if step in changes)
    assert steps.index("get_timing_paths") > last_change
    assert steps.count("get_timing_paths") == 2
    assert steps.count("report_timing") == 1
    # What the engineer needs to mend it is on disk by then.
    assert "report_timing_summary" in steps[last_change : steps.index("report_timing")]


def test_a_build_without_timing_paths_fails(tmp_path: Path) -> None:
    write_design(tmp_path, "nexys-a7")
    assert "write_bitstream" not in steps_until_exit(tmp_path, "set planted(max) {}")


@pytest.mark.parametrize("target", ["nexys-a7", "xc7k70tfbg484-2"])
def test_negative_slack_is_allowed_on_request(tmp_path: Path, target: str) -> None:
    write_design(tmp_path, target)
    before = "set planted(max) -0.013; set argv allow_negative_slack"
    called = run_tcl(tmp_path, "build.tcl", before).splitlines()[0].split()
    assert "report_timing" in called and called[-1] == "quit"
    assert ("write_bitstream" in called) == (target == "nexys-a7")


@pytest.mark.parametrize("interface", ["axis", "axil"])
def test_a_wrapped_core_is_packaged_as_ip(tmp_path: Path, interface: str) -> None:
    ports = CorePorts((12, 12), (14,), (True,), 3)
    files = interface_files(interface, ports, "ab" * 32, boards.get("arty-a7"))
    files["scm_core.v"] = to_verilog(StandIn(), "scm_core")
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    called = run_tcl(tmp_path, "package_ip.tcl").splitlines()[0].split()
    assert called.index("ipx::package_project") < called.index("ipx::save_core")
    buses = {"axis": 2, "axil": 1}[interface]
    # Each bus with the clock, and the clock with its reset.
    assert called.count("ipx::associate_bus_interfaces") == buses + 1
    assert ("ipx::infer_bus_interface" in called) == (interface == "axil")
    # Words of the memory map: the registers below 0x40, two inputs and an output.
    assert called.count("ipx::add_register") == (19 if interface == "axil" else 0)
    assert called.count("ipx::add_address_block") == (interface == "axil")
    (tmp_path / f"scm_{interface}.v").unlink()
    with pytest.raises(Exception, match=f"no file scm_{interface}.v"):
        run_tcl(tmp_path, "package_ip.tcl")


@pytest.mark.parametrize(
    ("broken", "complaint"),
    [
        ("unknown_command", "unknown_command"),
        ("synth_design -tops x", "synth_design has no option -tops"),
        ("add_files missing.v", "no file missing.v"),
        ("set_false_path -from [get_ports nobody]", "get_ports: no port nobody"),
        ("set_input_delay -clock nowhere 1.0 x", "set_input_delay: no clock nowhere"),
        ("set_property IOSTANDRAD LVCMOS33 x", "no property IOSTANDRAD"),
        ("set_false_path -form x", "set_false_path has no option -form"),
        ("read_saif -strip_path a/b missing.saif", "read_saif: no file missing.saif"),
    ],
)
def test_the_stub_refuses_what_vivado_would(tmp_path: Path, broken: str, complaint: str) -> None:
    (tmp_path / "build.tcl").write_text(broken + "\n")
    with pytest.raises(Exception, match=complaint):
        run_tcl(tmp_path, "build.tcl")


def test_equal_designs_give_equal_bytes_without_paths(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    files = write_design(tmp_path / "a", "nexys-a7")
    assert files == write_design(tmp_path / "b", "nexys-a7")
    root = str(Path(__file__).parents[2])
    assert not any(root in text or str(tmp_path) in text for text in files.values())


@pytest.mark.parametrize("top", ["uart", "self-test"])
@pytest.mark.parametrize("board", ["nexys-a7", "cmod-a7-35"])
def test_board_top_passes_lint(tmp_path: Path, board: str, top: str) -> None:
    write_design(tmp_path, board, top)
    lint([tmp_path / "scm_top.v", tmp_path / "scm_core.v"], "scm_top")
