"""What multiplications take in DSP blocks, and which additions they take in."""

from __future__ import annotations

from scm_hw.ir import Product, Program, Range, Ref, Sum, ranges
from scm_hw.target.technology import Technology


def dsps(left: Range, right: Range, tech: Technology) -> int:
    """DSP blocks for a product of two values; 0 where it stays in LUTs."""
    return dsp_tiles(left.width, right.width, tech)


def dsp_tiles(left: int, right: int, tech: Technology) -> int:
    """The same by the widths of the factors."""
    short, long = sorted((left, right))
    if short * long < tech.min_dsp_bits:
        return 0
    return -(-short // (tech.dsp_widths[0] - 1)) * -(-long // (tech.dsp_widths[1] - 1))


def dsp_sums(program: Program, tech: Technology) -> set[Ref]:
    """Additions behind a multiplication, which the DSP block of the product does.

    A product that anything else reads has a block of its own, and so have those of several blocks.
    """
    if not tech.dsp_add:
        return set()
    known, uses = ranges(program), program.uses()
    free = {
        ref
        for ref, op in program
        if isinstance(op, Product)
        and uses[ref] == 1
        and dsps(known[op.left], known[op.right], tech) == 1
    }
    return {
        ref
        for ref, op in program
        if isinstance(op, Sum)
        and op.weights == (1, 1)
        and not op.constant
        and not free.isdisjoint(op.operands)
    }
