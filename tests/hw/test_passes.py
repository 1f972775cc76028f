"""All passes, one after the other: the rules of the IR, equal outputs, and ports that stay."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scm_hw import ir, passes
from scm_hw.ir import Argmax, AtLeast, Program, Sum, verify
from scm_hw.ir.interp import interpret
from scm_hw.load import lower, quantise
from scm_hw.passes import ALWAYS, PASSES, Choices, lower_sums
from scm_hw.target import XC7
from tests.hw.programs import random_program, rows_for
from tests.support import optimise, random_model

ENCODERS = ("thermometer", "binary", "gray", "none")
MECHANISMS = ("none", "external", "polynomial", "table")
# Task, outputs, features that a node sees, spacing of thresholds, layers.
SHAPES: tuple[tuple[str, int, int | None, str, tuple[int, ...]], ...] = (
    ("regression", 1, None, "uniform", (6,)),
    ("regression", 2, 2, "quantile", (4, 3)),
    ("classification", 3, None, "quantile", (5,)),
    ("classification", 2, 1, "uniform", (3, 2, 3)),
    ("regression", 1, None, "uniform", ()),
)


def model_program(seed: int = 0, frac_bits: int = 9, **options: Any) -> Program:
    model = random_model(seed, **options)
    return lower(model, quantise(model, frac_bits))


def stages(program: Program) -> Iterator[tuple[str, Program, Program]]:
    """Each pass by name, with what it was given and what it made of it."""
    choices = Choices(XC7, block_tables=True, share_bits=True)
    for one in PASSES:
        options = one.options(choices)
        assert options is not None
        after = one.function(program, **options)
        yield one.name, program, after
        program = after


def check_every_stage(program: Program, count: int = 100, unruly: tuple[str, ...] = ()) -> Program:
    """Outputs, ports and rules after each pass; the rules not after those that are `unruly`."""
    rows = rows_for(program, count)
    expected = interpret(program, rows)
    for name, before, after in stages(program):
        if name not in unruly:
            verify(after)
        np.testing.assert_array_equal(interpret(after, rows), expected, err_msg=name)
        assert ports(after) == ports(before), name
        program = after
    return program


def ports(program: Program) -> list[tuple[int, int, int, str]]:
    return [(op.position, op.low, op.high, op.name) for op in program.input_ops()]


@pytest.mark.parametrize("activation", ["sign", "step"])
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("encoder", ENCODERS)
def test_models_of_every_kind(encoder: str, mechanism: str, activation: str) -> None:
    kind: dict[str, Any] = {"encoder": encoder, "mechanism": mechanism, "activation": activation}
    for seed, (task, outputs, seen, spacing, layers) in enumerate(SHAPES):
        shape: dict[str, Any] = {"task": task, "outputs": outputs, "spacing": spacing}
        shape["inputs_per_node"] = seen
        check_every_stage(model_program(seed, layers=layers, **kind, **shape), 40)


@pytest.mark.parametrize("spacing", ["uniform", "quantile"])
@pytest.mark.parametrize("seen", [None, 1])
@pytest.mark.parametrize("encoder", ENCODERS)
def test_all_codes_of_small_models(encoder: str, seen: int | None, spacing: str) -> None:
    sizes: list[dict[str, Any]] = [
        {"features": 1, "input_bits": 12, "bits": 9, "layers": (5,)},
        {"features": 2, "input_bits": 6, "bits": 5, "layers": (7, 3)},
        {"features": 3, "input_bits": 4, "bits": 3, "layers": (6,), "outputs": 2},
        {"features": 4, "input_bits": 3, "bits": 3, "layers": (12,)},
        {"features": 2, "input_bits": 1, "bits": 1, "layers": (3,)},
    ]
    for seed, size in enumerate(sizes):
        options: dict[str, Any] = {"encoder": encoder, "inputs_per_node": seen, "spacing": spacing}
        program = model_program(seed, **options, **size)
        assert len(rows_for(program)) == 1 << (size["features"] * size["input_bits"])
        check_every_stage(program)


@settings(max_examples=250, derandomize=True, deadline=None, database=None)
@given(st.integers(0, 2**32))
def test_random_programs(seed: int) -> None:
    """Of sums on sums and of classes, lowered, less is known: a table of one may seem short."""
    program = random_program(Random(seed), like_a_model=True)
    check_every_stage(program, 60, unruly=("lower_argmax", "lower_sums"))


@pytest.mark.parametrize("seed", range(6))
def test_biases_on_ties_and_beyond(seed: int) -> None:
    """Integer biases everywhere, and nodes that never switch among them."""
    model = random_model(seed, layers=(24,), features=2, bits=5, input_bits=5)
    model.layers[0].biases[:] = np.arange(-12, 12)
    check_every_stage(lower(model, quantise(model, 8)))


def test_equal_weights_readouts_and_nodes() -> None:
    model = random_model(0, layers=(9,), features=2, bits=7, input_bits=5, spacing="quantile")
    model.layers[0].weights[:5] = 1
    model.layers[0].weights[5:] = -1
    model.layers[0].biases[:] = 0.5
    model.readout[:] = 0.25
    check_every_stage(lower(model, quantise(model, 8)))


def test_readouts_of_zero_and_powers_of_two() -> None:
    model = random_model(0, layers=(9,), encoder="none", features=2, input_bits=6)
    model.readout[:, 0] = [0, 0.5, -0.5, 0.25, -0.25, -0.125, 1, 0, 2**-9]
    model.linear[:, 0] = [-0.5, 0.25]
    check_every_stage(lower(model, quantise(model, 8)))


def test_optimise_runs_the_passes_without_a_choice_in_order() -> None:
    program = model_program(task="classification", outputs=3)
    expected = program
    for one in ALWAYS:
        expected = one.function(expected, **(one.options(Choices(XC7)) or {}))
    assert optimise(program) == expected


def test_optimise_is_deterministic() -> None:
    for encoder, mechanism in product(ENCODERS, MECHANISMS):
        program = model_program(encoder=encoder, mechanism=mechanism)
        assert optimise(program) == optimise(program)


@pytest.mark.parametrize("encoder", ENCODERS)
def test_what_hardware_is_built_from(encoder: str) -> None:
    """No argmax, sums of two operands by powers of two, and a bit."""
    options: dict[str, Any] = {"mechanism": "table", "task": "classification", "outputs": 4}
    program = lower_sums(
        optimise(model_program(1, encoder=encoder, layers=(8, 4), **options)), tech=XC7
    )
    assert not [op for op in program.ops if isinstance(op, Argmax)]
    assert all(isinstance(op.bound, int) for op in program.ops if isinstance(op, AtLeast))
    sums = [op for op in program.ops if isinstance(op, Sum)]
    # A sum of one operand is a negation or a shift: not every model has one.
    assert 2 in {len(op.operands) for op in sums} <= {1, 2, 3}
    assert all(op.weights == (1, 1, 1) for op in sums if len(op.operands) == 3)
    weights = {abs(weight) for op in sums for weight in op.weights}
    assert all(weight & (weight - 1) == 0 for weight in weights)


def test_everything_that_is_left_is_needed() -> None:
    for seed in range(5):
        program = optimise(model_program(seed, layers=(6, 3), inputs_per_node=2))
        uses = program.uses()
        idle = {ref for ref, count in enumerate(uses) if not count}
        assert idle <= set(program.inputs)


def test_ports_that_nobody_reads_stay() -> None:
    model = random_model(0, layers=(2,), features=6, inputs_per_node=1, linear=False)
    program = optimise(lower(model, quantise(model, 6)))
    uses = program.uses()
    assert len(program.inputs) == 6
    assert 0 in [uses[ref] for ref in program.inputs]


# Prose


def test_every_pass_is_in_the_table_of_program_md() -> None:
    text = (Path(ir.__file__).parent / "program.md").read_text()
    table = re.findall(r"^\| `(\w+)`", text.split("## The passes, in order")[1], re.MULTILINE)
    assert table == [one.name for one in PASSES]
    # A file for each, called like its function; nothing but what they share is beside them.
    functions = {one.function.__name__ for one in PASSES}
    assert functions <= {module.name for module in pkgutil.iter_modules(passes.__path__)}
