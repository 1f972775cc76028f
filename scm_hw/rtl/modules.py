"""Which module of the core an operation stands in."""

from __future__ import annotations

import re
from collections import Counter

from scm_hw.ir import Concat, Field, Input, Op, Part, Program, part_of
from scm_hw.ir.part import Kind


class Modules:
    """The modules of one program.

    Nodes, the readout and the mechanism have modules of their own; nodes that are nothing but a
    comparison or a table share that of their layer.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self._short = _short_nodes(program)

    def of(self, op: Op) -> str:
        """The name of its module, empty for that of the core itself.

        What takes some bits of an input stays there, or the whole input would have to be a port of
        those.
        """
        if isinstance(op, Field) and isinstance(self.program.ops[op.value], Input):
            return ""
        part = part_of(op)
        if part in self._short:
            return f"layer{part.layer}"
        return "readout" if part.kind is Kind.READOUT else plain(part.prefix)


def _short_nodes(program: Program) -> set[Part]:
    """Nodes of one operation and its index: thousands of such modules hold every tool up."""
    counts = Counter(part_of(op) for op in program.ops if not isinstance(op, Concat))
    return {part for part, count in counts.items() if part.kind is Kind.NODE and count == 1}


def plain(name: str) -> str:
    """Letters and digits of a name, for one in Verilog."""
    return re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_").lower()
