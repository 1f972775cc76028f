"""What to say where an option about tables changes nothing."""

from __future__ import annotations

from scm_hw.design.compiler import Design
from scm_hw.ir import Table
from scm_hw.passes.block_tables import MAX_LEVEL_BITS, MIN_READERS


def without_block_tables(design: Design) -> list[str]:
    """What to say where `--tables block` was asked for and changes nothing."""
    if design.options.tables != "block" or design.fold is not None:
        return []
    if any(isinstance(op, Table) and op.memory for op in design.program.ops):
        return []
    least = f"no {MIN_READERS} sums read tables of the same two levels"
    return [f"tables in block RAM ({least} of at most {MAX_LEVEL_BITS} bits)"]
