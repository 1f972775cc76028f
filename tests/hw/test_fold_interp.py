"""A folded core as a whole in NumPy: what its memories and its steps give, without a simulator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scm_explore.evaluate import compile_point
from scm_explore.space import Point
from scm_hw import boards
from scm_hw.__main__ import main
from scm_hw.design import Options, compile_model
from scm_hw.errors import CompilerError
from scm_hw.fold import FoldPlan, Machine, check_fold, interp, interpret_fold
from scm_hw.passes import Reference
from tests.hw.commands import small_model
from tests.hw.test_fold import FOLDS, MODELS, folded
from tests.support import random_model

REFUSED = r"^folding must keep all outputs, not give "


@pytest.mark.parametrize("fold", FOLDS)
@pytest.mark.parametrize("name", MODELS)
def test_every_kind_of_model_in_every_fold(name: str, fold: str) -> None:
    number = list(MODELS).index(name)
    meaning, plan = folded(fold, readout_lanes=1 + number % 4, **MODELS[name])
    reference = Reference(meaning)
    check_fold(plan, reference)
    values = interpret_fold(plan, reference.inputs)
    np.testing.assert_array_equal(values.outputs, reference.outputs)
    assert len(values.hidden) == len(plan.layers)


@settings(max_examples=25, derandomize=True, deadline=None, database=None)
@given(
    seed=st.integers(0, 1000),
    pe=st.integers(1, 9),
    simd=st.integers(1, 40),
    lanes=st.integers(1, 9),
    options=st.sampled_from(list(MODELS.values())),
)
def test_random_models_in_random_folds(
    seed: int, pe: int, simd: int, lanes: int, options: dict[str, Any]
) -> None:
    meaning, plan = folded(f"{pe}x{simd}", seed, lanes, **options)
    check_fold(plan, Reference(meaning))


# Planted faults: in the machine, in each of its memories, and in the plan


def swapped(words: list[int]) -> list[int]:
    """The first two words that differ, in each other's place."""
    other = next(i for i, word in enumerate(words) if word != words[0])
    return [words[other], *words[1:other], words[0], *words[other + 1 :]]


def flipped(words: list[int]) -> list[int]:
    """The lowest bit of every word, the other way round."""
    return [word ^ 1 for word in words]


@pytest.mark.parametrize("fault", [swapped, flipped])
@pytest.mark.parametrize(
    "memory", ["sign_words", "threshold_words", "readout_words", "linear_words"]
)
def test_a_fault_in_a_memory_is_found(
    memory: str, fault: Callable[[list[int]], list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    meaning, plan = folded("2x3", layers=(5, 4), outputs=2, features=9, bits=4)
    assert isinstance(interp, ModuleType)
    assert len(plan.machine.linear) > 1
    right = getattr(interp, memory)
    monkeypatch.setattr(interp, memory, lambda *given: fault(right(*given)))
    with pytest.raises(CompilerError, match=REFUSED):
        check_fold(plan, Reference(meaning))


def another_threshold(machine: Machine) -> Machine:
    layer = machine.layers[0]
    changed = (layer.thresholds[0] + 1, *layer.thresholds[1:])
    return replace(machine, layers=(replace(layer, thresholds=changed), *machine.layers[1:]))


def other_signs(machine: Machine) -> Machine:
    layer = machine.layers[-1]
    return replace(machine, layers=(*machine.layers[:-1], replace(layer, signs=~layer.signs)))


def without_absences(machine: Machine) -> Machine:
    layer = machine.layers[0]
    return replace(machine, layers=(replace(layer, present=None), *machine.layers[1:]))


@pytest.mark.parametrize("fault", [another_threshold, other_signs, without_absences])
def test_a_fault_in_the_machine_is_found(fault: Callable[[Machine], Machine]) -> None:
    meaning, plan = folded("2x3", seed=4, **MODELS["selective"])
    wrong = FoldPlan(fault(plan.machine), plan.folds, plan.period_ns)
    with pytest.raises(CompilerError, match=REFUSED):
        check_fold(wrong, Reference(meaning))


def test_a_register_that_is_too_narrow_is_found() -> None:
    meaning, plan = folded("2x3", layers=(5,), outputs=2)
    plan.machine.__dict__["score_widths"] = [width - 2 for width in plan.machine.score_widths]
    with pytest.raises(CompilerError, match=REFUSED):
        check_fold(plan, Reference(meaning))


# Every door


@pytest.fixture
def faulty(monkeypatch: pytest.MonkeyPatch) -> None:
    right = interp.readout_words
    monkeypatch.setattr(interp, "readout_words", lambda *given: flipped(right(*given)))


@pytest.mark.usefixtures("faulty")
@pytest.mark.parametrize(
    "options", [("--fold", "2x2"), ("--fold", "2x2", "--part", "xc7a35tcpg236-1")]
)
def test_a_wrong_fold_ends_a_build_without_simulation(
    options: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    small_model(Path("m.npz"))
    build = ["build", "m.npz", "--no-sim", "--no-synth", "-q", "--out", "out", *options]
    assert main(build) == 1
    told = capsys.readouterr().err
    assert told.startswith("error: folding must keep all outputs, not give ")
    assert told.count("\n") == 1
    assert not Path("out").exists()


@pytest.mark.usefixtures("faulty")
def test_a_wrong_fold_ends_a_search() -> None:
    point = Point(
        encoder="thermometer",
        input_bits=8,
        nodes=(4,),
        activation="sign",
        inputs_per_node=None,
        bias_range="auto",
        frac_bits=8,
        pipeline="balanced",
        fold="2x2",
        tables="lut",
    )
    with pytest.raises(CompilerError, match=REFUSED):
        compile_point(random_model(1), point, boards.get("arty-a7"))


@pytest.mark.usefixtures("faulty")
def test_a_fold_that_replaces_an_unrolled_core_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scm_hw.design.shape.within", lambda *_: False)
    with pytest.raises(CompilerError, match=REFUSED):
        compile_model(random_model(1), boards.get("arty-a7"), Options(frac_bits=8))


@pytest.mark.usefixtures("faulty")
def test_a_fold_of_what_is_never_tried_unrolled_is_checked() -> None:
    model = random_model(1, features=4, bits=1, layers=(500,), outputs=6)
    with pytest.raises(CompilerError, match=REFUSED):
        compile_model(model, boards.by_part("xc7s6cpga196-1"), Options())


def test_evaluation_rows_are_compared_too(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr(
        "scm_hw.design.shape.check_fold", lambda plan, reference: seen.append(reference)
    )
    model = random_model(1, rows=7)
    compile_model(model, boards.get("arty-a7"), Options(fold="2x2"))
    assert len(seen[0].inputs) > len(Reference(seen[0].program).inputs)
