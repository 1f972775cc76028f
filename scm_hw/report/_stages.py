"""What happens in each cycle of a scheduled design, and what it costs by the compiler's model."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from scm_hw.design import Design
from scm_hw.ir import (
    AtLeast,
    Input,
    Less,
    Majority,
    Op,
    Product,
    Select,
    Sum,
    Table,
    Xor,
    part_of,
    ranges,
)
from scm_hw.schedule import by_operation, registers_by_rank

# Other operations are wires, and have no cycle.
KINDS: dict[type[Op], str] = {
    Table: "table",
    Sum: "sum",
    AtLeast: "comparison",
    Less: "comparison",
    Select: "choice",
    Xor: "parity",
    Majority: "majority",
    Product: "product",
}


@dataclass(frozen=True)
class Stage:
    """The logic of one cycle, and the rank of registers behind it.

    `bits` are those of the results of its operations. `registers` hold these results and all that
    later cycles still need, and the bit that says whether the rank holds a sample.
    """

    cycle: int
    kinds: dict[str, int]
    parts: tuple[str, ...]
    bits: int
    lut: int
    dsp: int
    registers: int
    ns: float

    @property
    def operations(self) -> int:
        return sum(self.kinds.values())


def stages(design: Design) -> list[Stage]:
    """The cycles of a design, in order."""
    registers = registers_by_rank(design.program, design.schedule)
    # Only in order: equal functions are counted at the first that has them.
    costs = by_operation(design.program, design.schedule)
    widths = [known.width for known in ranges(design.program)]
    found = []
    for cycle, ns in enumerate(design.schedule.stage_ns):
        refs = _refs(design, cycle)
        ops = [design.program.ops[ref] for ref in refs]
        found.append(
            Stage(
                cycle=cycle,
                kinds=dict(Counter(KINDS[type(op)] for op in ops).most_common()),
                parts=tuple(sorted({part_of(op).title for op in ops})),
                bits=sum(widths[ref] for ref in refs),
                lut=sum(costs[ref].lut for ref in refs),
                dsp=sum(costs[ref].dsp for ref in refs),
                registers=registers[cycle],
                ns=ns,
            )
        )
    return found


def _refs(design: Design, cycle: int) -> list[int]:
    placed = zip(design.program, design.schedule.cycles, strict=True)
    return [ref for (ref, op), at in placed if at == cycle and not isinstance(op, Input)]
