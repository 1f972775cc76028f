"""The core behind a bus: a Verilog wrapper, and a script that packages both as Vivado IP."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from string import Template

from scm_hw.boards import Board
from scm_hw.interface import AxiLiteCore, AxiStreamCore, VerilogCore
from scm_hw.rtl.verilog import from_rtlil, to_rtlil

INTERFACES = ("stream", "axis", "axil")
IP_SCRIPT = "package_ip.tcl"


@dataclass(frozen=True)
class CorePorts:
    """What a wrapper has to know of the core: the bits of its fields, in order, and its cycles."""

    in_widths: tuple[int, ...]
    out_widths: tuple[int, ...]
    out_signed: tuple[bool, ...]
    latency: int


def wrapper_name(interface: str) -> str:
    """The module, and the file without its suffix."""
    return f"scm_{interface}"


def interface_files(interface: str, ports: CorePorts, digest: str, board: Board) -> dict[str, str]:
    """Wrapper and packaging script, file name to text; nothing for the bare core."""
    if interface == "stream":
        return {}
    name = wrapper_name(interface)
    return {
        f"{name}.v": _wrapper(interface, ports, digest),
        IP_SCRIPT: _PACKAGE.substitute(
            part=board.part,
            name=name,
            display=_TITLES[interface],
            buses=" ".join(_BUSES[interface]),
            families=" ".join(f"{family} Production" for family in _FAMILIES),
            interrupt=_INTERRUPT if interface == "axil" else "",
            digest=digest[:16],
        ),
    }


def _wrapper(interface: str, ports: CorePorts, digest: str) -> str:
    core = VerilogCore(sum(ports.in_widths), sum(ports.out_widths))
    wrapper: AxiStreamCore | AxiLiteCore
    if interface == "axis":
        wrapper = AxiStreamCore(core, latency=ports.latency, signed=ports.out_signed[-1])
    else:
        wrapper = AxiLiteCore(
            core,
            in_widths=ports.in_widths,
            out_widths=ports.out_widths,
            out_signed=ports.out_signed,
            digest=digest,
        )
    name = wrapper_name(interface)
    return from_rtlil(to_rtlil(wrapper, name), name)


_TITLES = {
    "axis": "Stochastic configuration machine, AXI4-Stream",
    "axil": "Stochastic configuration machine, AXI4-Lite",
}
_BUSES: dict[str, Sequence[str]] = {"axis": ("s_axis", "m_axis"), "axil": ("s_axi",)}

# Those with the 7 series' cells, by Vivado's names.
_FAMILIES = ("spartan7", "artix7", "kintex7", "virtex7", "zynq")
# Vivado does not know an interrupt by its name; `$` is as it is.
_INTERRUPT = """\
set irq [ipx::infer_bus_interface irq xilinx.com:signal:interrupt_rtl:1.0 $core]
set_property value LEVEL_HIGH [ipx::add_bus_parameter SENSITIVITY $irq]
"""

# Vivado finds the other bus interfaces, and the memory map, by the names of their ports.
_PACKAGE = Template("""\
# The core as IP for the block designer: vivado -mode batch -source package_ip.tcl
# Then add the folder ip/ to the IP repositories of a project.
set folder [file dirname [file normalize [info script]]]
cd $$folder
create_project -force ${name}_ip ip_project -part $part
add_files -fileset sources_1 {scm_core.v $name.v}
set_property top $name [get_filesets sources_1]
update_compile_order -fileset sources_1
ipx::package_project -root_dir ip -vendor scm-hw -library user -taxonomy /UserIP \\
    -import_files -force
set core [ipx::current_core]
set_property name $name $$core
set_property display_name {$display} $$core
set_property description {scm-hw design $digest} $$core
set_property version 1.0 $$core
set_property supported_families {$families} $$core
foreach bus {$buses} {
  ipx::associate_bus_interfaces -busif $$bus -clock aclk $$core
}
ipx::associate_bus_interfaces -clock aclk -reset aresetn $$core
${interrupt}ipx::update_checksums $$core
ipx::check_integrity $$core
ipx::save_core $$core
close_project
""")
