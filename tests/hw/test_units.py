"""Engineering units from end to end: the build's files, the board, and the host."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scm_hw import boards
from scm_hw.cli.units import input_formats
from scm_hw.common.packing import pack, unpack
from scm_hw.design import Options, compile_model
from scm_hw.emit.identity import identity
from scm_hw.errors import MismatchError, OptionError
from scm_hw.host import Board
from scm_hw.host.compare import compare
from scm_hw.ir.interp import interpret
from scm_hw.load import Model, evaluate, rmse
from scm_hw.verify.rows import check_rows
from tests.hw.commands import run, small_model
from tests.hw.fake_board import FakeBoard
from tests.support import random_model

ARTY = boards.get("arty-a7")
FORMATS = ("x0=adc:12:-4:4", "x2=adc:9:-3:3")


def fake_board(model: Model, options: Options, wrong: int = 0) -> FakeBoard:
    design = compile_model(model, ARTY, options, model_digest="ab" * 32)
    hello, description = identity(design)
    ports, ranges = design.ports, design.input_ranges

    def core(word: int) -> int:
        row = unpack([word], list(ports.in_widths), [reach.signed for reach in ranges])
        return pack(interpret(design.meaning, row) ^ wrong, ports.out_widths)[0]

    return FakeBoard(hello, core, description)


KINDS: list[dict[str, Any]] = [
    {"layers": (4,), "mechanism": "external", "outputs": 2},
    {"layers": (4,), "mechanism": "table", "encoder": "gray", "bits": 4},
    {"layers": (4,), "task": "classification", "outputs": 3},
]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_run_compares_in_the_boards_units(kind: dict[str, Any]) -> None:
    """The host makes of the description what the board was built from; scores are as ever."""
    model = random_model(2, **kind)
    assert model.evaluation is not None
    options = Options(input_format=FORMATS, output_units=not model.is_classifier)
    rows = model.evaluation
    with fake_board(model, options).running() as fake, Board(fake.port) as board:
        found = compare(board, model, rows)
        predicted = board.predict(rows.inputs, rows.mechanism)
    assert (found.mismatches, found.board) == (0, found.interpreter)
    found.check()
    if model.is_classifier:
        assert model.classes is not None
        right = predicted == np.array(model.classes)[rows.targets.astype(int)]
        assert found.board == right.mean()
        return
    span = model.target_max - model.target_min
    target = (rows.targets - model.target_min) / span
    assert found.pc == rmse(evaluate(model, rows.inputs, rows.mechanism).output, target)
    on_board = rmse((predicted - model.target_min) / span, target)
    assert found.board == pytest.approx(on_board, rel=1e-9)
    assert found.board == pytest.approx(found.pc, rel=0.05)


def test_a_board_that_errs_in_its_units_is_found_out() -> None:
    model = random_model(2, layers=(4,))
    assert model.evaluation is not None
    options = Options(input_format=FORMATS, output_units=True)
    with fake_board(model, options, wrong=1).running() as fake, Board(fake.port) as board:
        found = compare(board, model, model.evaluation)
    with pytest.raises(MismatchError, match="board differs from the interpreter in 40 of 40 rows"):
        found.check()


def test_a_build_names_its_formats(tmp_path: Path) -> None:
    path = small_model(tmp_path / "model.npz", features=3)
    (tmp_path / "adc.txt").write_text("# converters\n\nx0=adc:12:-4:4\n  x1=adc:10:-5:5\n")
    arguments = ("build", path, "--out", tmp_path / "out", "--no-synth", "--sim", "icarus")
    units = ("--input-format", f"@{tmp_path / 'adc.txt'}", "--output-units", "-q", "--json")
    result = run(*arguments, *units, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    formats = json.loads((tmp_path / "out" / "report.json").read_text())["formats"]
    shown = [(p["name"], p["kind"], p["bits"], p["low"], p["high"]) for p in formats["in_data"]]
    assert shown[:2] == [("x0", "adc", 12, -4.0, 4.0), ("x1", "adc", 10, -5.0, 5.0)]
    assert shown[2][1] == "code"
    assert formats["output_units"] is True
    (port,) = formats["out_data"]
    assert (port["low"], port["high"]) == (0.0, 1.0)
    header = (tmp_path / "out" / "model_formats.h").read_text()
    assert '{"x0", "adc", 0, 12, 0, 12, -4.0, 4.0}' in header
    space: dict[str, Any] = {}
    exec((tmp_path / "out" / "model_formats.py").read_text(), space)
    (output,) = space["FORMATS"]["outputs"]
    assert (output["fraction"], output["low"], output["high"]) == (port["fraction"], 0.0, 1.0)
    assert "adc" in (tmp_path / "out" / "report.html").read_text()


def test_units_are_part_of_the_digest() -> None:
    model = random_model(2, layers=(4,))
    plain = Options(frac_bits=9)
    digests = [
        compile_model(model, ARTY, options).digest
        for options in (
            plain,
            replace(plain, output_units=True),
            replace(plain, input_format=FORMATS),
        )
    ]
    assert len(set(digests)) == 3


def test_a_file_of_formats_that_is_not_there() -> None:
    with pytest.raises(OptionError, match=r"can't read the input formats in nowhere\.txt"):
        input_formats(["@nowhere.txt"])


def test_rows_beyond_the_sensors_range_are_cut_off() -> None:
    model = random_model(2, layers=(4,))
    design = compile_model(model, ARTY, Options(input_format=FORMATS))
    assert model.evaluation is not None
    far = replace(
        model.evaluation, inputs=model.evaluation.inputs - 2e6 * (np.arange(40)[:, None] % 2)
    )
    rows = check_rows(design, replace(far, inputs=far.inputs + 1e6))
    assert rows.inputs[: len(far), 0].tolist() == [4095, 0] * 20


@pytest.mark.parametrize(
    ("units", "complaint"),
    [
        (("--input-format", "x0=adc:12"), "input format of 'x0' must be code or adc:BITS:LOW:HIGH"),
        (("--input-format", "@gone.txt"), "can't read the input formats in gone.txt"),
        (("--input-format", "x0=adc:8:100:200"), "must have a step inside the training range"),
    ],
    ids=str,
)
def test_bad_units_are_one_line_and_leave_nothing(
    tmp_path: Path, units: tuple[str, str], complaint: str
) -> None:
    path = small_model(tmp_path / "model.npz")
    result = run("build", path, "--out", "out", "--no-sim", "--no-synth", *units, cwd=tmp_path)
    assert (result.returncode, result.stdout) == (2, "")
    assert complaint in result.stderr and result.stderr.count("\n") == 1
    assert [found.name for found in tmp_path.iterdir()] == ["model.npz"]
