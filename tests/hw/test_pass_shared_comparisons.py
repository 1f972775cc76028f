"""Comparisons of one code share the look at its low bits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from scm_hw.ir import AtLeast, Builder, Input, Program, node_part, verify
from scm_hw.ir.interp import interpret
from scm_hw.passes import shared_comparisons as module
from scm_hw.passes.shared_comparisons import shared_comparisons
from scm_hw.rtl import ScmCore, to_verilog
from scm_hw.schedule import estimate, schedule
from scm_hw.target import XC7
from scm_hw.target.technology import ECP5
from scm_hw.verify import run_icarus
from tests.hw.programs import packed_vectors


def comparisons(bounds: list[int], high: int = 4095, low: int = 0) -> Program:
    build = Builder()
    code = build.add(Input(0, low, high, name="x"))
    bits = [
        build.add(AtLeast(code, bound, name=f"layer1.node{i}", part=node_part(1, i)))
        for i, bound in enumerate(bounds)
    ]
    return build.program((code,), tuple(bits))


def every_row(program: Program) -> np.ndarray:
    (op,) = program.input_ops()
    return np.arange(op.low, op.high + 1)[:, None]


def thresholds(count: int, step: int, high: int = 4095, seed: int = 0) -> list[int]:
    rng = np.random.default_rng(seed)
    found = rng.choice(np.arange(step, high + 1, step), count, replace=False)
    return [int(bound) for bound in np.sort(found)]


@pytest.mark.parametrize("step", [1, 2, 4, 8, 16, 32, 64])
@pytest.mark.parametrize("high", [4095, 3000, 255])
def test_every_code_compares_as_before(step: int, high: int) -> None:
    before = comparisons(thresholds(min(30, high // step), step, high), high)
    after = shared_comparisons(before, XC7)
    verify(after)
    rows = every_row(before)
    np.testing.assert_array_equal(interpret(after, rows), interpret(before, rows))


def test_steps_of_different_sizes_share_too() -> None:
    mixed = [*thresholds(20, 8), *thresholds(20, 32, seed=1), *thresholds(9, 2, seed=2)]
    before = comparisons(sorted(set(mixed)))
    after = shared_comparisons(before, XC7)
    rows = every_row(before)
    np.testing.assert_array_equal(interpret(after, rows), interpret(before, rows))


@pytest.mark.parametrize(("step", "most"), [(32, 1.15), (16, 1.25), (8, 1.45), (4, 1.65)])
def test_a_comparison_takes_little_more_than_a_lut(step: int, most: float) -> None:
    before = comparisons(thresholds(40, step))
    after = shared_comparisons(before, XC7)

    def luts(program: Program) -> int:
        return estimate(program, schedule(program, clock_mhz=100)).lut

    assert luts(after) <= most * 40 < luts(before)


def test_one_lut_and_lone_comparisons_stay() -> None:
    for bounds in ([64, 128, 2048], [77], [8, 4095]):
        program = comparisons(bounds)
        assert shared_comparisons(program, XC7) is program
    signed = comparisons([8, 24, 40], high=2047, low=-2048)
    assert shared_comparisons(signed, XC7) is signed
    small = comparisons(thresholds(30, 8))
    assert shared_comparisons(small, ECP5) is small


def test_bounds_that_are_not_told_apart_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    before = comparisons(thresholds(30, 16))
    monkeypatch.setattr(module, "_told_apart", lambda *_: True)
    rows = every_row(before)
    wrong = shared_comparisons(before, XC7)
    assert (interpret(wrong, rows) != interpret(before, rows)).any()


def test_the_core_gives_the_same_bits(tmp_path: Path) -> None:
    program = shared_comparisons(comparisons(thresholds(25, 8)), XC7)
    plan = schedule(program, clock_mhz=100)
    core, source = ScmCore(program, plan), tmp_path / "core.v"
    source.write_text(to_verilog(core, "scm_core"))
    vectors = packed_vectors(program, core.in_widths, core.out_widths, 200)
    run_icarus(source, vectors, plan.latency, workdir=tmp_path).check()
