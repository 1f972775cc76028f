"""Categories and missing values in hardware: exact in every form, and from raw rows on."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from scm_hw import Core
from scm_hw.boards import get
from scm_hw.build import load_design
from scm_hw.common.packing import pack, unpack
from scm_hw.design import Design, Options, compile_model
from scm_hw.emit import formats_files
from scm_hw.emit.identity import describe, identity
from scm_hw.errors import LinkError, OptionError
from scm_hw.host import Board
from scm_hw.host.compare import compare
from scm_hw.ir import AtLeast, Concat, Table
from scm_hw.ir.interp import interpret
from scm_hw.load import choose_fixed_point, fixed_output, lower, quantise
from scm_hw.rtl.uart.description import Description
from scm_hw.verify.check import simulate
from scm_hw.verify.rows import check_rows, hardware_inputs
from scm_hw.verify.tables import read_table
from scm_model import Model, codes, evaluate, input_codes, write_model
from scm_model.errors import DataError
from scm_model.raw_columns import FULL_RANGE, VALUE
from scm_model.raw_table import RawTable
from tests.column_models import FEATURES, column_model, raw_rows, with_columns
from tests.hw.fake_board import FakeBoard
from tests.hw.test_c import ran
from tests.hw.test_families import family_model
from tests.hw.test_gate_level import netlist_of, simulated
from tests.support import optimise

ARTY = get("arty-a7")
KINDS: dict[str, dict[str, Any]] = {
    "thermometer": {"encoder": "thermometer"},
    "quantile": {"encoder": "thermometer", "spacing": "quantile", "inputs_per_node": 2},
    "binary": {"encoder": "binary"},
    "gray": {"encoder": "gray", "layers": (6, 4)},
    "none": {"encoder": "none", "inputs_per_node": 2},
    "classes": {"task": "classification", "outputs": 3},
    "external": {"mechanism": "external"},
    "table": {"mechanism": "table"},
}


def polynomial() -> Model:
    """Of low degree, for nine features are many to multiply."""
    model = column_model(5, mechanism="polynomial")
    exponents = model.mechanism.exponents.copy()
    exponents[:, 2:] = 0
    exponents[0, 3:7] = (1, 0, 1, 0)
    return replace(model, mechanism=replace(model.mechanism, exponents=np.minimum(exponents, 1)))


def families() -> Model:
    model = with_columns(family_model(4, features=FEATURES))
    rows = raw_rows(model, 40)
    return replace(model, evaluation=replace(model.evaluation, inputs=rows))


def model_of(kind: str) -> Model:
    special = {"families": families, "polynomial": polynomial}
    return special[kind]() if kind in special else column_model(5, **KINDS[kind])


@pytest.mark.parametrize("kind", [*KINDS, "polynomial", "families"])
def test_the_program_is_the_model(kind: str) -> None:
    """Of raw rows the integers on the grid that hidden bits and codes give, passes included."""
    model = model_of(kind)
    rows = raw_rows(model, 300, seed=7)
    p0 = np.random.default_rng(0).uniform(size=(300, 1)) if kind == "external" else None
    if p0 is not None:
        model = model.with_evaluation(rows[:40], np.zeros((40, 1)), p0[:40])
    fixed = quantise(model, 8)
    program = lower(model, fixed)
    inputs = input_codes(model, rows)
    if p0 is not None:
        design = compile_model(model, ARTY, Options(frac_bits=8))
        inputs = hardware_inputs(design, rows, p0)
    found = interpret(program, inputs)
    exact = fixed_output(model, fixed, evaluate(model, rows, p0), codes(model, rows))
    assert_array_equal(found, exact.argmax(axis=1)[:, None] if model.is_classifier else exact)
    assert_array_equal(interpret(optimise(program), inputs), found)


@cache
def columns_design() -> Design:
    return compile_model(column_model(3), ARTY)


@cache
def design_of(kind: str) -> Design:
    return compile_model(model_of(kind), ARTY)


@pytest.mark.parametrize(
    ("kind", "simulator"),
    [
        ("none", "amaranth"),
        pytest.param("none", "verilator", marks=pytest.mark.long),
        ("families", "icarus"),
        ("thermometer", "icarus"),
        ("classes", "icarus"),
    ],
)
def test_every_simulator_gives_its_integers(kind: str, simulator: str, tmp_path: Path) -> None:
    design = design_of(kind)
    rows = check_rows(design, design.model.evaluation)
    assert simulate(design, rows, simulator, tmp_path).ok


@pytest.mark.parametrize("kind", ["families", "classes"])
def test_the_netlist_and_c_give_its_integers(kind: str, tmp_path: Path) -> None:
    design = design_of(kind)
    rows = check_rows(design, design.model.evaluation)
    assert ran(design.program, rows.inputs, tmp_path, rows.outputs) == len(rows.inputs)
    found = simulated(design, netlist_of(design, tmp_path), tmp_path)
    assert found.ok and found.vectors > 20


def test_a_folded_core_gives_its_integers(tmp_path: Path) -> None:
    model = column_model(2, layers=(4,), encoder="binary")
    design = compile_model(model, ARTY, Options(fold="4x16"))
    rows = check_rows(design, design.model.evaluation)
    assert simulate(design, rows, "icarus", tmp_path).ok


def test_an_indicator_is_a_table_of_its_column_and_nothing_else() -> None:
    """The comparison of a code that has one bit is that bit."""
    model = column_model(5, encoder="none", inputs_per_node=1)
    program = optimise(lower(model, quantise(model, 8)))
    compared = {type(program.ops[op.value]) for op in program.ops if isinstance(op, AtLeast)}
    assert not compared & {Table, Concat}


@pytest.mark.parametrize("encoder", ["none", "thermometer", "binary"])
def test_indicators_of_all_bits_are_exact(encoder: str) -> None:
    """Those of a pipeline's one-hot encoder, which were numbers from 0 to 1 in training."""
    model = column_model(7, encoder=encoder, inputs_per_node=2)
    indicators = [what != VALUE for _, what in model.columns.features]
    high = np.where(indicators, FULL_RANGE[1], model.input_max)
    model = replace(model, input_max=high)
    rows, fixed = raw_rows(model, 200), quantise(model, 8)
    program, inputs = lower(model, fixed), input_codes(model, rows)
    exact = fixed_output(model, fixed, evaluate(model, rows), codes(model, rows))
    assert_array_equal(interpret(program, inputs), exact)
    small = optimise(program)
    assert_array_equal(interpret(small, inputs), exact)
    assert not {type(small.ops[op.value]) for op in small.ops if isinstance(op, AtLeast)} & {Concat}


def test_the_description_reads_rows_as_the_model_does() -> None:
    design = columns_design()
    model = design.model
    meaning = Description.decode(describe(design, "columns").encode())
    assert meaning == describe(design, "columns")
    rows = raw_rows(model, 400, seed=3)
    assert_array_equal(meaning.inputs(rows), input_codes(model, rows))
    assert "flow" in str(meaning.outside_range(rows))
    rows[5, 5] = "maybe"
    with pytest.raises(OptionError, match="column 'works' must be one of 'False', 'True', not 'm"):
        meaning.inputs(rows)


def test_a_damaged_description_is_refused() -> None:
    text = describe(columns_design()).encode()
    for old, new in (
        (b'"other":3', b'"other":9'),
        (b'"F","I"', b'"F","F"'),
        (b'["sex",2', b'["sex",1'),
    ):
        assert old in text
        with pytest.raises(LinkError, match="description must be what this version writes"):
            Description.decode(text.replace(old, new))


def test_python_formats_encode_labels_and_missing_values() -> None:
    design = columns_design()
    model = design.model
    space: dict[str, Any] = {}
    exec(formats_files(describe(design), "ab" * 32, 1)["scm_formats.py"], space)
    rows = raw_rows(model, 300, seed=5)
    found = [space["encode"](row) for row in rows]
    assert_array_equal(found, input_codes(model, rows))
    with pytest.raises(ValueError, match=r"^works must be one of .*, not 'maybe'$"):
        space["encode"]([*rows[0, :5], "maybe"])


C_PROGRAM = r"""
#include <stdio.h>
#include "scm_formats.h"
int main(void) {
    int i, k;
    for (i = 0; i < SCM_INPUTS; ++i) {
        const scm_column *c = &scm_columns[i];
        printf("%s %d %d:", scm_inputs[i].kind, c->other, c->missing);
        for (k = 0; k < c->count; ++k) printf(" %s", c->labels[k] ? c->labels[k] : "NULL");
        printf("\n");
    }
    return 0;
}
"""


def test_the_c_header_has_labels_and_codes(tmp_path: Path) -> None:
    files = formats_files(describe(columns_design()), "ab" * 32, 1)
    for name, text in {**files, "main.c": C_PROGRAM}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    argv = ["cc", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "main.c", "-o", "main"]
    subprocess.run(argv, cwd=tmp_path, check=True)
    out = subprocess.run([tmp_path / "main"], capture_output=True, encoding="utf-8", check=True)
    assert out.stdout.splitlines() == [
        "category 3 -1: F I M (other)",
        "category 2 -1: low NULL (other) high 7",
        "code -1 255:",
        "code -1 255:",
        "code -1 -1:",
        "category -1 -1: False True",
    ]


def test_rows_of_a_file_have_labels(tmp_path: Path) -> None:
    model = column_model(3)
    write_model(model, tmp_path / "model.npz")
    design = load_design(tmp_path / "model.npz", ARTY, Options())
    lines = [
        "works,sex,grade,flow,pressure,heat,y0",
        "true,M,?,0.5,,0.1,0.3",
        "False,Q,7.0,NA,1,0.2,1",
    ]
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(lines))
    rows = read_table(design.model, path)
    found = hardware_inputs(design, rows.inputs)
    assert found[:, [0, 1, 5]].tolist() == [[2, 1, 1], [3, 4, 0]]
    assert (found[:, [2, 3]] == 255).tolist() == [[False, True], [True, False]]
    path.write_text("\n".join([*lines, "maybe,M,low,1,1,1,1"]))
    with pytest.raises(DataError, match=r"column 'works' must be one of .* in row 3"):
        read_table(design.model, path)


def test_sensors_are_for_plain_numbers() -> None:
    model = column_model(3)
    design = compile_model(model, ARTY, Options(input_format=("*=adc:10:-9:9",)))
    assert [code.bits for code in design.hardware.input_codes] == [2, 3, 8, 8, 10, 1]
    rows = check_rows(design, design.model.evaluation)
    assert_array_equal(describe(design).inputs(design.model.evaluation.inputs), rows.inputs[:40])
    with pytest.raises(OptionError, match="for one of heat or "):
        compile_model(model, ARTY, Options(input_format=("sex=adc:10:-9:9",)))


def test_a_fixed_point_is_chosen_on_raw_rows() -> None:
    model = column_model(3)
    assert choose_fixed_point(model).frac_bits > 1


def test_a_component_takes_labels() -> None:
    core = Core(column_model(3))
    rows = raw_rows(core.design.model, 20)
    found = [list(core.encode(row).values()) for row in rows]
    assert_array_equal(found, input_codes(core.design.model, rows))
    assert list(core.inputs.members) == list(core.design.model.signals)


@pytest.mark.filterwarnings("ignore::scm_hw.errors.RangeWarning")
def test_a_board_takes_labels_and_agrees_with_the_model() -> None:
    """Over the serial protocol, by the description that the board gives of itself."""
    design = columns_design()
    hello, description = identity(design, "columns")
    widths = describe(design).in_widths, describe(design).out_widths

    def core(word: int) -> int:
        inputs = unpack([word], widths[0], [False] * len(widths[0]))
        return pack(interpret(design.meaning, inputs), widths[1])[0]

    rows = raw_rows(design.model, 30, seed=9)
    table = RawTable({name: rows[:, i] for i, name in enumerate(design.model.signals)})
    with FakeBoard(hello, core, description).running() as fake, Board(fake.port) as board:
        found = board.predict(table)
        compared = compare(board, design.model, design.model.evaluation)
    assert compared.mismatches == 0
    assert_array_equal(
        found, describe(design).units(interpret(design.meaning, input_codes(design.model, rows)))
    )
