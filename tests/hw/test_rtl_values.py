"""Single operations in Amaranth's simulator against Python's integers, signs and widths mixed."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from amaranth.hdl import Const, Module, Signal
from amaranth.sim import Simulator, SimulatorContext

from scm_hw.ir import (
    Argmax,
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
    Select,
    Shift,
    Sum,
    Table,
    Xor,
    operands,
    ranges,
)
from scm_hw.rtl.values import drive, drive_absorbing, expressions, shape_of
from tests.hw import oracle

# Unsigned, signed, a bit, away from zero, always negative.
INPUTS = (Input(0, 0, 4), Input(1, -3, 2), Input(2, 0, 1), Input(3, 5, 6), Input(4, -2, -1))
REFS = range(len(INPUTS))
WEIGHTS = ((1, 1), (1, -1), (-1, 1), (2, 1), (1, 4), (8, 2), (-2, 1), (1, -8), (4, -2), (-4, 4))


def program_of(ops: list[Op]) -> Program:
    return Program((*INPUTS, *ops), tuple(REFS), tuple(len(INPUTS) + i for i in range(len(ops))))


def simulate(ops: list[Op]) -> None:
    """Every operation on every combination of inputs."""
    program = program_of(ops)
    known = ranges(program)
    m = Module()
    signals = [Signal(shape_of(reach), name=f"v{ref}") for ref, reach in enumerate(known)]
    for ref, op in enumerate(ops, start=len(INPUTS)):
        drive(m, signals[ref], op, [signals[r] for r in operands(op)])
    compare(m, program, signals)


def compare(m: Module, program: Program, signals: list[Signal]) -> None:
    async def check(ctx: SimulatorContext) -> None:
        for row in product(*(range(op.low, op.high + 1) for op in INPUTS)):
            for signal, value in zip(signals, row, strict=False):
                ctx.set(signal, value)
            expected = oracle.all_values(program, row)
            for ref in program.outputs:
                assert ctx.get(signals[ref]) == expected[ref], (row, program.ops[ref])

    simulator = Simulator(m)
    simulator.add_testbench(check)
    simulator.run()


def test_sums_of_two() -> None:
    simulate(
        [
            Sum((left, right), weights, constant)
            for left, right in product(REFS, REFS)
            for weights in WEIGHTS
            for constant in (0, 1)
        ]
    )


def test_sums_that_carry_a_bit_in() -> None:
    simulate([Sum((left, right, 2), (1, 1, 1)) for left, right in product(REFS, REFS)])


def test_sums_with_constants() -> None:
    simulate([Sum((0, 1), weights, c) for weights in WEIGHTS for c in (-7, -1, 2, 100)])


def test_sums_of_one() -> None:
    simulate([Sum((r,), (w,), c) for r in REFS for w in (1, 8, -1, -4) for c in (0, 1, 5, -9)])


def test_comparisons() -> None:
    bounds = [AtLeast(ref, bound) for ref in REFS for bound in range(-5, 9)]
    simulate([*bounds, *(Less(left, right) for left, right in product(REFS, REFS))])


@pytest.mark.parametrize(("ref", "bound", "bits"), [(0, 4, 1), (0, 2, 2), (0, 3, 3), (1, -2, 2)])
def test_comparisons_look_at_no_bit_below_the_lowest_of_the_bound(
    ref: int, bound: int, bits: int
) -> None:
    inputs = [Signal(shape_of(Range(op.low, op.high))) for op in INPUTS]
    (found,) = expressions(program_of([AtLeast(ref, bound)]), inputs)
    assert len(found.operands[0]) == bits


def test_products_and_choices() -> None:
    pairs = list(product(REFS, REFS))
    simulate([*(Product(*pair) for pair in pairs), *(Select(2, *pair) for pair in pairs)])


def test_fields_concatenations_and_parities() -> None:
    fields: list[Op] = [
        Field(ref, offset, width) for ref in (0, 2, 3) for offset in range(5) for width in (1, 2, 4)
    ]
    simulate(
        [
            *fields,
            *(replace(field, signed=True) for field in fields if isinstance(field, Field)),
            *(Majority((a, b, 2)) for a, b in product((0, 2, 3), repeat=2)),
            *(Shift(ref, bits) for ref in REFS for bits in (1, 2, 7)),
            *(Concat((a, b, 2), (3, 5, 1)) for a, b in product((0, 2, 3), repeat=2)),
            Concat((2,), (1,)),
            *(Xor(refs) for refs in ((0,), (0, 2), (3, 2, 0), (0, 0), (2, 3, 3, 2, 0))),
        ]
    )


def test_constants() -> None:
    simulate([Constant(value) for value in (0, 1, -1, 7, -8, 255, -129)])


TABLES = (
    (0, 1, 2, 3, 4),
    (9, 0, 3, 3, 17),
    (-9, 4, 0, -1, 8),
    (-5, -4, -3, -2, -1),
    (7, 7, 7, 7, 8),
    (-1, 0, 0, 0, 0),
    (1, 2, 3, 4, 5, 100, -100, 6),
)


def test_tables() -> None:
    at_three = tuple((7, 7, 7, 7, 7, e, -e) for e in range(3))
    simulate([*(Table(0, t) for t in TABLES), *(Table(3, t) for t in at_three), Table(2, (3, -4))])


@pytest.mark.parametrize("order", [(0, 3, 2), (3, 0, 2)])
def test_large_tables_of_which_a_half_is_constant(order: tuple[int, ...]) -> None:
    """The highest bit of the index chooses between one entry for all and a table."""
    widths = tuple({0: 3, 2: 1, 3: 3}[ref] for ref in order)
    contents = (3,) * 64 + tuple(i % 11 - 5 for i in range(64))
    simulate([Concat(order, widths), Table(len(INPUTS), contents)])


@pytest.mark.parametrize("carried", [(), (2,)], ids=["two", "two and a bit"])
def test_additions_that_absorb_a_table(carried: tuple[int, ...]) -> None:
    """Tables of one sign and of both, beside values of one sign and of both."""
    tables: list[Op] = [Table(0, contents) for contents in TABLES]
    tables += [Table(2, (5, -6)), Table(3, (0, 0, 0, 0, 0, 3, 9))]
    first = len(INPUTS)
    pairs = list(product(REFS, range(first, first + len(tables))))
    program = program_of(
        [*tables, *(Sum((*p, *carried), (1,) * (2 + len(carried))) for p in pairs)]
    )
    known = ranges(program)
    m = Module()
    signals = [Signal(shape_of(reach), name=f"v{ref}") for ref, reach in enumerate(known)]
    for ref, op in program:
        if isinstance(op, Sum):
            left, table, *bit = (*op.operands,)
            absorbed = program.ops[table]
            assert isinstance(absorbed, Table)
            index, bits = signals[absorbed.index], [signals[r] for r in bit]
            drive_absorbing(m, signals[ref], signals[left], absorbed, index, *bits)
    sums = tuple(ref for ref, op in program if isinstance(op, Sum))
    compare(m, Program(program.ops, program.inputs, sums), signals)


def test_programs_as_expressions() -> None:
    """Operations on operations, without a signal for any but the outputs."""
    zero = len(INPUTS)
    ops: list[Op] = [
        AtLeast(0, 3),
        Field(0, 1, 2),
        Xor((zero, 2)),
        Concat((zero + 1, zero + 2), (2, 1)),
        Select(zero + 2, 1, 4),
        Table(zero + 3, (5, -1, 2, 0, 7, 7, -8, 1)),
    ]
    program = program_of(ops)
    m = Module()
    signals = [Signal(shape_of(reach), name=f"v{n}") for n, reach in enumerate(ranges(program))]
    values = expressions(program, signals[:zero])
    m.d.comb += [s.eq(value) for s, value in zip(signals[zero:], values, strict=True)]
    compare(m, program, signals)


@pytest.mark.parametrize("bound", [-3, 0, 1, 4, 5, 40])
def test_what_never_changes_is_a_constant(bound: int) -> None:
    inputs = [Signal(shape_of(Range(op.low, op.high))) for op in INPUTS]
    (found,) = expressions(program_of([AtLeast(0, bound)]), inputs)
    always = {int(value >= bound) for value in range(5)}
    assert isinstance(found, Const) == (len(always) == 1)
    if isinstance(found, Const):
        assert {found.value} == always


@pytest.mark.parametrize(
    ("op", "message"),
    [
        (Argmax((0, 1)), "must be lowered before it becomes hardware"),
        (Sum((0,), (3,)), "weights of lowered sums are powers of two"),
        (Sum((0, 1), (-1, -1)), "a carry chain can't take off both sides"),
    ],
    ids=str,
)
def test_what_has_no_hardware_is_an_error_of_the_compiler(op: Op, message: str) -> None:
    m = Module()
    with pytest.raises(AssertionError, match=message):
        drive(m, Signal(4), op, [Signal(4) for _ in operands(op)])
    # Amaranth warns of modules that nobody uses.
    Simulator(m)


def test_shapes_are_the_narrowest() -> None:
    for reach in (Range(0, 0), Range(0, 1), Range(0, 8), Range(-1, 0), Range(-8, 7), Range(-9, 7)):
        shape = shape_of(reach)
        assert (shape.width, shape.signed) == (reach.width, reach.low < 0)
