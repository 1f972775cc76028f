"""The cost model: what it counts, and that Yosys counts about the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from scm_hw import passes
from scm_hw.ir import Builder, Field, Input, Product, Program, Sum, Table, ranges
from scm_hw.load import lower, quantise
from scm_hw.rtl import ScmCore, to_verilog
from scm_hw.schedule import by_operation, estimate, lay_out, schedule
from scm_hw.target import TECHNOLOGIES
from scm_hw.target.functions import function_luts
from scm_hw.tools.synthesis import synthesise
from tests.support import random_model


def one(op: object, *inputs: Input) -> Program:
    build = Builder()
    refs = tuple(build.add(i) for i in inputs)
    return build.program(refs, (build.add(op),))  # type: ignore[arg-type]


def luts(program: Program) -> int:
    return by_operation(program, schedule(program, clock_mhz=10))[-1].lut


def test_a_table_costs_the_functions_that_it_holds() -> None:
    index = Input(0, 0, 31)
    assert luts(one(Table(0, (0, 1, 1, 0) * 8), index)) == 1
    assert luts(one(Table(0, (8, 9, 9, 8) * 8), index)) == 1
    assert luts(one(Table(0, tuple(v * v % 64 for v in range(32))), index)) == 4
    # A bit of the index as it is, or its inverse, and the same function again.
    assert luts(one(Table(0, (0, 1) * 16), index)) == 0
    assert luts(one(Table(0, (-1, 0) * 16), index)) == 0
    assert luts(one(Table(0, (0, 3, 3, 0) * 8), index)) == 1


def test_functions_in_small_luts() -> None:
    def truth(function: Callable[..., bool], inputs: int) -> tuple[bool, ...]:
        values = ([bool(v >> i & 1) for i in range(inputs)] for v in range(1 << inputs))
        return tuple(function(*bits) for bits in values)

    lut4, lut6 = TECHNOLOGIES["ice40-up"], TECHNOLOGIES["1"]
    every = truth(lambda *bits: all(bits), 5)
    assert (function_luts(every, lut4), function_luts(every, lut6)) == (2, 1)
    parity = truth(lambda *bits: sum(bits) % 2 == 1, 5)
    assert function_luts(parity, lut4) == 2
    majority = truth(lambda *bits: sum(bits) > 2, 5)
    assert function_luts(majority, lut4) == 3
    unused = truth(lambda a, b, c, d, e: (a and b) or c, 5)
    assert function_luts(unused, lut4) == 1


def test_bits_that_never_change_or_are_not_read_have_no_registers() -> None:
    build = Builder()
    index = build.add(Input(0, 0, 31))
    table = build.add(Table(index, tuple(64 * (v * v % 7) for v in range(32))))
    total = build.add(Sum((table, table), (1, 1)))
    sign = build.add(Field(total, 9, 1))
    program = build.program((index,), (sign,))
    cycles = tuple(None if ref == sign else 0 for ref in range(4))
    plan = replace(schedule(program, clock_mhz=10), cycles=cycles, latency=1)
    # Of ten bits of the sum one is read.
    assert [cost.ff for cost in by_operation(program, plan)] == [0, 0, 1, 0]


def test_an_addition_costs_what_is_added() -> None:
    wide, narrow = Input(0, 0, 255), Input(1, 0, 7)
    both = Input(1, 0, 255)
    assert 3 <= luts(one(Sum((0, 1), (1, 1)), wide, narrow)) <= 8
    assert luts(one(Sum((0, 1), (1, 32)), wide, narrow)) < luts(
        one(Sum((0, 1), (1, 1)), wide, both)
    )
    assert luts(one(Sum((0,), (4,)), wide)) == 0


def test_an_absorbed_table_is_paid_for_by_its_addition() -> None:
    build = Builder()
    left, index = build.add(Input(0, 0, 255)), build.add(Input(1, 0, 31))
    table = build.add(Table(index, tuple(v % 7 for v in range(32))))
    program = build.program((left, index), (build.add(Sum((left, table), (1, 1))),))
    costs = by_operation(program, schedule(program, clock_mhz=10))
    assert costs[table].lut == 0
    assert costs[-1].lut == 3


def test_wires_cost_nothing_and_products_are_multipliers() -> None:
    assert luts(one(Field(0, 2, 3), Input(0, 0, 255))) == 0
    program = one(Product(0, 1), Input(0, 0, 4095), Input(1, 0, 4095))
    assert by_operation(program, schedule(program, clock_mhz=10))[-1].dsp == 1


def test_registers_hold_values_to_their_last_use() -> None:
    program = one(Sum((0, 1), (1, 1)), Input(0, 0, 255), Input(1, 0, 7))
    plan = schedule(program, clock_mhz=10)
    assert plan.latency == 1
    # Nine bits of sum, and the valid bit.
    assert estimate(program, plan).ff == ranges(program)[-1].width + 1


@pytest.mark.parametrize(
    "options",
    [
        {"features": 6, "layers": (12,), "bits": 31, "linear": False},
        {"features": 6, "layers": (16,), "bits": 31, "inputs_per_node": 2},
        {"features": 4, "layers": (8, 5), "bits": 15, "outputs": 2},
        pytest.param(
            {"features": 6, "layers": (16,), "bits": 25, "spacing": "quantile", "linear": False},
            marks=pytest.mark.long,
        ),
    ],
    ids=["dense", "selective", "deep", "quantile"],
)
def test_yosys_counts_about_the_same(options: dict) -> None:
    # Wide models of one layer are what the terms were fitted to; see bench/estimates.py.
    same_cells(options, "1", "xc7", 0.2 if len(options["layers"]) > 1 else 0.1)


@pytest.mark.parametrize(("grade", "family"), [("ecp5-6", "ecp5"), ("ice40-up", "ice40-up")])
def test_yosys_counts_about_the_same_in_luts_of_four(grade: str, family: str) -> None:
    options = {"features": 5, "layers": (8,), "bits": 15, "inputs_per_node": 2}
    same_cells(options, grade, family, 0.2)


def same_cells(options: dict, grade: str, family: str, allowed: float) -> None:
    clock = 100 if grade == "1" else 12
    model = random_model(5, input_bits=12, **options)
    program = passes.optimise(lower(model, quantise(model, 8)), TECHNOLOGIES[grade])
    layout = lay_out(program, clock_mhz=clock, grade=grade)
    program, plan = layout.program, layout.schedule
    text = to_verilog(ScmCore(program, plan), "scm_core")
    found = synthesise({"scm_core.v": text}, family=family)
    guess = estimate(program, plan)
    assert guess.lut == pytest.approx(found.lut, rel=allowed)
    assert guess.ff == pytest.approx(found.ff, rel=allowed)
    assert guess.dsp == found.dsp
