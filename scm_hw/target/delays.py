"""A delay model: LUT levels, carry chains, multipliers and the nets between, at scale 1."""

from __future__ import annotations

from scm_hw.ir import (
    AtLeast,
    Concat,
    Constant,
    Field,
    Input,
    Less,
    Majority,
    Op,
    Product,
    Program,
    Range,
    Ref,
    Select,
    Shift,
    Sum,
    Table,
    Xor,
    operands,
    ranges,
)
from scm_hw.target.technology import Technology

# Additions that can take in a table as their second operand; a third one is a bit, carried in.
ABSORBING = ((1, 1), (1, 1, 1))

# What a net takes longer for each doubling of its readers, as a share of the net of one reader. No
# routed design stands behind it: three times the net for some hundred readers, four for a thousand.
FAN_OUT = 0.3


def free_ops(program: Program, tech: Technology) -> set[Ref]:
    """What costs no logic of its own: wires, constants, and tables that additions absorb.

    A free operation has no place in time. It is read in whatever cycle its reader is in, from its
    operands as they are in that cycle.
    """
    known = ranges(program)
    absorbed = _absorbed_tables(program, known, tech.absorbed_inputs)
    return {
        ref
        for ref, op in program
        if isinstance(op, Field | Shift | Concat | Constant)
        or ref in absorbed
        or _is_shift(op)
        or is_complement(op, known)
    }


def _is_shift(op: Op) -> bool:
    return isinstance(op, Sum) and len(op.operands) == 1 and op.weights[0] > 0 and op.constant == 0


def is_complement(op: Op, known: list[Range]) -> bool:
    """Whether it is all ones less a value: the complement, an inverter in what reads it."""
    return (
        isinstance(op, Sum)
        and op.weights == (-1,)
        and not known[op.operands[0]].signed
        and op.constant == (1 << known[op.operands[0]].width) - 1
    )


def _absorbed_tables(program: Program, known: list[Range], most: int) -> set[Ref]:
    """Tables of few address bits that are read only as the second operand of additions."""
    if not most:
        return set()
    candidates = {
        ref
        for ref, op in program
        if isinstance(op, Table) and not op.memory and known[op.index].width <= most
    }
    for op in program.ops:
        if isinstance(op, Sum) and op.weights in ABSORBING and not op.constant:
            # The LUTs before the carry chain take in the second operand alone.
            candidates.discard(op.operands[0])
            candidates.difference_update(op.operands[2:])
        else:
            candidates.difference_update(operands(op))
    return candidates - set(program.outputs)


def is_clocked(op: Op) -> bool:
    """Whether an operation reads its operands in the cycle before its own."""
    return isinstance(op, Table) and op.memory


def delay(op: Op, known: list[Range], result: Range, tech: Technology) -> float:
    """Time from the last operand to the result, the net behind it included.

    For a clocked operation it is the time from the clock edge.
    """
    match op:
        case Input() | Constant() | Field() | Shift() | Concat():
            return 0.0
        case Sum():
            return 0.0 if _is_shift(op) else addition(result.width, tech)
        case Table() if op.memory:
            return tech.block_ram + tech.net
        case Table():
            return _lut_levels(known[op.index].width, tech) * tech.level
        case Xor():
            return _tree_levels(len(op.operands), tech.lut_inputs) * tech.level
        case AtLeast():
            return _comparison(known[op.value].width, tech, constant=True)
        case Less():
            return _comparison(max(known[op.left].width, known[op.right].width), tech)
        case Select() | Majority():
            return tech.level
        case Product():
            return _product(known[op.left].width, known[op.right].width, tech)
    raise AssertionError(f"{op} must be lowered before it is timed")


def addition(width: int, tech: Technology) -> float:
    """A LUT, a carry chain of that many bits, and the net behind it."""
    return tech.lut + tech.carry + tech.carry_per_bit * width + tech.net


def enable_delay(registers: int, tech: Technology) -> float:
    """From a register through the gate of a global handshake to the enables of all registers.

    The time for one net with so many readers is an assumption (`FAN_OUT`).
    """
    doublings = max(registers, 1).bit_length() - 1
    return tech.register + tech.lut + tech.net * (1 + FAN_OUT * doublings)


def _lut_levels(inputs: int, tech: Technology) -> int:
    """One LUT; two more address bits are a level of multiplexers each, or one without wide LUTs."""
    more = max(0, inputs - tech.lut_inputs)
    return 1 + (-(-more // 2) if tech.wide_luts else more)


def _tree_levels(inputs: int, lut_inputs: int) -> int:
    levels = 1
    while inputs > lut_inputs:
        inputs = -(-inputs // lut_inputs)
        levels += 1
    return levels


def _comparison(width: int, tech: Technology, *, constant: bool = False) -> float:
    """With a constant two levels of LUT6 reach 12 bits; otherwise it is a carry."""
    if constant and tech.absorbed_inputs and width <= 2 * tech.lut_inputs:
        return (1 if width <= tech.lut_inputs else 2) * tech.level
    return addition(width, tech)


def _product(left: int, right: int, tech: Technology) -> float:
    short, long = sorted((left, right))
    steps = -(-short // tech.dsp_widths[0]) * -(-long // tech.dsp_widths[1])
    return tech.dsp + tech.net + tech.dsp_step * (steps - 1)
