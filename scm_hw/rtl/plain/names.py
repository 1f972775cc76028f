"""Names that are plain identifiers in Verilog, SystemVerilog and VHDL, unescaped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from scm_hw.rtl.plain.aliases import DRIVEN
from scm_hw.rtl.plain.keywords import KEYWORDS
from scm_hw.rtl.plain.rtlil import Chunk, RtlModule, Signal, names_in

_MEMORY = "\\MEMID"


def rename(modules: Sequence[RtlModule]) -> None:
    """Modules, wires, instances and memories; those without a name get one of what they lead to."""
    types = _unique({module.name: module.name for module in modules})
    # All names are chosen before any is changed, since instances refer to other modules' ports.
    wires = {module.name: _unique(_wished(module)) for module in modules}
    for module in modules:
        own = wires[module.name]
        for cell in module.cells:
            # A port of an instance is a wire of its module, and has the name of that.
            ports = wires.get(cell.type)
            cell.ports = {
                (ports or {}).get(port, port): _renamed(signal, own)
                for port, signal in cell.ports.items()
            }
            cell.type = types.get(cell.type, cell.type)
        taken = set(own.values())
        _rename_cells(module, taken)
        module.connects = [
            (_renamed(left, own), _renamed(right, own)) for left, right in module.connects
        ]
        for wire in module.wires.values():
            wire.name = own[wire.name]
        module.wires = {wire.name: wire for wire in module.wires.values()}
        module.name = types[module.name]


def _rename_cells(module: RtlModule, taken: set[str]) -> None:
    """Instances, registers and memories; the other cells become expressions."""
    for cell in module.cells:
        if "\\Q" in cell.ports and (held := _first_name([cell.ports["\\Q"]])):
            cell.name = _free(f"{_plain(held)}_held", taken)
        if cell.type[0] == "\\":
            cell.name = _free(_plain(cell.name), taken)
        if _MEMORY in cell.parameters:
            cell.parameters[_MEMORY] = _memory_name(cell.parameters[_MEMORY], taken)


def _memory_name(parameter: str, taken: set[str]) -> str:
    """A string of RTLIL, with its backslash escaped."""
    name = _free(_plain("\\" + parameter.strip('"').lstrip("\\")), taken)
    return f'"\\{name}"'


def _wished(module: RtlModule) -> dict[str, str]:
    """What each wire should be called, before equal names are told apart."""
    leads = _readers(module)
    return {name: name if name[0] == "\\" else f"{_public(name, leads)}_t" for name in module.wires}


def _readers(module: RtlModule) -> dict[str, str]:
    """What a wire without a name leads to: the wire of a cell that reads it, or its other name."""
    found: dict[str, str] = {}
    for left, right in module.connects:
        for name in names_in(right):
            found.setdefault(name, next(names_in(left), name))
    for cell in module.cells:
        driven = [cell.ports[port] for port in DRIVEN if port in cell.ports]
        target = _first_name(driven)
        if target is None:
            continue
        for port, signal in cell.ports.items():
            if port not in DRIVEN:
                for name in names_in(signal):
                    if name[0] == "$":
                        found.setdefault(name, target)
    return found


def _first_name(signals: Iterable[Signal]) -> str | None:
    """A public one where there is one."""
    names = [name for signal in signals for name in names_in(signal)]
    public = [name for name in names if name[0] == "\\"]
    return next(iter(public or names), None)


def _public(name: str, leads: dict[str, str]) -> str:
    # Wires without names may lead to each other in a circle.
    seen = set()
    while name[0] == "$" and name in leads and name not in seen:
        seen.add(name)
        name = leads[name]
    return name if name[0] == "\\" else "\\unnamed"


def _unique(wished: dict[str, str]) -> dict[str, str]:
    """Plain names; those that were so before keep them."""
    kept = {name: name for name, wish in wished.items() if name == wish == _plain(wish)}
    taken = set(kept)
    return {name: kept.get(name) or _free(_plain(wish), taken) for name, wish in wished.items()}


def _free(name: str, taken: set[str]) -> str:
    chosen, number = name, 1
    # Temporary signals are numbered from the first.
    if name.endswith("_t"):
        chosen = f"{name}{number}"
    while chosen in taken:
        number += 1
        chosen = f"{name}{number}" if name.endswith("_t") else f"{name}_{number}"
    taken.add(chosen)
    return chosen


def _plain(name: str) -> str:
    text = re.sub(r"[^A-Za-z0-9_]+", "_", name[1:]).strip("_") or "unnamed"
    text = text if text[0].isalpha() else f"n{text}"
    # VHDL's keywords are reserved in any case.
    return "\\" + (f"{text}_" if text.lower() in KEYWORDS else text)


def _renamed(signal: Signal, names: dict[str, str]) -> Signal:
    return tuple(_chunk(chunk, names) for chunk in signal)


def _chunk(chunk: Chunk, names: dict[str, str]) -> Chunk:
    return chunk if isinstance(chunk, str) else (names[chunk[0]], chunk[1], chunk[2])
