"""Margin, unsure, novel and outside: exact in every form of the core, and shown at every door."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from scm_hw.__main__ import main
from scm_hw.boards import get
from scm_hw.cli.console import show_run, summary_lines
from scm_hw.component import Core
from scm_hw.design import Design, Options, compile_model
from scm_hw.emit.identity import describe
from scm_hw.errors import OptionError
from scm_hw.host.compare import as_record, compare
from scm_hw.load import model_from_arrays
from scm_hw.report.html import html_report
from scm_hw.report.report import make_report
from scm_hw.rtl.uart.description import Description
from scm_hw.verify.check import simulate
from scm_hw.verify.rows import CheckRows, check_rows
from scm_model import Model, codes, evaluate, write_model
from scm_model.adaptation import AdaptSettings
from scm_model.fixed_point import fixed_output
from scm_model.flags import Novelty, flag_names
from scm_model.writer import model_to_arrays
from scm_train import SCMClassifier, SCMRegressor
from tests.hw.test_c import ran
from tests.hw.test_gate_level import netlist_of, simulated

ROWS, ARTY = 60, get("arty-a7")
FAMILIES = {"luts": 60}
NODES = {"max_nodes": 8, "candidates": 10, "encoder": "thermometer:7", "input_bits": 6}
KINDS: dict[str, tuple[int, dict[str, Any]]] = {
    "two classes by families": (2, FAMILIES),
    "three classes by families": (3, FAMILIES),
    "five classes by nodes": (5, NODES),
    "targets by families": (0, FAMILIES),
    "bounds by nodes": (0, NODES | {"interval": 0.8}),
}


def machine(kind: str) -> Model:
    classes, how = KINDS[kind]
    random = np.random.default_rng(0)
    X = random.normal(size=(700, 3))
    X[:, 2] = X[:, 0] + 0.1 * random.normal(size=700)
    score = np.sin(2 * X[:, 0]) + X[:, 1] + 0.4 * random.normal(size=700)
    if not classes:
        learner = SCMRegressor(flags=0.05, random_state=0, **how).fit(X[:-ROWS], score[:-ROWS])
        return loaded(learner.machine_.with_evaluation(X[-ROWS:], score[-ROWS:, None]))
    y = np.digitize(score, np.quantile(score, np.linspace(0, 1, classes + 1)[1:-1]))
    learner = SCMClassifier(unsure=0.1, flags=0.05, random_state=0, **how).fit(X[:-ROWS], y[:-ROWS])
    return loaded(learner.machine_.with_evaluation(X[-ROWS:], y[-ROWS:]))


def loaded(model: Model) -> Model:
    """As it comes from its file."""
    return model_from_arrays(model_to_arrays(model))


@pytest.fixture(scope="module", params=KINDS)
def design(request: pytest.FixtureRequest) -> Design:
    return compile_model(machine(request.param), ARTY)


@pytest.fixture(scope="module")
def rows(design: Design) -> CheckRows:
    return check_rows(design, design.model.evaluation)


@pytest.fixture(scope="module")
def report(design: Design, rows: CheckRows) -> dict[str, Any]:
    return make_report("flagged", design, rows, [], None)


def by_hand(design: Design) -> dict[str, np.ndarray]:
    """Margin and flags of the evaluation rows, without the Program."""
    model, inputs = design.model, design.model.evaluation.inputs
    seen = evaluate(model, inputs)
    found = {}
    if model.flags.unsure is not None:
        scores = fixed_output(model, design.fixed, seen, codes(model, inputs))
        order = np.sort(scores, axis=1)
        lead = np.abs(scores[:, 0]) if scores.shape[1] == 1 else order[:, -1] - order[:, -2]
        found["margin"] = lead
        found["unsure"] = lead / 2.0**design.fixed.grid_bits <= model.flags.unsure.threshold
    count = np.zeros(len(inputs), dtype=int)
    novelty = model.flags.novelty
    for group, rare in zip(novelty.groups, novelty.rare, strict=True):
        bits = [seen.hidden[:, node] > 0 for node in group if node >= 0]
        value = sum(bit.astype(int) << place for place, bit in enumerate(bits))
        count += [int(rare) >> v & 1 for v in value.tolist()]
    found["novel"] = count >= novelty.least
    return found


def test_the_program_says_what_the_model_says(design: Design, rows: CheckRows) -> None:
    own = rows.outputs[rows.own]
    names = flag_names(design.model)
    wanted = by_hand(design)
    assert tuple(wanted) == names
    for name, values in zip(names, own[:, -len(names) :].T, strict=True):
        assert_array_equal(values, wanted[name].astype(int))
    # Corners and random codes are unlike the training rows.
    assert 0 < rows.outputs[:, -1].mean() < 1


def test_other_outputs_are_as_without_flags(design: Design, rows: CheckRows) -> None:
    plain = compile_model(design.model, ARTY, Options(flags=False))
    assert plain.model.flags is None and plain.digest != design.digest
    count = len(plain.output_ranges)
    if plain.fixed.grid_bits == design.fixed.grid_bits:
        assert_array_equal(plain.interpret(rows.inputs), rows.outputs[:, :count])


@pytest.mark.parametrize("simulator", ["amaranth", "icarus"])
def test_the_core_gives_the_integers(
    design: Design, rows: CheckRows, simulator: str, tmp_path: Path
) -> None:
    assert simulate(design, rows, simulator, tmp_path).ok


def test_c_gives_the_integers(design: Design, rows: CheckRows, tmp_path: Path) -> None:
    assert ran(design.program, rows.inputs, tmp_path, rows.outputs) == len(rows.inputs)


def test_the_netlist_gives_the_integers(tmp_path: Path) -> None:
    design = compile_model(machine("three classes by families"), ARTY)
    found = simulated(design, netlist_of(design, tmp_path), tmp_path)
    assert found.ok and found.vectors > 20


def test_a_wrong_table_is_seen(tmp_path: Path) -> None:
    design = compile_model(machine("targets by families"), ARTY)
    rows = check_rows(design, design.model.evaluation)
    wrong = rows.outputs.copy()
    wrong[7, -1] ^= 1
    assert not simulate(design, replace(rows, outputs=wrong), "amaranth", tmp_path).ok


def test_reports_say_how_often_they_are_set(
    design: Design, rows: CheckRows, report: dict[str, Any]
) -> None:
    found, own = report["flags"], by_hand(design)
    assert found["novel"]["share_hw"] == own["novel"].mean() and found["novel"]["rate"] == 0.05
    lines = "\n".join(summary_lines(report))
    assert "of 5.00% false alarms promised" in lines
    page = html_report(report, design, rows)
    assert page.count("Flags on the evaluation rows") == 1
    if "unsure" not in own:
        assert "unsure" not in found
        return
    wrong = rows.hardware[:, 0] != design.model.evaluation.targets
    assert found["unsure"]["share_hw"] == own["unsure"].mean() > 0
    assert found["unsure"]["wrong_unflagged_hw"] == (wrong & ~own["unsure"]).mean()
    assert "of 10.00% promised" in lines


def test_a_board_tells_them_by_name(
    design: Design, rows: CheckRows, capsys: pytest.CaptureFixture[str]
) -> None:
    meaning = describe(design)
    assert Description.decode(meaning.encode()) == meaning
    evaluation, own = design.model.evaluation, rows.outputs[rows.own]
    values = meaning.flag_values(own)
    wanted = by_hand(design)
    assert_array_equal(values["novel"], wanted["novel"])
    if "margin" in values:
        assert_array_equal(values["margin"], wanted["margin"] / 2.0**design.fixed.grid_bits)
    assert len(meaning.units(own)) == len(own)
    board = SimpleNamespace(
        description=meaning,
        hello=SimpleNamespace(latency=design.latency, clock_hz=100_000_000),
        returns=0,
        predict_integers=lambda inputs, progress: (
            own,
            SimpleNamespace(cycles=design.latency, repeated=0),
        ),
    )
    found = compare(board, design.model, evaluation)
    found.check()
    show_run(found)
    assert (
        f"novel on the board: {wanted['novel'].mean():.2%} of the rows" in capsys.readouterr().out
    )
    assert as_record(found)["flags"]["novel"] == wanted["novel"].mean()
    assert "margin" not in found.flags
    plain = compile_model(design.model, ARTY, Options(flags=False))
    board.description = describe(plain)
    board.predict_integers = lambda inputs, progress: (
        plain.interpret(inputs),
        SimpleNamespace(cycles=design.latency, repeated=0),
    )
    compare(board, design.model, evaluation).check()


def test_a_component_has_fields_for_them() -> None:
    model = machine("three classes by families")
    core = Core(model)
    assert list(core.outputs.members) == ["class", "margin", "unsure", "novel"]
    found = core.decode(
        {"class": 2, "margin": 1 << core.design.fixed.grid_bits, "unsure": 0} | {"novel": 1}
    )
    assert found == {"class": 2, "margin": 1.0, "unsure": False, "novel": True}


def test_a_port_that_reaches_further_says_what_is_outside(tmp_path: Path) -> None:
    model = machine("bounds by nodes")
    design = compile_model(model, ARTY, Options(input_format=("x0=adc:10:-20:20",)))
    assert [port.name for port in describe(design).outputs] == [
        "y",
        "y.lower",
        "y.upper",
        "novel",
        "outside",
    ]
    code = design.hardware.codes[0]
    inputs = np.repeat(check_rows(design, model.evaluation).inputs[:1], 4, axis=0)
    inputs[:, 0] = [code.low - 1, code.low, code.high, code.high + 1]
    assert_array_equal(design.interpret(inputs)[:, -1], [1, 0, 0, 1])
    rows = check_rows(design, model.evaluation)
    assert simulate(design, rows, "amaranth", tmp_path).ok


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"adapt": AdaptSettings()}, "adapt must be left out for a model with flags, which are"),
        ({"reload": "readout"}, "reload must be none for a model with flags, not readout; leave"),
        ({"fold": "1x1"}, "fold must be none or auto for a model with flags, not 1x1; leave the"),
    ],
)
def test_what_flags_do_not_go_with(options: dict[str, Any], message: str) -> None:
    model = machine("bounds by nodes")
    with pytest.raises(OptionError, match=message):
        compile_model(model, ARTY, Options(**options))
    if "adapt" not in options:
        compile_model(replace(model, info={}), ARTY, Options(flags=False, **options))


def test_a_model_without_flags_has_none_to_build() -> None:
    model = replace(machine("targets by families"), flags=None)
    with pytest.raises(OptionError, match="flags must be calibrated in training; train with fit"):
        compile_model(model, ARTY, Options(flags=True))


def test_the_command_line(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    write_model(machine("two classes by families"), "m.npz")
    quick = ["--no-sim", "--no-synth", "--out", "out", "-q"]
    assert main(["build", "m.npz", *quick, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert list(report["flags"]) == ["unsure", "novel"]
    header = Path("out/m_formats.h").read_text()
    assert "NOVEL" in header.upper() and "MARGIN" in header.upper()
    assert main(["build", "m.npz", *quick, "--no-flags", "--json"]) == 0
    assert "flags" not in json.loads(capsys.readouterr().out)


def test_a_group_of_one_node_and_one_that_is_never_rare() -> None:
    model = machine("bounds by nodes")
    groups = np.array([[3, -1], [0, 5]], dtype=np.int32)
    novelty = Novelty(0.05, 1, groups, np.array([0b10, 0], dtype=np.uint64))
    odd = replace(model, flags=replace(model.flags, novelty=novelty))
    design = compile_model(odd, ARTY)
    found = design.interpret(check_rows(design, odd.evaluation).inputs[:ROWS])[:, -1]
    assert_array_equal(found, evaluate(odd, odd.evaluation.inputs).hidden[:, 3] > 0)
