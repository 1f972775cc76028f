"""Sums by full adders: the same integers, in fewer cycles."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from scm_hw.ir import Majority, Program
from scm_hw.ir.interp import interpret
from scm_hw.load import cut, lower, quantise
from scm_hw.passes import lower_sums
from scm_hw.rtl import ScmCore, to_verilog
from scm_hw.schedule import lay_out, schedule
from scm_hw.target import TECHNOLOGIES, XC7
from scm_hw.verify import run_amaranth, run_icarus
from tests.hw.programs import packed_vectors, rows_for
from tests.support import optimise, random_model

KINDS = {
    "plain": {"layers": (24,)},
    "many": {"features": 4, "layers": (64,), "outputs": 1},
    "linear": {"features": 5, "layers": (12,), "outputs": 2},
    "classes": {"layers": (14,), "outputs": 3, "features": 6, "task": "classification"},
    "table": {"layers": (10,), "mechanism": "table"},
    "external": {"layers": (10,), "mechanism": "external"},
}


def program_of(kind: str, *, products_cut: bool = True) -> Program:
    model = random_model(3, **({"features": 3, "input_bits": 8} | KINDS[kind]))
    fixed = quantise(model, 9)
    return optimise(lower(model, cut(model, fixed, 9) if products_cut else fixed))


def full_adders(program: Program) -> int:
    return sum(isinstance(op, Majority) for op in program.ops)


@pytest.mark.parametrize("products_cut", [True, False])
@pytest.mark.parametrize("grade", ["1", "ecp5-6", "ice40-hx"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_integers(kind: str, grade: str, products_cut: bool) -> None:
    before = program_of(kind, products_cut=products_cut)
    tech = TECHNOLOGIES[grade]
    rows = rows_for(before)
    for multipliers in (False, True):
        after = lower_sums(before, carry_save=True, multipliers=multipliers, tech=tech)
        np.testing.assert_array_equal(interpret(after, rows), interpret(before, rows))
    if kind in ("plain", "many", "linear"):
        assert full_adders(after) > 0


def test_fewer_cycles_where_they_are_asked_for() -> None:
    program = program_of("many")
    fast = lay_out(program, clock_mhz=110, mode="min-latency")
    usual = lay_out(program, clock_mhz=110)
    assert fast.schedule.latency < usual.schedule.latency
    assert full_adders(fast.program) > 0 == full_adders(usual.program)
    latency = fast.schedule.latency
    assert lay_out(program, clock_mhz=110, latency=latency).schedule.latency == latency


@pytest.mark.parametrize("kind", ["linear", "classes"])
def test_in_simulation(kind: str, tmp_path: Path) -> None:
    lowered = lower_sums(program_of(kind), carry_save=True, multipliers=True, tech=XC7)
    assert full_adders(lowered) > 0
    plan = schedule(lowered, clock_mhz=100)
    core = ScmCore(lowered, plan)
    vectors = packed_vectors(lowered, core.in_widths, core.out_widths, 24)
    result = run_amaranth(lambda: ScmCore(lowered, plan), vectors, plan.latency, 1)
    assert result.failures == ()
    path = tmp_path / "scm_core.v"
    path.write_text(to_verilog(core, "scm_core"))
    assert run_icarus(path, vectors, plan.latency, 1, workdir=tmp_path / "work").failures == ()
