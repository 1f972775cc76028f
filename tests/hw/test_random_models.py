"""Random models over the whole space of the schema: file, program, passes, layout and hardware."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from scm_hw.errors import OptionError, UnsupportedModelError
from scm_hw.fold import FoldedCore, FoldPlan, fold_machine, parse_fold
from scm_hw.interp import interpret
from scm_hw.ir import Program, verify
from scm_hw.load import (
    Model,
    classes_of,
    codes,
    evaluate,
    fixed_output,
    lower,
    mechanism_words,
    model_from_arrays,
    quantise,
)
from scm_hw.passes import optimise
from scm_hw.report.synthesis import synthesise
from scm_hw.rtl import ScmCore, to_verilog
from scm_hw.schedule import MODES, lay_out
from scm_hw.simulate import run_amaranth, run_netlist
from tests.hw.programs import packed_vectors, rows_for
from tests.support import model_arrays

BOUNDED = settings(
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)

MECHANISMS = ("none", "external", "polynomial", "table")


@st.composite
def model_options(
    draw: st.DrawFn,
    *,
    features: int = 6,
    layers: int = 3,
    width: int = 6,
    bits: int = 12,
    mechanisms: tuple[str, ...] = MECHANISMS,
) -> dict[str, Any]:
    """The options of a random model file, any combination that the schema allows.

    At most so many features of so many bits, and layers of so many nodes.
    """
    encoder = draw(st.sampled_from(["thermometer", "binary", "gray", "none"]))
    mechanism = draw(st.sampled_from(mechanisms))
    # The generator's tables have up to eight cells a side.
    input_bits = draw(st.integers(3 if mechanism == "table" else 1, bits))
    most = (1 << input_bits) - 1 if encoder == "thermometer" else input_bits
    nodes = draw(st.lists(st.integers(1, width), max_size=layers))
    task = draw(st.sampled_from(["regression", "classification"]))
    return {
        "seed": draw(st.integers(0, 2**31)),
        "features": draw(st.integers(1, features)),
        "outputs": draw(st.integers(1 if task == "regression" else 2, 4)),
        "layers": tuple(nodes),
        "activation": tuple(draw(st.sampled_from(["sign", "step"])) for _ in nodes),
        "encoder": encoder,
        "bits": draw(st.integers(1, min(most, 7))),
        "spacing": draw(st.sampled_from(["uniform", "quantile"])),
        "input_bits": input_bits,
        "inputs_per_node": draw(st.sampled_from([None, None, 1, 2])),
        "linear": draw(st.booleans()),
        "mechanism": mechanism,
        "task": task,
        "rows": 15,
    }


def compiled_program(options: dict[str, Any], frac_bits: int) -> tuple[Model, Program]:
    """The literal program; the example is dropped if its mechanism is wider than hardware takes."""
    model = model_from_arrays(model_arrays(**options))
    try:
        fixed = quantise(model, frac_bits)
    except UnsupportedModelError:
        assume(False)
    return model, lower(model, fixed)


@settings(BOUNDED, max_examples=120)
@given(model_options(), st.integers(1, 12))
def test_programs_are_their_models(options: dict[str, Any], frac_bits: int) -> None:
    """On rows of the evaluation set, a little outside the training range so that codes saturate."""
    model, program = compiled_program(options, frac_bits)
    verify(program)
    assert model.evaluation is not None
    fixed = quantise(model, frac_bits)
    activity = evaluate(model, model.evaluation.inputs, model.evaluation.mechanism)
    code = codes(model, model.evaluation.inputs)
    expected = fixed_output(model, fixed, activity, code)
    if model.is_classifier:
        expected = classes_of(expected)[:, None]
    rows = code
    if fixed.word_range is not None:
        rows = np.hstack([code, mechanism_words(model, fixed, activity.mechanism)])
    np.testing.assert_array_equal(interpret(program, rows), expected)


@settings(BOUNDED, max_examples=120)
@given(model_options(), st.integers(1, 12), st.sampled_from(MODES))
def test_passes_and_layouts_keep_the_integers(
    options: dict[str, Any], frac_bits: int, mode: str
) -> None:
    _, program = compiled_program(options, frac_bits)
    rows = rows_for(program, 60)
    expected = interpret(program, rows)
    small = optimise(program)
    np.testing.assert_array_equal(interpret(small, rows), expected)
    layout = lay_out(small, clock_mhz=30, mode=mode)
    verify(layout.program)
    np.testing.assert_array_equal(interpret(layout.program, rows), expected)


@settings(BOUNDED, max_examples=10)
@given(model_options(features=2, layers=2), st.integers(1, 8), st.sampled_from([30.0, 70.0, 140.0]))
def test_cores_are_their_models(options: dict[str, Any], frac_bits: int, clock: float) -> None:
    """Values, latency, stalls on both sides and resets in mid-stream, in Amaranth's simulator."""
    _, program = compiled_program(options, frac_bits)
    try:
        layout = lay_out(optimise(program), clock_mhz=clock)
    except OptionError:
        # A multiplier may be slower than the clock.
        layout = lay_out(optimise(program), clock_mhz=30)
    core = ScmCore(layout.program, layout.schedule)
    literal = packed_vectors(program, core.in_widths, core.out_widths, 16)
    result = run_amaranth(lambda: core, literal, core.latency)
    assert result.failures == ()


def folded_core(model: Model, program: Program, frac_bits: int, fold: str) -> FoldedCore:
    machine = fold_machine(model, quantise(model, frac_bits), program)
    return FoldedCore(FoldPlan(machine, parse_fold(fold, len(model.layers)), 20.0))


@settings(BOUNDED, max_examples=8)
@given(model_options(features=2, layers=2), st.integers(1, 8), st.integers(1, 3), st.integers(1, 4))
def test_folded_cores_are_their_models(
    options: dict[str, Any], frac_bits: int, pe: int, simd: int
) -> None:
    """The same, with weights in memories."""
    assume(options["layers"])
    model, program = compiled_program(options, frac_bits)
    try:
        core = folded_core(model, program, frac_bits, f"{pe}x{simd}")
    except UnsupportedModelError:
        assume(False)
    literal = packed_vectors(program, core.in_widths, core.out_widths, 5)
    result = run_amaranth(lambda: core, literal, core.latency, core.initiation_interval)
    assert result.failures == ()


def netlist_failures(core: ScmCore | FoldedCore, program: Program, count: int) -> tuple[str, ...]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        synthesise({"scm_core.v": to_verilog(core, "scm_core")}, netlist=folder / "netlist.v")
        vectors = packed_vectors(program, core.in_widths, core.out_widths, count)
        result = run_netlist(
            folder / "netlist.v",
            vectors,
            core.latency,
            core.initiation_interval,
            workdir=folder / "work",
        )
    return result.failures


# Synthesis takes seconds, and minutes for large multipliers: few examples of small models, and none
# of a search for a smaller one that fails too.
NETLISTS = settings(BOUNDED, max_examples=3, phases=[Phase.generate])


@pytest.mark.long
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("fold", [False, True], ids=["unrolled", "folded"])
@settings(NETLISTS)
@given(data=st.data(), frac_bits=st.integers(1, 4))
def test_netlists_are_their_models(
    fold: bool, mechanism: str, data: st.DataObject, frac_bits: int
) -> None:
    options = data.draw(
        model_options(features=2, layers=2, width=3, bits=5, mechanisms=(mechanism,))
    )
    model, program = compiled_program(options, frac_bits)
    if fold:
        assume(options["layers"])
        core: ScmCore | FoldedCore = folded_core(model, program, frac_bits, "2x2")
    else:
        layout = lay_out(optimise(program), clock_mhz=60)
        core = ScmCore(layout.program, layout.schedule)
    assert netlist_failures(core, program, 8) == ()


@settings(BOUNDED, max_examples=2)
@given(model_options(features=1, layers=1), st.integers(1, 4))
def test_small_netlists_are_their_models(options: dict[str, Any], frac_bits: int) -> None:
    _, program = compiled_program(options, frac_bits)
    layout = lay_out(optimise(program), clock_mhz=60)
    core = ScmCore(layout.program, layout.schedule)
    assert netlist_failures(core, program, 12) == ()
