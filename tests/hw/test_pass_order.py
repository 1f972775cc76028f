"""The list of passes: outputs are compared after each of them, whatever is chosen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scm_hw import boards
from scm_hw.__main__ import main
from scm_hw.design import Options, compile_model
from scm_hw.errors import CompilerError
from scm_hw.ir import AtLeast, Input, Program, Sum, Table
from scm_hw.ir.interp import interpret
from scm_hw.load import lower, quantise
from scm_hw.passes import NAMES, PASSES, Choices, Pass, Passes
from scm_hw.schedule import MODES, lay_out
from scm_hw.target import TECHNOLOGIES, XC7
from scm_hw.verify.rows import check_rows
from tests.hw.commands import small_model
from tests.hw.programs import random_sums, rows_for
from tests.support import random_model

ALL = Choices(XC7, block_tables=True, share_bits=True, multipliers=True)


def literal(seed: int = 0, **options: Any) -> Program:
    model = random_model(seed, **options)
    return lower(model, quantise(model, 8))


def off_by_one(program: Program) -> Program:
    """The last output is one too much."""
    wrong = Sum((program.outputs[-1],), (1,), 1)
    outputs = (*program.outputs[:-1], len(program.ops))
    return Program((*program.ops, wrong), program.inputs, outputs)


def spoiling(name: str, fault: Callable[[Program], Program]) -> tuple[Pass, ...]:
    """The passes, with a fault in one of them."""

    def planted(one: Pass) -> Pass:
        def function(program: Program, **options: Any) -> Program:
            return fault(one.function(program, **options))

        return replace(one, function=function) if one.name == name else one

    return tuple(planted(one) for one in PASSES)


# The check itself


@pytest.mark.parametrize("name", NAMES[1:])
def test_a_fault_in_any_pass_is_found_there(name: str) -> None:
    program = literal()
    with pytest.raises(CompilerError, match=rf"^pass {name} must keep all outputs, not give "):
        Passes(program, spoiling(name, off_by_one)).run(ALL)


def test_the_first_difference_is_told() -> None:
    program = Program((Input(0, 0, 3, name="i"), Sum((0,), (2,), name="output.y")), (0,), (1,))

    def fault(program: Program) -> Program:
        return Program((program.ops[0], Table(0, (0, 2, 4, 7))), (0,), (1,))

    with pytest.raises(
        CompilerError,
        match=r"^pass simplify must keep all outputs, not give 7 instead of 6 for output\.y at "
        r"inputs \(3\), the first of \d+ differing rows of 204; report it with the model file$",
    ):
        Passes(program, spoiling("simplify", fault)).run(ALL)


def test_a_difference_in_an_evaluation_row_alone_is_found() -> None:
    """Random codes would hardly meet this one."""
    rows = np.array([[123_456_789, 0], [5, 5]])
    wide = Input(0, 0, (1 << 30) - 1), Input(1, 0, (1 << 30) - 1)
    program = Program((*wide, Sum((0, 1), (1, 1))), (0, 1), (2,))

    def fault(program: Program) -> Program:
        least, above = AtLeast(0, 123_456_789), AtLeast(0, 123_456_790)
        ops = (*program.ops, least, above, Sum((2, 3, 4), (1, 1, -1)))
        return Program(ops, program.inputs, (5,))

    Passes(program, spoiling("simplify", fault)).run(ALL)
    with pytest.raises(CompilerError, match=r"not give 123456790 instead of 123456789"):
        Passes(program, spoiling("simplify", fault), rows).run(ALL)


def broken(program: Program) -> Program:
    return Program(program.ops, program.inputs, (len(program.ops),))


def without_an_output(program: Program) -> Program:
    return Program(program.ops, program.inputs, program.outputs[:1])


def of_a_wider_input(program: Program) -> Program:
    first = program.ops[program.inputs[0]]
    assert isinstance(first, Input)
    ops = list(program.ops)
    ops[program.inputs[0]] = replace(first, high=first.high * 2 + 1)
    return Program(tuple(ops), program.inputs, program.outputs)


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (broken, "must keep the rules of the program: outputs must be references"),
        (without_an_output, "must keep all 2 outputs, not give 1"),
        (of_a_wider_input, "must keep the inputs and their ranges"),
    ],
)
def test_other_faults(fault: Callable[[Program], Program], told: str) -> None:
    with pytest.raises(CompilerError, match=rf"^pass lower_argmax {told}"):
        # A pass behind it would hide two of these.
        Passes(literal(outputs=2), spoiling("lower_argmax", fault)).run(ALL)


def test_all_choices_are_checked_where_layouts_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault that shows at one rate only, which may not even be the one that is taken."""

    def at_one_rate(program: Program, **options: Any) -> Program:
        lowered = PASSES[-1].function(program, **options)
        return off_by_one(lowered) if options["luts_per_ns"] == 3.0 else lowered

    planted = (*PASSES[:-1], replace(PASSES[-1], function=at_one_rate))
    monkeypatch.setattr("scm_hw.passes.order.PASSES", planted)
    with pytest.raises(CompilerError, match=r"^pass lower_sums must keep all outputs"):
        compile_model(random_model(1), boards.get("arty-a7"))


@pytest.mark.parametrize(
    "options", [(), ("--tables", "block"), ("--multipliers", "lut"), ("--pipeline", "max-clock")]
)
def test_a_wrong_pass_ends_a_build_without_simulation(
    options: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    small_model(Path("m.npz"))
    monkeypatch.setattr("scm_hw.passes.order.PASSES", spoiling("node_tables", off_by_one))
    build = ["build", "m.npz", "--no-sim", "--no-synth", "-q", "--out", "out", *options]
    assert main(build) == 1
    told = capsys.readouterr().err
    assert told.startswith("error: pass node_tables must keep all outputs, not give ")
    assert told.count("\n") == 1
    assert not Path("out").exists()


def test_the_mechanism_of_a_folded_core_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    model = random_model(1, mechanism="polynomial")
    monkeypatch.setattr("scm_hw.passes.order.PASSES", spoiling("simplify", off_by_one))
    with pytest.raises(CompilerError, match=r"^pass simplify must keep all outputs"):
        compile_model(model, boards.get("arty-a7"), Options(fold="2x2", frac_bits=8))


# The passes, on what they are not used to


@settings(max_examples=15, derandomize=True, deadline=None, database=None)
@given(st.integers(0, 2**32), st.sampled_from(sorted(TECHNOLOGIES)))
def test_all_choices_keep_the_outputs_of_random_sums(seed: int, grade: str) -> None:
    program = random_sums(Random(seed))
    rows = rows_for(program, 60)
    expected = interpret(program, rows)
    passes = Passes(program)
    for block, share, multipliers in product((False, True), repeat=3):
        for rate, totals in ((0.0, None), (3.0, 1000.0)):
            tech = TECHNOLOGIES[grade]
            choices = Choices(tech, block, share, rate, totals, multipliers)
            for stage in passes.run(choices):
                np.testing.assert_array_equal(
                    interpret(stage.program, rows), expected, err_msg=stage.name
                )


@settings(max_examples=12, derandomize=True, deadline=None, database=None)
@given(st.integers(0, 2**32), st.sampled_from(MODES), st.sampled_from(["lut", "block", "auto"]))
def test_layouts_keep_the_outputs_of_random_sums(seed: int, mode: str, tables: str) -> None:
    program = random_sums(Random(seed))
    rows = rows_for(program, 60)
    for dsps in (0, 50):
        layout = lay_out(
            Passes(program), clock_mhz=40, mode=mode, tables=tables, dsps=dsps, fits=lambda _: False
        )
        np.testing.assert_array_equal(interpret(layout.program, rows), interpret(program, rows))


def test_random_sums_do_reach_block_ram() -> None:
    found = [Passes(random_sums(Random(seed))).run(ALL)[-1].program for seed in range(20)]
    memories = [any(isinstance(o, Table) and o.memory for o in program.ops) for program in found]
    assert sum(memories) >= 5


# Models as they are trained

MODELS: list[dict[str, Any]] = [
    {
        "encoder": encoder,
        "spacing": spacing,
        "inputs_per_node": seen,
        "mechanism": mechanism,
        **more,
    }
    for (encoder, spacing), seen, mechanism, more in zip(
        [("none", "uniform"), ("thermometer", "uniform"), ("thermometer", "quantile")] * 4
        + [("gray", "uniform"), ("binary", "uniform")] * 4,
        [1, 1, 2, None, 1] * 4,
        ["none", "polynomial", "external", "table"] * 5,
        [
            {},
            {"outputs": 2},
            {"task": "classification", "outputs": 3},
            {"layers": (9, 5)},
            {"linear": False},
        ]
        * 4,
        strict=True,
    )
]


@pytest.mark.parametrize("number", range(len(MODELS)))
@pytest.mark.parametrize("tables", ["block", "lut"])
def test_models_of_many_kinds(number: int, tables: str) -> None:
    """Some nodes of one feature each: their bits are many tables of few levels in the readout."""
    shape = {"layers": (16,), "features": 3, "bits": 5, "input_bits": 8, "rows": 40}
    model = random_model(number, **shape | MODELS[number])
    if model.layers[0].mask is not None:
        # And some of all features, which share those levels.
        model.layers[0].mask[:8] = True
    options = Options(
        tables=tables,
        pipeline=MODES[number % 3],
        multipliers=("auto", "lut")[number % 2],
        frac_bits=9,
        clock_mhz=60,
    )
    design = compile_model(model, boards.get("arty-a7"), options)
    rows = check_rows(design, model.evaluation)
    np.testing.assert_array_equal(interpret(design.program, rows.inputs), rows.outputs)


@pytest.mark.parametrize(("board", "clock_mhz"), [("ulx3s_85f", 25), ("icebreaker", 12)])
def test_passes_weigh_by_their_technology(board: str, clock_mhz: float) -> None:
    """With tables and delays of the 7 series, this took 531 LUT on ECP5 and 503 on iCE40."""
    shape: dict[str, Any] = {"layers": (8, 4), "features": 4, "bits": 7, "spacing": "quantile"}
    model = random_model(2, input_bits=10, inputs_per_node=3, **shape)
    options = Options(frac_bits=9, clock_mhz=clock_mhz, fold="none")
    assert compile_model(model, boards.get(board), options).estimate.lut < 420
