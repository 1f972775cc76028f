"""The order of what makes RTLIL plain."""

from __future__ import annotations

from scm_hw.rtl.plain.aliases import output_ports, read_by_name
from scm_hw.rtl.plain.cells import plain_cells
from scm_hw.rtl.plain.memories import undefined_words
from scm_hw.rtl.plain.names import rename
from scm_hw.rtl.plain.ports import drop_unused_inputs
from scm_hw.rtl.plain.results import whole_results
from scm_hw.rtl.plain.rtlil import parse, unparse
from scm_hw.rtl.plain.tangles import untangle


def plain_rtlil(text: str, top: str) -> str:
    """The same design with names, widths and ports as a reviewer expects them.

    What comes in is without processes, as after `proc`. Ports of the top keep their names.
    """
    modules = parse(text)
    drop_unused_inputs(modules, f"\\{top}")
    outputs = output_ports(modules)
    for module in modules:
        untangle(module, outputs)
        whole_results(module)
        undefined_words(module)
        module.cells = plain_cells(module)
        for wire in module.wires.values():
            wire.attributes = [line for line in wire.attributes if not _undefined(line)]
    read_by_name(modules)
    # Last, since the steps before make new wires without names.
    rename(modules)
    return unparse(modules)


def _undefined(attribute: str) -> bool:
    """Whether it is an `init` of a register without a start value: an x for each bit."""
    value = attribute.rsplit(" ", 1)[-1]
    return "'" in value and "x" in value
