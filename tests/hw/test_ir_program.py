"""Programs as data: building, printing, reading and replacing operands."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields

import pytest

from scm_hw.ir import (
    Argmax,
    AtLeast,
    Builder,
    Concat,
    Constant,
    Field,
    Input,
    Less,
    Op,
    Product,
    Program,
    Select,
    Sum,
    Table,
    Xor,
    operands,
    with_operands,
)

EACH: list[tuple[Op, tuple[int, ...], str]] = [
    (Input(2, -1, 5), (), "input 2 in [-1, 5]"),
    (Constant(-3), (), "constant -3"),
    (AtLeast(4, 7), (4,), "%4 >= 7"),
    (Field(4, 2, 3), (4,), "%4[2:5]"),
    (Xor((4, 5, 4)), (4, 5, 4), "xor %4, %5, %4"),
    (Sum((4, 5), (1, -2), 3), (4, 5), "sum +1*%4 -2*%5 +3"),
    (Product(4, 5), (4, 5), "%4 * %5"),
    (Concat((4, 5), (2, 1)), (4, 5), "concat %4:2, %5:1"),
    (Table(4, (7, 8)), (4,), "table %4 of [7, 8]"),
    (Less(4, 5), (4, 5), "%4 < %5"),
    (Select(4, 5, 6), (4, 5, 6), "%5 if %4 else %6"),
    (Argmax((4, 5)), (4, 5), "argmax %4, %5"),
]


@pytest.mark.parametrize(("op", "refs", "text"), EACH, ids=lambda v: type(v).__name__)
def test_every_operation_prints_and_lists_its_operands(
    op: Op, refs: tuple[int, ...], text: str
) -> None:
    assert operands(op) == refs
    assert str(Program((op,), (), (0,))) == f"%0 = {text}\nreturn %0"


@pytest.mark.parametrize("op", [op for op, _, _ in EACH], ids=lambda op: type(op).__name__)
def test_other_operands_leave_all_else_alone(op: Op) -> None:
    others = tuple(10 + i for i in range(len(operands(op))))
    moved = with_operands(op, others)
    assert operands(moved) == others
    assert with_operands(moved, operands(op)) == op


@pytest.mark.parametrize("op", [op for op, _, _ in EACH], ids=lambda op: type(op).__name__)
def test_operations_are_immutable(op: Op) -> None:
    for field in fields(op):
        with pytest.raises(FrozenInstanceError):
            setattr(op, field.name, 0)


def test_names_are_printed_and_long_tables_shortened() -> None:
    build = Builder()
    code = build.add(Input(0, 0, 31, name="speed"))
    table = build.add(Table(code, tuple(range(32)), name="half"))
    shown = ", ".join(map(str, range(16)))
    assert str(build.program((code,), (table, code))) == (
        "%0 = input 0 in [0, 31]  # speed\n"
        f"%1 = table %0 of [{shown}, ... 32 entries]  # half\n"
        "return %1, %0"
    )


def test_equal_operations_become_one_and_the_first_name_stays() -> None:
    build = Builder()
    code = build.add(Input(0, 0, 7))
    first = build.add(AtLeast(code, 3, name="first"))
    assert build.add(AtLeast(code, 3, name="second")) == first
    assert build.add(AtLeast(code, 4, name="first")) != first
    assert [op.name for op in build.ops] == ["", "first", "first"]


def test_uses_count_operands_and_outputs() -> None:
    ops = (Input(0, 0, 1), Xor((0, 0)), Less(0, 1), Constant(4))
    assert Program(ops, (0,), (2, 2)).uses() == [3, 1, 2, 0]


def test_inputs_come_in_the_order_in_which_they_are_packed() -> None:
    ops = (Input(1, 0, 1, name="b"), Input(0, 0, 1, name="a"))
    assert [op.name for op in Program(ops, (1, 0), (0,)).input_ops()] == ["a", "b"]
