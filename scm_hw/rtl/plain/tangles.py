"""Wires with bits that copy each other, as of a sign: one wire drives, another has all."""

from __future__ import annotations

from collections.abc import Mapping, Set

from scm_hw.rtl.plain.aliases import DRIVEN
from scm_hw.rtl.plain.rtlil import Cell, RtlModule, Signal, Wire, names_in


def untangle(module: RtlModule, outputs: Mapping[str, Set[str]]) -> None:
    """No wire is connected to itself: lint would take that for a loop.

    `outputs` are the output ports of each of our modules.
    """
    tangled = {
        name for left, right in module.connects for name in {*names_in(left)} & {*names_in(right)}
    }
    for name in sorted(tangled):
        _untangle(module, name, outputs)


def _untangle(module: RtlModule, name: str, outputs: Mapping[str, Set[str]]) -> None:
    # Cells drive a new wire instead, and the old one has the driven bits and their copies from it.
    source = f"${name[1:]}_source"
    module.wires[source] = Wire(source, module.wires[name].width, [], [])
    driven: list[tuple[str, int, int]] = []
    for cell in module.cells:
        for port in _driven(cell, outputs):
            found = [c for c in cell.ports[port] if not isinstance(c, str) and c[0] == name]
            driven += found
            cell.ports[port] = _moved(cell.ports[port], name, source)
    module.connects = [
        (left, _moved(right, name, source) if name in names_in(left) else right)
        for left, right in module.connects
    ]
    for _, high, low in driven:
        module.connects.append((((name, high, low),), ((source, high, low),)))


def _driven(cell: Cell, outputs: Mapping[str, Set[str]]) -> list[str]:
    known = DRIVEN if cell.type[0] == "$" else outputs.get(cell.type, ())
    return [port for port in cell.ports if port in known]


def _moved(signal: Signal, name: str, target: str) -> Signal:
    return tuple(
        chunk if isinstance(chunk, str) or chunk[0] != name else (target, chunk[1], chunk[2])
        for chunk in signal
    )
