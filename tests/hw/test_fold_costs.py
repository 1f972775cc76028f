"""Costs of folded cores of rarer kinds, and the choice among their folds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from scm_hw import boards
from scm_hw.design import Options, compile_model
from scm_hw.fold import Fold, FoldPlan, estimate_fold, fastest_plan, fold_machine
from scm_hw.fold.costs import _chunk_sum, _linear
from scm_hw.fold.machine import Machine
from scm_hw.load import lower_model, quantise
from scm_hw.target import TECHNOLOGIES
from scm_hw.target.resources import within
from tests.support import random_model

BOARD = boards.get("arty-a7")
XC7, ICE40 = TECHNOLOGIES["1"], TECHNOLOGIES["ice40-hx"]


def machine_of(**options: Any) -> Machine:
    model = random_model(1, **options)
    return fold_machine(lower_model(model, quantise(model, 7)))


@pytest.mark.parametrize("simd", [1, 4, 9])
def test_masks_of_codes_cost_a_lut_for_each_bit(simd: int) -> None:
    plain, masked = (_chunk_sum(simd, 8, mask, frozenset(), XC7) for mask in (False, True))
    assert masked.lut - plain.lut == 8 * simd
    assert masked.ff == plain.ff


def test_multipliers_are_of_luts_where_there_are_no_blocks() -> None:
    machine = machine_of(features=3, layers=(4,))
    blocks, luts = _linear(machine, XC7), _linear(machine, ICE40)
    assert blocks.dsp > 0 and luts.dsp == 0
    assert luts.lut > blocks.lut


def test_levels_of_a_converter_cost_their_comparisons() -> None:
    """A binary code of a converter's integers is read off comparisons."""
    model = random_model(1, encoder="binary", bits=3, layers=(4,), linear=False)
    span = model.input_max - model.input_min
    formats = tuple(
        f"{name}=adc:9:{low - 0.3 * size}:{low + 1.3 * size}"
        for name, low, size in zip(model.features, model.input_min, span, strict=True)
    )
    plain, adc = (
        compile_model(model, BOARD, Options(fold="2x2", input_format=given))
        for given in ((), formats)
    )
    assert adc.estimate.lut >= plain.estimate.lut + 3 * 7


def test_lanes_of_codes_are_of_the_first_layer_alone() -> None:
    """Where the first layer reads codes, the others have lanes of their own, and no fold is faster
    that has one size for both and fits."""
    machine = machine_of(features=12, layers=(40, 30), encoder="none", linear=False)
    device = replace(BOARD.device, lut=4000, ff=8000)
    plan = fastest_plan(machine, device, clock_mhz=100.0)
    assert len(plan.engines) == 2
    assert within(estimate_fold(plan), device)
    for pe in (1, 2, 4, 8):
        alike = FoldPlan(machine, (Fold(pe, 4), Fold(pe, 4)), plan.period_ns, "1")
        if within(estimate_fold(alike), device):
            assert plan.latency <= alike.latency
