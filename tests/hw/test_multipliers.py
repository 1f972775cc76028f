"""Constants times inputs, in DSP blocks or in LUTs, by cost and by what there is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from scm_hw.ir import Builder, Constant, Input, Product, Program, Sum
from scm_hw.ir.interp import interpret
from scm_hw.load import lower, quantise
from scm_hw.passes import lower_sums
from scm_hw.rtl import ScmCore, to_verilog
from scm_hw.schedule import estimate, lay_out, schedule, sums_in_blocks
from scm_hw.target import TECHNOLOGIES, XC7
from scm_hw.verify import run_amaranth, run_icarus
from tests.hw.programs import packed_vectors, rows_for
from tests.support import optimise, random_model


def linear_program(seed: int = 1, outputs: int = 1) -> Program:
    model = random_model(seed, features=4, layers=(4,), input_bits=10, outputs=outputs)
    return optimise(lower(model, quantise(model, 14)))


def products(program: Program) -> int:
    return sum(isinstance(op, Product) for op in program.ops)


def test_sums_with_multipliers_are_the_same_sums() -> None:
    program = linear_program(outputs=2)
    lowered = lower_sums(program, multipliers=True, tech=XC7)
    assert products(lowered) > products(program) == 0
    rows = rows_for(program)
    assert np.array_equal(interpret(program, rows), interpret(lowered, rows))


def test_signs_are_taken_care_of_by_the_sum() -> None:
    """A negative constant would be written as wide as the product, and take two DSP blocks."""
    lowered = lower_sums(linear_program(outputs=2), multipliers=True, tech=XC7)
    factors = [lowered.ops[op.right] for op in lowered.ops if isinstance(op, Product)]
    assert all(isinstance(factor, Constant) and factor.value % 2 == 1 for factor in factors)
    assert all(isinstance(factor, Constant) and factor.value > 0 for factor in factors)


def test_multipliers_are_taken_where_the_device_has_them() -> None:
    program = linear_program()
    without = lay_out(program, clock_mhz=100)
    layout = lay_out(program, clock_mhz=100, dsps=20)
    assert products(without.program) == 0
    assert 0 < layout.cost.dsp <= 20
    assert layout.luts < without.luts


def test_no_more_of_them_than_there_are() -> None:
    program = linear_program(outputs=2)
    needed = lay_out(program, clock_mhz=100, dsps=100).cost.dsp
    assert needed > 1
    assert lay_out(program, clock_mhz=100, dsps=needed - 1).cost.dsp == 0


def test_a_clock_too_fast_for_multipliers_leaves_them_out() -> None:
    layout = lay_out(linear_program(), clock_mhz=250, dsps=100)
    assert layout.cost.dsp == 0


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_core_multiplies(seed: int, tmp_path: Path) -> None:
    layout = lay_out(linear_program(seed, outputs=2), clock_mhz=90, dsps=100)
    assert layout.cost.dsp > 0
    core = ScmCore(layout.program, layout.schedule)
    vectors = packed_vectors(layout.program, core.in_widths, core.out_widths)
    assert run_amaranth(lambda: core, vectors, layout.schedule.latency).failures == ()
    path = tmp_path / "scm_core.v"
    path.write_text(to_verilog(core, "scm_core"))
    run = run_icarus(path, vectors, layout.schedule.latency, 1, workdir=tmp_path / "work")
    assert run.failures == ()


def test_blocks_add_what_they_multiply_in_the_same_cycle() -> None:
    """Behind a register it is an addition in LUTs, and counted as one."""
    build = Builder()
    codes = tuple(build.add(Input(i, 0, 4095)) for i in range(2))
    total = build.add(Sum(codes, (2731, 1999)))
    lowered = lower_sums(build.program(codes, (total,)), multipliers=True, tech=XC7)
    slow, fast = (schedule(lowered, clock_mhz=clock) for clock in (100, 130))
    assert (slow.latency, fast.latency) == (1, 2)
    assert len(sums_in_blocks(lowered, slow.cycles, XC7)) == 1
    assert sums_in_blocks(lowered, fast.cycles, XC7) == set()
    assert estimate(lowered, fast).lut > estimate(lowered, slow).lut + 10
    lut4 = TECHNOLOGIES["ecp5-6"]
    assert sums_in_blocks(lowered, slow.cycles, lut4) == set()
