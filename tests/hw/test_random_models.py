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
from scm_hw.fold import FoldPlan, fold_machine, parse_fold
from scm_hw.ir import Program, verify
from scm_hw.ir.interp import interpret
from scm_hw.load import (
    Model,
    check_supported,
    classes_of,
    codes,
    evaluate,
    fixed_output,
    lower,
    lower_model,
    mechanism_words,
    model_from_arrays,
    quantise,
)
from scm_hw.rtl import ScmCore, to_verilog
from scm_hw.rtl.fold import FoldedCore
from scm_hw.schedule import MODES, lay_out
from scm_hw.tools.synthesis import synthesise
from scm_hw.verify import run_amaranth, run_netlist
from tests.hw import oracle
from tests.hw.programs import packed_vectors, rows_for
from tests.hw.random_models import (
    MECHANISMS,
    UNFIT,
    drawn_model,
    model_options,
    odd_arrays,
    unfit_arrays,
)
from tests.support import exposing_hidden, optimise

# A number that overflows on the way is none that hardware was asked for.
pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")

BOUNDED = settings(
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


def compiled_program(options: dict[str, Any], frac_bits: int) -> tuple[Model, Program]:
    """The literal program; the example is dropped where hardware has no room for its numbers."""
    try:
        model = drawn_model(options)
        fixed = quantise(model, frac_bits)
    except (OptionError, UnsupportedModelError) as refusal:
        assert "\n" not in str(refusal)
        assume(False)
    return model, lower(model, fixed)


@settings(BOUNDED, max_examples=120)
@given(model_options(), st.integers(0, 2**31))
def test_nodes_are_those_of_the_file(options: dict[str, Any], seed: int) -> None:
    """By the words of the schema, in fractions, for random codes and those of the last rows."""
    assume(options["layers"])
    arrays = odd_arrays(options)
    model = model_from_arrays(exposing_hidden(arrays))
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 1 << options["input_bits"], (8, options["features"]))
    rows = np.vstack([rows, [oracle.code_of(arrays, row) for row in arrays["eval_inputs"][:4]]])
    np.testing.assert_array_equal(codes(model, arrays["eval_inputs"][:4]), rows[-4:])
    for row, found in zip(rows, interpret(lower(model, quantise(model, 1)), rows), strict=True):
        layers = oracle.hidden(arrays, row.tolist())
        assert found.tolist() == [h for layer in layers for h in layer]


@settings(BOUNDED, max_examples=60)
@given(model_options(), st.sampled_from(UNFIT), st.data())
def test_what_hardware_can_not_have_is_refused(
    options: dict[str, Any], fault: str, data: st.DataObject
) -> None:
    """In one line, which names the first layer that is at fault, for the first of its reasons."""
    assume(options["layers"])
    if fault == "unquantised":
        options |= {"encoder": "none"}
        expected = "inputs must be quantised for hardware"
    layer = data.draw(st.integers(0, len(options["layers"]) - 1))
    if fault != "unquantised":
        expected = f"layer {layer + 1} must have "
        expected += "binary weights" if fault == "real" else "activation sign or step for hardware"
    model = model_from_arrays(unfit_arrays(options, fault, layer))
    with pytest.raises(UnsupportedModelError, match=f"^{expected}") as refusal:
        check_supported(model)
    assert "\n" not in str(refusal.value)


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


def core_failures(options: dict[str, Any], frac_bits: int, clock: float) -> tuple[str, ...]:
    """Values, latency, stalls on both sides and resets in mid-stream, in Amaranth's simulator."""
    _, program = compiled_program(options, frac_bits)
    try:
        layout = lay_out(optimise(program), clock_mhz=clock)
    except OptionError:
        # A multiplier may be slower than the clock.
        layout = lay_out(optimise(program), clock_mhz=30)
    core = ScmCore(layout.program, layout.schedule)
    literal = packed_vectors(program, core.in_widths, core.out_widths, 16)
    return run_amaranth(lambda: core, literal, core.latency).failures


SMALL_MODELS = model_options(features=2, layers=2)
CLOCKS = st.sampled_from([30.0, 70.0, 140.0])


@settings(BOUNDED, max_examples=12)
@given(SMALL_MODELS, st.integers(1, 8), CLOCKS)
def test_cores_are_their_models(options: dict[str, Any], frac_bits: int, clock: float) -> None:
    assert core_failures(options, frac_bits, clock) == ()


@pytest.mark.long
@settings(BOUNDED, max_examples=100)
@given(SMALL_MODELS, st.integers(1, 12), CLOCKS)
def test_more_cores_are_their_models(options: dict[str, Any], frac_bits: int, clock: float) -> None:
    assert core_failures(options, frac_bits, clock) == ()


def folded_core(model: Model, program: Program, frac_bits: int, fold: str) -> FoldedCore:
    machine = fold_machine(lower_model(model, quantise(model, frac_bits)))
    return FoldedCore(FoldPlan(machine, parse_fold(fold, len(model.layers)), 20.0))


def folded_failures(options: dict[str, Any], frac_bits: int, pe: int, simd: int) -> tuple[str, ...]:
    """The same, with weights in memories."""
    assume(options["layers"])
    model, program = compiled_program(options, frac_bits)
    try:
        core = folded_core(model, program, frac_bits, f"{pe}x{simd}")
    except UnsupportedModelError:
        assume(False)
    literal = packed_vectors(program, core.in_widths, core.out_widths, 5)
    return run_amaranth(lambda: core, literal, core.latency, core.initiation_interval).failures


@settings(BOUNDED, max_examples=8)
@given(SMALL_MODELS, st.integers(1, 8), st.integers(1, 3), st.integers(1, 4))
def test_folded_cores_are_their_models(
    options: dict[str, Any], frac_bits: int, pe: int, simd: int
) -> None:
    assert folded_failures(options, frac_bits, pe, simd) == ()


@pytest.mark.long
@settings(BOUNDED, max_examples=40)
@given(SMALL_MODELS, st.integers(1, 12), st.integers(1, 4), st.integers(1, 6))
def test_more_folded_cores_are_their_models(
    options: dict[str, Any], frac_bits: int, pe: int, simd: int
) -> None:
    assert folded_failures(options, frac_bits, pe, simd) == ()


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
