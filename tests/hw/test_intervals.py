"""Bounds as further outputs: exact like any output, and shown by what they cover."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from scm_hw.boards import get
from scm_hw.cli.console import show_run, summary_lines
from scm_hw.design import Design, compile_model
from scm_hw.emit.identity import describe
from scm_hw.host.compare import as_record, compare
from scm_hw.load import normalised_results
from scm_hw.report.html import html_report
from scm_hw.report.report import make_report
from scm_hw.verify.check import simulate
from scm_hw.verify.rows import CheckRows, check_rows
from scm_hw.verify.tables import read_table
from scm_model.interval import of_points
from scm_train import SCMRegressor, model_file
from tests.hw.commands import write_csv

LEVEL, ROWS = 0.8, 60


@pytest.fixture(scope="module", params=["families", "nodes"])
def design(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Design:
    random = np.random.default_rng(0)
    X = random.uniform(size=(600, 2))
    y = np.sin(6 * X[:, 0]) + X[:, 1] * random.normal(size=600)
    how: dict[str, Any] = {"luts": 60}
    if request.param == "nodes":
        how = {"max_nodes": 8, "candidates": 10, "encoder": "thermometer:7", "input_bits": 6}
    learner = SCMRegressor(interval=LEVEL, random_state=0, **how).fit(X[:-ROWS], y[:-ROWS])
    path = tmp_path_factory.mktemp("model") / "model.npz"
    learner.save(path, X[-ROWS:], y[-ROWS:])
    return compile_model(model_file.load(path), get("arty-a7"))


@pytest.fixture(scope="module")
def rows(design: Design) -> CheckRows:
    return check_rows(design, design.model.evaluation)


@pytest.fixture(scope="module")
def report(design: Design, rows: CheckRows) -> dict[str, Any]:
    return make_report("bounded", design, rows, [], None)


@pytest.mark.parametrize("simulator", ["amaranth", "icarus"])
def test_the_core_gives_the_integers(
    design: Design, rows: CheckRows, simulator: str, tmp_path: Path
) -> None:
    assert rows.outputs.shape[1] == 3
    assert (rows.outputs[:, 1] < rows.outputs[:, 2]).all()
    assert simulate(design, rows, simulator, tmp_path).ok


def test_reports_have_coverage_and_no_errors_of_bounds(
    design: Design, rows: CheckRows, report: dict[str, Any]
) -> None:
    model, evaluation = design.model, design.model.evaluation
    assert evaluation is not None
    hardware = normalised_results(model, design.hardware, design.fixed, rows.hardware)
    span, low = np.ptp([model.target_min, model.target_max], axis=0), model.target_min
    _, lower, upper = (low + span * hardware).T
    y = evaluation.targets[:, 0]
    found = report["interval"]["targets"]["y"]
    assert report["interval"]["level"] == LEVEL
    assert found["coverage_hw"] == ((lower <= y) & (y <= upper)).mean() > 0.6
    assert_allclose(found["width_hw"], (upper - lower).mean())
    assert_allclose(found["width_pc"], found["width_hw"], rtol=0.02)
    assert report["rmse_units"].keys() == {"y"}
    points = of_points(model)
    assert_allclose(
        report["rmse_pc"] * span[0],
        np.sqrt(np.mean((points.predict(evaluation.inputs)[:, 0] - y) ** 2)),
    )
    assert any(line.startswith("interval of y, level 80.00%") for line in summary_lines(report))


def test_the_page_shows_coverage(design: Design, rows: CheckRows, report: dict[str, Any]) -> None:
    page = html_report(report, design, rows)
    assert "Share of evaluation rows inside the interval of level 80.00%" in page
    assert page.count("Mean width, FPGA") == 1


def test_rows_of_a_file_have_a_column_for_the_target_alone(design: Design, tmp_path: Path) -> None:
    path = write_csv(tmp_path / "rows.csv", ["x0", "x1", "y"], [[0.1, 0.2, 0.5], [0.3, 0.4, 1.5]])
    evaluation = read_table(design.model, path)
    assert_array_equal(evaluation.targets, [[0.5] * 3, [1.5] * 3])


def test_a_board_is_compared_by_coverage(
    design: Design, rows: CheckRows, report: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    evaluation = design.model.evaluation
    assert evaluation is not None
    count = len(evaluation)
    board = SimpleNamespace(
        description=describe(design),
        hello=SimpleNamespace(latency=design.latency, clock_hz=100_000_000),
        returns=0,
        predict_integers=lambda inputs, progress: (
            rows.outputs[:count],
            SimpleNamespace(cycles=design.latency, repeated=0),
        ),
    )
    found = compare(board, design.model, evaluation)
    found.check()
    own = report["interval"]["targets"]["y"]
    assert found.intervals == {"y": (own["coverage_hw"], pytest.approx(own["width_hw"]))}
    assert as_record(found)["intervals"]["y"]["coverage"] == own["coverage_hw"]
    assert_allclose(found.board, report["rmse_hw"])
    show_run(found)
    assert f"holds {own['coverage_hw']:.2%} of the rows" in capsys.readouterr().out
