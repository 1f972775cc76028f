"""A delay model of 7-series logic: LUT levels, carry chains, multipliers and the nets between.

Figures are for speed grade -1, in nanoseconds: cell delays as in the Artix-7 data sheet (DS181),
nets as routed designs of this kind show them on average. Other grades scale all of it.
"""

from __future__ import annotations

from scm_hw.ir import (
    AtLeast,
    Concat,
    Constant,
    Field,
    Input,
    Less,
    Op,
    Product,
    Program,
    Range,
    Ref,
    Select,
    Sum,
    Table,
    Xor,
    operands,
    ranges,
)
from scm_hw.target.dsp import DSP_WIDTHS

NET = 0.55
LUT = 0.124
# Into a carry chain by its select input, and out of it by a sum bit.
CARRY = 0.62
CARRY_PER_BIT = 0.029
# From the clock edge to the first LUT, net included; and what the next edge needs before it.
REGISTER = 0.456 + NET
SETUP = 0.1
DSP = 3.9
# From the clock edge to the data of a block RAM without its output register.
BLOCK_RAM = 2.454
DSP_STEP = 1.6

# One LUT6 for each result bit; two more address bits are a level of multiplexers each.
LUT_INPUTS = 6
ABSORBED_INPUTS = 5

GRADE_SCALE = {"1": 1.0, "1L": 1.15, "2": 0.87, "2L": 1.05, "3": 0.78}


def free_ops(program: Program) -> set[Ref]:
    """What costs no logic of its own: wires, constants, and tables that additions absorb.

    A free operation has no place in time. It is read in whatever cycle its reader is in, from its
    operands as they are in that cycle.
    """
    known = ranges(program)
    absorbed = _absorbed_tables(program, known)
    return {
        ref
        for ref, op in program
        if isinstance(op, Field | Concat | Constant) or ref in absorbed or _is_shift(op)
    }


def _is_shift(op: Op) -> bool:
    return isinstance(op, Sum) and len(op.operands) == 1 and op.weights[0] > 0 and op.constant == 0


def _absorbed_tables(program: Program, known: list[Range]) -> set[Ref]:
    """Tables of few address bits that are read only as the second operand of additions."""
    candidates = {
        ref
        for ref, op in program
        if isinstance(op, Table) and not op.memory and known[op.index].width <= ABSORBED_INPUTS
    }
    for op in program.ops:
        if isinstance(op, Sum) and op.weights == (1, 1) and not op.constant:
            candidates.discard(op.operands[0])
        else:
            candidates.difference_update(operands(op))
    return candidates - set(program.outputs)


def is_clocked(op: Op) -> bool:
    """Whether an operation reads its operands in the cycle before its own."""
    return isinstance(op, Table) and op.memory


def delay(op: Op, known: list[Range], result: Range) -> float:
    """Time from the last operand to the result, the net behind it included.

    For a clocked operation it is the time from the clock edge.
    """
    match op:
        case Input() | Constant() | Field() | Concat():
            return 0.0
        case Sum():
            return 0.0 if _is_shift(op) else addition(result.width)
        case Table() if op.memory:
            return BLOCK_RAM + NET
        case Table():
            return _lut_levels(known[op.index].width) * (LUT + NET)
        case Xor():
            return _tree_levels(len(op.operands)) * (LUT + NET)
        case AtLeast():
            return _comparison(known[op.value].width, 2)
        case Less():
            return _comparison(max(known[op.left].width, known[op.right].width), 1)
        case Select():
            return LUT + NET
        case Product():
            return _product(known[op.left].width, known[op.right].width)
    raise AssertionError(f"{op} must be lowered before it is timed")


def addition(width: int) -> float:
    """A LUT, a carry chain of that many bits, and the net behind it."""
    return LUT + CARRY + CARRY_PER_BIT * width + NET


def _lut_levels(inputs: int) -> int:
    return 1 + max(0, -(-(inputs - LUT_INPUTS) // 2))


def _tree_levels(inputs: int) -> int:
    levels = 1
    while inputs > LUT_INPUTS:
        inputs = -(-inputs // LUT_INPUTS)
        levels += 1
    return levels


def _comparison(width: int, bits_per_lut: int) -> float:
    """With a constant two LUT levels reach 12 bits; beyond that, and between values, a carry."""
    if bits_per_lut == 2 and width <= 2 * LUT_INPUTS:
        return (1 if width <= LUT_INPUTS else 2) * (LUT + NET)
    return addition(width)


def _product(left: int, right: int) -> float:
    short, long = sorted((left, right))
    steps = -(-short // DSP_WIDTHS[0]) * -(-long // DSP_WIDTHS[1])
    return DSP + NET + DSP_STEP * (steps - 1)
