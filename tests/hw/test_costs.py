"""The cost model: what it counts, and that Yosys counts about the same."""

from __future__ import annotations

import pytest

from scm_hw.ir import Builder, Field, Input, Product, Program, Sum, Table, ranges
from scm_hw.rtl import ScmCore, to_verilog
from scm_hw.schedule import by_operation, estimate, schedule
from scm_hw.tools.synthesis import synthesise
from tests.support import compiled, random_model


def one(op: object, *inputs: Input) -> Program:
    build = Builder()
    refs = tuple(build.add(i) for i in inputs)
    return build.program(refs, (build.add(op),))  # type: ignore[arg-type]


def luts(program: Program) -> int:
    return by_operation(program, schedule(program, clock_mhz=10))[-1].lut


def test_a_table_costs_its_varying_bits() -> None:
    index = Input(0, 0, 31)
    assert luts(one(Table(0, (0, 1) * 16), index)) == 1
    assert luts(one(Table(0, (8, 9) * 16), index)) == 1
    assert luts(one(Table(0, tuple(range(31, -1, -1))), index)) == 5
    assert luts(one(Table(0, (-1, 0) * 16), index)) == 1


def test_an_addition_costs_what_is_added() -> None:
    wide, narrow = Input(0, 0, 255), Input(1, 0, 7)
    assert luts(one(Sum((0, 1), (1, 1)), wide, narrow)) == 3
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
    layout = compiled(random_model(5, input_bits=12, **options), clock_mhz=100)
    program, plan = layout.program, layout.schedule
    text = to_verilog(ScmCore(program, plan), "scm_core")
    found = synthesise({"scm_core.v": text})
    guess = estimate(program, plan)
    assert guess.lut == pytest.approx(found.lut, rel=0.2)
    assert found.ff <= guess.ff
    assert guess.dsp == found.dsp == 0
