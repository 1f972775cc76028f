"""The core behind a bus: a Verilog wrapper, and a script that packages both as Vivado IP."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from amaranth.lib.wiring import Component

from scm_hw.boards import Board
from scm_hw.common.names import DEFAULT, Names
from scm_hw.common.templates import render
from scm_hw.rtl.axi import (
    AxiLiteCore,
    AxiStreamCore,
    CrossedStream,
    RowFormat,
    RowStream,
    WishboneCore,
    registers,
)
from scm_hw.rtl.header import headed
from scm_hw.rtl.ports import CorePorts, VerilogCore
from scm_hw.rtl.queue import waiting_core
from scm_hw.rtl.verilog import to_verilog

INTERFACES = ("stream", "axis", "axil", "wishbone")
# Those with registers in a memory map.
MAPPED = ("axil", "wishbone")
IP_SCRIPT = "package_ip.tcl"


def interface_files(
    interface: str, ports: CorePorts, digest: str, board: Board, names: Names = DEFAULT
) -> dict[str, str]:
    """Wrapper and packaging script, file name to text; nothing for the bare core."""
    if interface == "stream":
        return {}
    name = names.wrapper(interface)
    wrapper = {f"{name}.v": _wrapper(interface, ports, digest, names)}
    if interface not in _BUSES:
        # Vivado's catalogue has no Wishbone.
        return wrapper
    return wrapper | {
        IP_SCRIPT: render(
            __package__,
            IP_SCRIPT,
            part=board.part,
            name=name,
            core=names.core,
            version=ip_version(digest),
            display=f"Stochastic configuration machine, {PROTOCOLS[interface]}",
            buses=" ".join(_BUSES[interface]),
            families=" ".join(f"{family} Production" for family in _FAMILIES),
            registers=list(register_words(ports)) if interface in MAPPED else [],
            range=1 << registers.ADDRESS_BITS,
            crossing=ports.crossing,
            digest=digest[:16],
        ),
    }


def register_words(ports: CorePorts) -> Iterator[dict[str, str]]:
    """Each word of the memory map, in IP-XACT's words."""
    listed = registers.REGISTERS + (registers.RELOAD_REGISTERS if ports.reload else ())
    fields = {"INPUT": len(ports.in_widths), "OUTPUT": len(ports.out_widths)}
    ways = {"read": "read-only", "write": "write-only"}
    for register in listed:
        count = register.count or fields[register.name]
        for place in range(count):
            yield {
                "name": register.name if register.count == 1 else f"{register.name}_{place}",
                "address": f"{register.address + place * register.step:#x}",
                "access": ways.get(register.access, "read-write"),
                "meaning": register.meaning,
            }


def ip_version(digest: str) -> str:
    """Equal for equal designs; a catalogue takes numbers between dots."""
    return f"1.{int(digest[:4], 16)}.{int(digest[4:8], 16)}"


def _wrapper(interface: str, ports: CorePorts, digest: str, names: Names) -> str:
    name = names.wrapper(interface)
    return headed(
        to_verilog(wrapped_core(interface, ports, digest, names), name),
        f"{name}: {names.core} behind {PROTOCOLS[interface]}",
        [("design", digest), ("core", f"{names.core}.v has its latency and its fields")],
    )


def wrapped_core(interface: str, ports: CorePorts, digest: str, names: Names) -> Component:
    """The core as an instance, behind a bus."""
    wrapper: AxiStreamCore | RowStream | AxiLiteCore | WishboneCore
    in_width, out_width = sum(ports.in_widths), sum(ports.out_widths)
    if interface == "axis":
        wrapper = AxiStreamCore(
            waiting_core(in_width, out_width, names.core, ports.handshake, ports.latency),
            latency=ports.latency,
            # Rows extend their fields themselves.
            signed=ports.out_signed[-1] and ports.tdata is None,
            registered_ready=ports.handshake != "global",
        )
        if ports.tdata is not None:
            inputs, outputs = row_formats(ports, ports.tdata)
            wrapper = RowStream(wrapper, inputs=inputs, outputs=outputs)
    else:
        wrapper = AxiLiteCore(
            # One sample at a time, and its result is taken as it comes.
            VerilogCore(in_width, out_width, names.core, ports.handshake, reload=ports.reload),
            in_widths=ports.in_widths,
            out_widths=ports.out_widths,
            out_signed=ports.out_signed,
            digest=digest,
        )
    if ports.crossing:
        return CrossedStream(wrapper)
    if interface == "wishbone":
        return WishboneCore(wrapper)
    return wrapper


def row_formats(ports: CorePorts, tdata: int) -> tuple[RowFormat, RowFormat]:
    """The formats of the rows that go in and come out."""
    unsigned = (False,) * len(ports.in_widths)
    return (
        RowFormat(ports.in_widths, unsigned, tdata),
        RowFormat(ports.out_widths, ports.out_signed, tdata),
    )


PROTOCOLS = {"axis": "AXI4-Stream", "axil": "AXI4-Lite", "wishbone": "Wishbone"}
_BUSES: dict[str, Sequence[str]] = {"axis": ("s_axis", "m_axis"), "axil": ("s_axi",)}

# Those with the 7 series' cells, by Vivado's names.
_FAMILIES = ("spartan7", "artix7", "kintex7", "virtex7", "zynq")
