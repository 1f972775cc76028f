"""Inputs that a module doesn't read, out of it and of its instances."""

from __future__ import annotations

from collections.abc import Sequence

from scm_hw.rtl.plain.rtlil import RtlModule, names_in


def drop_unused_inputs(modules: Sequence[RtlModule], top: str) -> None:
    """Amaranth gives every module the clock and the reset, and names of what passes through it."""
    unused: dict[str, set[str]] = {}
    changed = True
    # An input that only fed an unused input is unused itself, so this is repeated until nothing
    # changes.
    while changed:
        changed = False
        for module in modules:
            for cell in module.cells:
                for port in unused.get(cell.type, ()):
                    cell.ports.pop(port, None)
            if module.name != top and (found := _unused_inputs(module)):
                unused.setdefault(module.name, set()).update(found)
                for name in found:
                    del module.wires[name]
                changed = True


def _unused_inputs(module: RtlModule) -> list[str]:
    used = {name for signal in module.signals() for name in names_in(signal)}
    return [
        name for name, wire in module.wires.items() if "input" in wire.options and name not in used
    ]
