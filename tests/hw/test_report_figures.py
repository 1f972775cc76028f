"""What the page of a build says is what its report, its design and its rows say."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from scm_hw import boards
from scm_hw.design import Options, compile_model
from scm_hw.emit.identity import identity
from scm_hw.load import model_from_arrays
from scm_hw.report._html_accuracy import _edges, confusion, traces
from scm_hw.report._html_training import history_of
from scm_hw.report._stages import stages
from scm_hw.report.html import html_report
from scm_hw.report.report import make_report
from scm_hw.rtl.uart.packets import Kind, Packet
from scm_hw.verify.rows import check_rows
from tests.hw.report_pages import (
    MODELS,
    SIMULATIONS,
    designed,
    example,
    reported,
    table_of,
    with_history,
    with_meta,
)
from tests.pages import parsed
from tests.support import model_arrays


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("proven", [True, False])
def test_figures_equal_the_report(kind: str, proven: bool) -> None:
    page, report, *_ = example(kind, proven)
    figures = parsed(page).all("data")
    for figure in figures:
        value: Any = report
        for key in str(figure.attributes["data-key"]).split("."):
            value = value[key]
        assert figure.attributes["value"] == repr(value)
        shown = float(re.sub(r"[^0-9.e+-]", "", figure.text()))
        scale = 0.01 if "%" in figure.text() else 1.0
        assert_allclose(shown * scale, value, rtol=1e-3, atol=1e-4)
    keys = {figure.attributes["data-key"] for figure in figures}
    scores = {"accuracy_pc", "accuracy_hw"} if kind == "classifier" else {"rmse_pc", "rmse_hw"}
    assert keys >= {"latency_ns", "resources.lut", "weights.reduction", *scores}
    if proven:
        assert keys >= {"bit_exact.icarus.vectors", "bit_exact.icarus.mismatches"}


def test_errors_of_the_hardware_are_those_of_its_integers() -> None:
    """By hand, from the outputs of the interpreter and the targets in their own units."""
    *_, design, rows = example("outputs")
    report = example("outputs")[1]
    model, found = design.model, traces(design, rows)
    span = model.target_max - model.target_min
    wrong = np.stack([t.hardware - t.target for t in found], axis=1)
    assert_allclose(report["max_error_hw"], np.abs(wrong / span).max(), rtol=1e-9)
    spread = np.stack([t.target - t.target.mean() for t in found], axis=1) / span
    r2 = 1 - ((wrong / span) ** 2).sum() / (spread**2).sum()
    assert_allclose(report["r2_hw"], r2, rtol=1e-9)
    for i, trace in enumerate(found):
        one = report["rmse_units"][trace.name]
        assert_allclose(one["max_hw"], np.abs(wrong[:, i]).max(), rtol=1e-9)
        apart = np.abs(trace.hardware - trace.pc).max()
        assert_allclose(one["max_difference"], apart, rtol=1e-6)
        assert one["max_difference"] <= report["max_difference"] * span[i] * (1 + 1e-9)
        own = 1 - (wrong[:, i] ** 2).sum() / ((trace.target - trace.target.mean()) ** 2).sum()
        assert_allclose(one["r2_hw"], own, rtol=1e-9)


def test_clock_slack_and_errors_are_up_front() -> None:
    page, report, design, _ = example("regression")
    cards = {
        card.all("dt")[0].text(): card.all("dd")[0].text()
        for card in parsed(page).all("header")[0].all("div")
    }
    slack = design.schedule.period_ns - max(design.schedule.stage_ns)
    assert_allclose(report["slack_ns_modelled"], slack, atol=5e-4)
    assert f"slack {report['slack_ns_modelled']:+.2f} ns" in cards["Clock"]
    assert f"{report['clock_mhz']:g} MHz" in cards["Clock"]
    assert f"{report['r2_hw']:.4f}" in cards["R² on the FPGA"]
    assert f"{report['max_error_hw']:.4f}" in cards["Worst error"]
    assert f"{report['resources']['lut']:,} LUT" in cards["Logic of the core"]


def test_wrapper_and_top_are_apart_from_the_core_where_they_are_known() -> None:
    arrays = model_arrays(3, **MODELS["regression"])
    page, report, *_ = reported(arrays, options=Options(interface="axis"))
    used = report["resources"]
    assert "Core and wrapper" in page and f"{used['wrapper']['lut']:,} LUT" in page
    assert "Whole board top" in page and f"{used['top']['lut']:,} LUT" in page
    assert used["wrapper"]["lut"] == used["lut"] + 30
    assert used["top"]["lut"] == used["lut"] + 1400
    bare, report, *_ = reported(arrays)
    assert "Core and wrapper" not in bare and report["resources"]["wrapper"] is None


def test_rows_that_are_a_sample_are_called_one() -> None:
    arrays = model_arrays(3, **MODELS["regression"])
    data = {"name": "plant.csv", "test_rows": 61_000}
    page, report, design, rows = reported(with_meta(arrays, data=data))
    assert report["sampled_from"] == 61_000
    assert "60 of the 61,000 test rows" in page
    # All of the test rows, and rows of the user's own, are no sample.
    assert reported(with_meta(arrays, data={"test_rows": 60}))[1]["sampled_from"] is None
    own = check_rows(design, replace(rows.evaluation))
    assert make_report("own", design, own, [], None)["sampled_from"] is None


@pytest.mark.parametrize("kind", ["regression", "classifier"])
def test_features_stand_by_importance(kind: str) -> None:
    """The most important first, and nothing of what someone else wrote there."""
    arrays = model_arrays(3, **MODELS[kind])
    rises = {"quiet": 0.0, "loud <b>": 0.25, "odd": "much", "none": None, "low": 0.125}
    page, *_ = reported(with_meta(arrays, scores={"importance": rises, "train_rmse": 0.5}))
    (part,) = [s for s in parsed(page).all("section") if s.all("h2")[0].text() == "Features"]
    body = [[cell.text() for cell in row.children] for row in part.all("tbody")[0].children]
    shown = ["+25.00%", "+12.50%", "+0.00%"] if kind == "classifier" else ["+0.25", "+0.125", "+0"]
    assert body == [[n, v] for n, v in zip(("loud <b>", "low", "quiet"), shown, strict=True)]
    scores = table_of(parsed(page), "Scores of the trainer")
    assert scores == [["train_rmse", "0.5"]]
    for other in (None, {"importance": []}, {"importance": {"a": None}}, "good"):
        assert ">Features<" not in reported(with_meta(arrays, scores=other))[0]


def test_paper_stands_beside_folded_away() -> None:
    page, report, *_ = example("regression")
    (folded,) = [d for d in parsed(page).all("details") if "paper" in d.all("summary")[0].text()]
    assert "open" not in folded.attributes
    assert table_of(folded, "Beside the paper's FPGA case")
    rows = {row[0]: row[1:] for row in table_of(parsed(page), "Beside the paper's FPGA case")}
    assert rows["RMSE, FPGA"] == ["0.031360", f"{report['rmse_hw']:.6f}"]
    assert rows["Clock cycles"] == ["9", str(report["latency_cycles"])]


def test_parts_add_up_to_the_output() -> None:
    *_, design, rows = example("outputs")
    found = traces(design, rows)
    assert [trace.name for trace in found] == list(design.model.targets)
    for i, trace in enumerate(found):
        assert_allclose(trace.nodes + trace.linear, trace.pc, rtol=0, atol=1e-12)
        assert_array_equal(trace.target, rows.evaluation.targets[:, i])
        span = design.model.target_max[i] - design.model.target_min[i]
        step = span / 2.0**design.fixed.grid_bits
        words = (trace.hardware - design.model.target_min[i]) / step
        assert_array_equal(np.rint(words), rows.outputs[: len(words), i])


def test_samples_table_has_the_plotted_numbers() -> None:
    page, _, design, rows = example("regression")
    body = table_of(parsed(page), f"{design.model.targets[0]}, in the target's own units")
    (trace,) = traces(design, rows)
    parts = (trace.target, trace.nodes, trace.linear, trace.pc, trace.hardware)
    assert [int(row[0]) for row in body] == list(range(1, len(trace.target) + 1))
    assert [row[1:] for row in body] == [
        [f"{v:.5g}" for v in row] for row in zip(*parts, strict=True)
    ]


def test_many_rows_are_thinned_evenly() -> None:
    page, _, design, rows = reported(model_arrays(3, rows=2000))
    body = table_of(parsed(page), f"{design.model.targets[0]}, in the target's own units")
    kept = np.array([int(row[0]) for row in body])
    assert len(kept) == 300 and kept[0] == 1 and kept[-1] == len(rows.evaluation)
    assert set(np.diff(kept)) == {6, 7}


def test_histogram_counts_every_row() -> None:
    page, report, *_ = example("regression")
    body = table_of(parsed(page), "Rows by error")
    assert sum(int(row[1]) for row in body) == report["rows"]
    assert sum(int(row[2]) for row in body) == report["rows"]


def test_one_row_has_a_histogram_too() -> None:
    page, report, *_ = reported(model_arrays(3, rows=1))
    body = table_of(parsed(page), "Rows by error")
    assert report["rows"] == 1
    assert [sum(int(row[i]) for row in body) for i in (1, 2)] == [1, 1]


def test_equal_errors_have_bins_around_them() -> None:
    edges = _edges(np.full(5, 0.25))
    assert (np.diff(edges) > 0).all()
    assert np.histogram(np.full(5, 0.25), edges)[0].sum() == 5
    assert (edges[0] + edges[-1]) / 2 == 0.25


def test_notes_of_the_model_are_told_in_words() -> None:
    notes = {"shuffled": True, "scaled": False, "rate": 0.25, "files": ["a", "b"]}
    page = reported(with_meta(model_arrays(3), data=notes))[0]
    assert "shuffled: yes; scaled: no; rate: 0.25; files: a b" in parsed(page).text()


def test_confusion_matrices_are_of_pc_and_hardware() -> None:
    page, report, _, rows = example("classifier")
    root = parsed(page)
    for machine, key in (("PC", "accuracy_pc"), ("FPGA", "accuracy_hw")):
        counts = np.array([row[1:] for row in table_of(root, f"Confusion, {machine}")], int)
        assert counts.sum() == report["rows"]
        assert_array_equal(counts.sum(axis=1), np.bincount(rows.evaluation.targets, minlength=4))
        assert counts.trace() / counts.sum() == report[key]


def test_confusion_counts_true_down_and_found_across() -> None:
    found = confusion(np.array([0, 0, 1, 2]), np.array([0, 1, 1, 0]), 3)
    assert_array_equal(found, [[1, 1, 0], [0, 1, 0], [1, 0, 0]])


@pytest.mark.parametrize("kind", MODELS)
def test_stages_add_up_to_the_estimate(kind: str) -> None:
    page, report, design, _ = example(kind)
    found = stages(design)
    # The handshake of the core has two LUTs that belong to no operation.
    assert sum(stage.lut for stage in found) + 2 == design.estimate.lut
    assert sum(stage.registers for stage in found) == design.estimate.ff
    assert sum(stage.dsp for stage in found) == design.estimate.dsp
    assert [round(stage.ns, 3) for stage in found] == report["stages_ns"]
    body = table_of(parsed(page), "The pipeline, by the compiler's estimate")
    assert [int(row[0]) for row in body] == list(range(1, report["latency_cycles"] + 1))
    assert [row[6] for row in body] == [f"{stage.registers:,}" for stage in found]


def test_last_rank_holds_the_outputs_and_nothing_else() -> None:
    model = model_from_arrays(model_arrays(3, features=8, layers=(20,)))
    design = compile_model(model, boards.get("nexys-a7"), Options(clock_mhz=200.0))
    found = stages(design)
    assert len(found) > 3
    assert found[-1].registers == sum(design.ports.out_widths) + 1
    assert all(stage.registers > found[-1].registers for stage in found[:-1])


def test_early_stopping_and_layers_are_marked() -> None:
    page, _, design, _ = example("regression")
    history = history_of(design.model)
    assert history is not None
    assert history.borders() == [(8, 2)]
    assert [(s.layer, s.nodes, s.first, s.last) for s in history.stops] == [(1, 5, 6, 7)]
    words = "Layer 1 stopped early: 5 nodes stay of 7, the last 2 were taken out again."
    assert words in parsed(page).text()
    body = table_of(parsed(page), "RMSE by nodes added")
    assert body[0] == ["1", "1", "0.500000", "0.600000"]
    assert body[-1] == ["10", "2", "0.100000", "0.200000"]


def test_history_without_validation() -> None:
    arrays = with_history(model_arrays(3, layers=(4,)), [1] * 4)
    arrays["history_validation_rmse"][:] = np.nan
    page = reported(arrays)[0]
    assert "validation rows" not in parsed(page).text()
    assert "NaN" not in page and "nan" not in page


def test_checks_name_simulators_and_vectors() -> None:
    page, _, _, rows = example("regression")
    body = table_of(parsed(page), "Outputs compared for equality")
    assert body == [
        ["amaranth", "24", "0", "4", "1", "0.5"],
        ["icarus", "246", "0", "4", "1", "12.0"],
    ]
    corners = len(rows.inputs) - len(rows.evaluation) - 200
    assert f"60 evaluation rows, {corners} corners" in parsed(page).text()


def test_a_mismatch_is_not_called_exact() -> None:
    design, rows = designed(model_arrays(3))
    wrong = [replace(SIMULATIONS[0], mismatches=1)]
    page = html_report(make_report("wrong", design, rows, wrong, None), design, rows)
    card = next(d for d in parsed(page).all("div") if "Bit-exact" in d.text())
    assert card.all("strong")[0].text() == "no"


def test_ports_are_placed_as_they_are_packed() -> None:
    page, report, *_ = example("external")
    formats = report["formats"]
    body = table_of(parsed(page), f"in_data, {formats['in_width']} bits")
    low = 0
    for row, port in zip(body, formats["in_data"], strict=True):
        assert row[:5] == [
            port["name"],
            port["kind"],
            f"{low + port['bits'] - 1}:{low}",
            str(port["bits"]),
            str(port["fraction"]),
        ]
        low += port["bits"]


def test_many_classes_are_listed_one_by_one() -> None:
    arrays = model_arrays(3, outputs=30, task="classification", layers=(2,), rows=90)
    page, report, *_ = reported(arrays)
    body = table_of(parsed(page), "Rows of each class, and how many are right")
    rows, pc, hardware = np.array([row[1:] for row in body], int).sum(axis=0)
    assert rows == report["rows"]
    assert pc / rows == report["accuracy_pc"] and hardware / rows == report["accuracy_hw"]


def test_samples_over_the_serial_line_are_those_of_full_frames() -> None:
    """By real frames, of bytes that need no escape."""
    _, report, design, _ = example("regression")
    hello, _ = identity(design)
    count = hello.max_batch
    request = Packet(Kind.PREDICT, 0x101, b"\x01" * (1 + count * hello.in_bytes)).encode()
    reply = Packet(Kind.RESULTS, 0x101, b"\x01" * (8 + count * hello.out_bytes)).encode()
    seconds = 10 * max(len(request), len(reply)) / hello.baud
    assert report["serial"]["baud"] == hello.baud
    assert report["serial"]["samples_per_second"] == pytest.approx(count / seconds, rel=0.02)
    assert report["samples_per_second"] == design.clock_mhz * 1e6
