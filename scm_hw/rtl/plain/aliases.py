"""Signals are read by the name that says what they are, not by that of where they come from."""

from __future__ import annotations

from collections.abc import Sequence

from scm_hw.rtl.plain.rtlil import Bits, Cell, Chunk, RtlModule, Signal

# Outputs of Yosys' own cells.
DRIVEN = ("\\Y", "\\Q", "\\RD_DATA")
Aliases = dict[Chunk, list[tuple[Signal, Bits]]]
"""By the first chunk of a signal: what it is as a whole, and its name."""


def output_ports(modules: Sequence[RtlModule]) -> dict[str, set[str]]:
    """The output ports of each module, by its name."""
    return {
        module.name: {name for name, wire in module.wires.items() if "output" in wire.options}
        for module in modules
    }


def read_by_name(modules: Sequence[RtlModule]) -> None:
    """Where a public wire is only another name of a signal, whatever reads that has the name."""
    outputs = output_ports(modules)
    for module in modules:
        known = _aliases(module)
        if not known:
            continue
        for cell in module.cells:
            for port in _inputs(cell, outputs):
                cell.ports[port] = _renamed(cell.ports[port], known)


def _aliases(module: RtlModule) -> Aliases:
    """The first name of each signal, the longest signals first."""
    found: dict[Signal, Bits] = {}
    for left, right in module.connects:
        if len(left) == 1 and not isinstance(left[0], str) and _tells_more(left[0], right, module):
            found.setdefault(right, left[0])
    known: Aliases = {}
    # The longest first, or a part of a signal would take the place of the whole.
    for signal in sorted(found, key=len, reverse=True):
        known.setdefault(signal[0], []).append((signal, found[signal]))
    return known


def _tells_more(target: Bits, source: Signal, module: RtlModule) -> bool:
    """Whether a whole wire has more of a name than the signal it is connected to.

    The other name of a whole signal tells no more than its own, unless that has none.
    """
    name, high, low = target
    wire = module.wires[name]
    if name[0] != "\\" or wire.is_port or high - low + 1 < wire.width:
        return False
    if all(isinstance(chunk, str) for chunk in source):
        return False
    (first, *others) = source
    if others or isinstance(first, str):
        return True
    return first[0][0] == "$" or first[1] - first[2] + 1 < module.wires[first[0]].width


def _inputs(cell: Cell, outputs: dict[str, set[str]]) -> list[str]:
    if cell.type[0] == "$":
        return [port for port in cell.ports if port not in DRIVEN]
    # Directions of modules that aren't ours are unknown here.
    driven = outputs.get(cell.type)
    return [] if driven is None else [port for port in cell.ports if port not in driven]


def _renamed(signal: Signal, known: Aliases) -> Signal:
    found: list[Chunk] = []
    place = 0
    while place < len(signal):
        for whole, name in known.get(signal[place], ()):
            if signal[place : place + len(whole)] == whole:
                found.append(name)
                place += len(whole)
                break
        else:
            found.append(signal[place])
            place += 1
    return tuple(found)
