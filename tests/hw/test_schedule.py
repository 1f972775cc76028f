"""Cycles: operands are there in time, stages fit the clock, and what can't be met is refused."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from scm_hw.errors import OptionError
from scm_hw.ir import Builder, Constant, Input, Product, Program, operands, ranges, verify
from scm_hw.ir.interp import interpret
from scm_hw.load import lower, quantise
from scm_hw.passes import lower_sums
from scm_hw.schedule import MODES, Schedule, lay_out, schedule
from scm_hw.schedule.ends import Ends
from scm_hw.schedule.schedule import USABLE
from scm_hw.target import XC7, delay, free_ops
from tests.hw.programs import rows_for
from tests.support import optimise, random_model

REGISTER, SETUP = XC7.register, XC7.setup
CLOCKS = (25.0, 60.0, 100.0, 130.0)


def optimised(seed: int = 0, **options: Any) -> Program:
    model = random_model(seed, **({"layers": (8, 3), "bits": 15} | options))
    return optimise(lower(model, quantise(model, 8)))


def arrivals(program: Program, plan: Schedule) -> list[tuple[int, float]]:
    """The cycle of every operation and when in it its value is there, worked out from the plan."""
    known = ranges(program)
    found: list[tuple[int, float]] = []
    for ref, op in program:
        before = [found[r] for r in operands(op)]
        first = max((cycle for cycle, _ in before), default=0)
        planned = plan.cycles[ref]
        cycle = first if planned is None else planned
        assert cycle >= first, f"{op} would read what isn't there yet"
        start = max([REGISTER, *(time for at, time in before if at == cycle)])
        takes = 0.0 if planned is None else delay(op, known, known[ref], XC7)
        found.append((cycle, start + takes))
    return found


@pytest.mark.parametrize("clock_mhz", CLOCKS)
@pytest.mark.parametrize("encoder", ["thermometer", "binary", "none"])
def test_stages_fit_the_clock(encoder: str, clock_mhz: float) -> None:
    program = lower_sums(
        optimised(encoder=encoder, bits=7, task="classification", outputs=3), tech=XC7
    )
    plan = schedule(program, clock_mhz=clock_mhz)
    assert plan.period_ns == 1000 / clock_mhz
    times = arrivals(program, plan)
    assert plan.latency == 1 + max(times[ref][0] for ref in program.outputs)
    assert len(plan.stage_ns) == plan.latency
    for stage, longest in enumerate(plan.stage_ns):
        slowest = max(time for cycle, time in times if cycle == stage)
        assert longest == pytest.approx(slowest)
        assert longest + SETUP <= plan.period_ns * USABLE + 1e-9
    assert plan.initiation_interval == 1


def test_nothing_waits_without_need() -> None:
    """An operation is in the first cycle that has its operands and the time for it."""
    program = lower_sums(optimised(), tech=XC7)
    plan = schedule(program, clock_mhz=100)
    known, times = ranges(program), arrivals(program, plan)
    for ref, op in program:
        before = [times[r] for r in operands(op)]
        first = max((cycle for cycle, _ in before), default=0)
        if plan.cycles[ref] not in (None, first):
            start = max(time for cycle, time in before if cycle == first)
            assert start + delay(op, known, known[ref], XC7) + SETUP > plan.period_ns * USABLE


def test_free_operations_have_no_place_in_time() -> None:
    program = lower_sums(optimised(), tech=XC7)
    plan = schedule(program, clock_mhz=100)
    free = free_ops(program, XC7)
    assert free
    assert {ref for ref, cycle in enumerate(plan.cycles) if cycle is None} == free


def test_a_faster_clock_takes_no_fewer_cycles() -> None:
    program = lower_sums(optimised(), tech=XC7)
    latencies = [schedule(program, clock_mhz=c).latency for c in (10, 40, 70, 100, 130, 150)]
    assert all(slow <= fast for slow, fast in pairwise(latencies))
    assert latencies[0] == 1 < latencies[-1]


def test_grades_scale_all_delays() -> None:
    program = lower_sums(optimised(), tech=XC7)
    latency = {g: schedule(program, clock_mhz=110, grade=g).latency for g in ("3", "1", "1L")}
    assert latency["3"] <= latency["1"] <= latency["1L"]
    assert latency["3"] < latency["1L"]


def test_an_input_that_is_an_output_takes_one_cycle() -> None:
    build = Builder()
    code = build.add(Input(0, 0, 7, name="code"))
    for program in (build.program((code,), (code,)), build.program((code,), (_seven(build),))):
        assert schedule(program, clock_mhz=100).latency == 1


def _seven(build: Builder) -> int:
    return build.add(Constant(7))


def product_program(*widths: int) -> Program:
    build = Builder()
    refs = [build.add(Input(i, 0, (1 << w) - 1, name=f"x{i}")) for i, w in enumerate(widths)]
    total = refs[0]
    for ref in refs[1:]:
        total = build.add(Product(total, ref, name="mechanism.product"))
    return build.program(tuple(refs), (total,))


@pytest.mark.parametrize("widths", [(8, 8), (12, 12, 12), (13, 12, 10, 10)])
@pytest.mark.parametrize("grade", ["1", "2", "1L"])
def test_a_clock_that_cant_be_met_names_the_nearest(widths: tuple[int, ...], grade: str) -> None:
    program = product_program(*widths)
    pattern = (
        r"clock must be at most ([\d.]+) MHz for mechanism.product to fit one cycle, "
        r"not 450; lower --clock"
    )
    with pytest.raises(OptionError) as caught:
        schedule(program, clock_mhz=450, grade=grade)
    found = re.fullmatch(pattern, str(caught.value))
    assert found, str(caught.value)
    nearest = float(found[1])
    schedule(program, clock_mhz=nearest, grade=grade)
    with pytest.raises(OptionError):
        schedule(program, clock_mhz=nearest + 0.11, grade=grade)


def test_stages_as_short_as_one_operation() -> None:
    program = lower_sums(optimised(), tech=XC7)
    usual = schedule(program, clock_mhz=50)
    short = schedule(program, clock_mhz=50, shortest_stages=True)
    known, free = ranges(program), free_ops(program, XC7)
    slowest = max(delay(op, known, known[ref], XC7) for ref, op in program if ref not in free)
    assert max(short.stage_ns) == pytest.approx(REGISTER + slowest)
    assert short.latency > usual.latency
    assert short.max_clock_mhz > usual.max_clock_mhz


def test_the_fastest_clock_is_one_that_works() -> None:
    program = lower_sums(optimised(), tech=XC7)
    plan = schedule(program, clock_mhz=80)
    assert plan.max_clock_mhz >= 80
    again = schedule(program, clock_mhz=0.999 * plan.max_clock_mhz)
    assert again.latency <= plan.latency


def test_one_enable_for_many_registers_limits_a_fast_clock() -> None:
    program = lower_sums(optimised(), tech=XC7)
    plan = replace(schedule(program, clock_mhz=80), stage_ns=(REGISTER + XC7.level,))
    few, many = plan.max_clock_of(30), plan.max_clock_of(3000)
    assert plan.max_clock_mhz > few > many > 150
    for handshake in ("skid", "none"):
        free = replace(plan, ends=Ends(handshake))
        assert free.max_clock_of(3000) == plan.max_clock_mhz


@pytest.mark.parametrize("grade", ["3", "1", "1L"])
def test_the_fastest_clock_is_the_one_that_is_refused_above(grade: str) -> None:
    """Set-up times scale with the grade: both answers have the same rule."""
    program = product_program(12, 12)
    fastest = schedule(program, clock_mhz=20, grade=grade).max_clock_mhz
    with pytest.raises(OptionError) as caught:
        schedule(program, clock_mhz=900, grade=grade)
    found = re.search(r"at most ([\d.]+) MHz", str(caught.value))
    assert found and float(found[1]) <= fastest < float(found[1]) + 0.1


# Layouts


@pytest.mark.parametrize("mode", MODES)
def test_every_layout_does_the_same(mode: str) -> None:
    program = optimised(mechanism="table", features=2)
    layout = lay_out(program, clock_mhz=70, mode=mode)
    verify(layout.program)
    rows = rows_for(program, 200)
    np.testing.assert_array_equal(interpret(layout.program, rows), interpret(program, rows))
    arrivals(layout.program, layout.schedule)


def test_the_fewest_cycles_and_as_many_as_allowed() -> None:
    program = optimised(layers=(20,))
    fewest = lay_out(program, clock_mhz=120, mode="min-latency")
    balanced = lay_out(program, clock_mhz=120)
    assert fewest.schedule.latency <= balanced.schedule.latency
    for latency in range(fewest.schedule.latency, 12):
        layout = lay_out(program, clock_mhz=120, latency=latency)
        assert layout.schedule.latency <= latency
        assert layout.luts <= fewest.luts
    wanted = fewest.schedule.latency - 1
    message = (
        f"latency must be at least {wanted + 1} cycles at 120 MHz for this model, not {wanted}; "
        "allow more cycles or lower --clock"
    )
    with pytest.raises(OptionError, match=f"^{re.escape(message)}$"):
        lay_out(program, clock_mhz=120, latency=wanted)


def test_an_unknown_mode_is_refused() -> None:
    message = "pipeline must be one of min-latency, balanced, max-clock, not 'fast'"
    with pytest.raises(OptionError, match=f"^{re.escape(message)}$"):
        lay_out(optimised(), clock_mhz=100, mode="fast")
