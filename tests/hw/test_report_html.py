"""The page of a build: well formed, complete in itself, harmless, and equal to report.json."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from scm_hw import boards
from scm_hw.build import BuildOptions, build
from scm_hw.design import Design, Options, compile_model
from scm_hw.load import model_from_arrays
from scm_hw.report import plots
from scm_hw.report._html_accuracy import confusion, traces
from scm_hw.report._html_elements import el, text
from scm_hw.report._html_style import STYLE
from scm_hw.report._html_training import history_of
from scm_hw.report._stages import stages
from scm_hw.report.html import html_report
from scm_hw.report.report import make_report
from scm_hw.report.synthesis import Resources
from scm_hw.rows import CheckRows, check_rows
from scm_hw.simulate import SimResult
from tests.pages import Element, parsed
from tests.support import meta_array, model_arrays, write_model

LIMIT = 2_000_000
HOSTILE = "</title></text><script>alert(1)</script>\" onload='x' &lt; \x00\u202e\ud800"
RESOURCES = Resources(lut=321, ff=123, carry4=45, dsp=6, bram36=0.5)
SIMULATIONS = [
    SimResult("amaranth", "0.5", 24, 0, 4, 1),
    SimResult("icarus", "12.0", 246, 0, 4, 1),
]


def designed(arrays: dict[str, np.ndarray]) -> tuple[Design, CheckRows]:
    design = compile_model(model_from_arrays(arrays), boards.get("nexys-a7"), model_digest="0" * 64)
    return design, check_rows(design, design.model.evaluation)


def reported(arrays: dict[str, np.ndarray], *, proven: bool = True, name: str = "tested") -> Any:
    """Page, report, design and rows of a model's build."""
    design, rows = designed(arrays)
    simulations, resources = (SIMULATIONS, RESOURCES) if proven else ([], None)
    report = make_report(name, design, rows, simulations, resources)
    return html_report(report, design, rows), report, design, rows


def with_meta(arrays: dict[str, np.ndarray], **changes: Any) -> dict[str, np.ndarray]:
    meta = json.loads(arrays["meta"].tobytes()) | changes
    return arrays | {"meta": meta_array(meta)}


def with_history(arrays: dict[str, np.ndarray], layer: list[int]) -> dict[str, np.ndarray]:
    steps = len(layer)
    return arrays | {
        "history_train_rmse": np.linspace(0.5, 0.1, steps),
        "history_validation_rmse": np.linspace(0.6, 0.2, steps),
        "history_layer": np.array(layer, np.int32),
    }


MODELS: dict[str, dict[str, Any]] = {
    "regression": {"layers": (5, 3), "rows": 60},
    "outputs": {"outputs": 8, "layers": (4,), "rows": 30, "mechanism": "polynomial"},
    "classifier": {"outputs": 4, "task": "classification", "rows": 50},
    "bare": {"layers": (), "mechanism": "table", "rows": 20},
    "external": {"mechanism": "external", "encoder": "none", "rows": 25},
}


@cache
def example(kind: str, proven: bool = True) -> Any:
    arrays = model_arrays(3, **MODELS[kind])
    if kind == "regression":
        arrays = with_history(arrays, [1] * 7 + [2] * 3)
    return reported(arrays, proven=proven)


def table_of(root: Element, caption: str) -> list[list[str]]:
    """The body of the table with this caption, cell by cell."""
    found = [t for t in root.all("table") if t.all("caption")[0].text() == caption]
    assert len(found) == 1, caption
    body = found[0].all("tbody")[0]
    return [[cell.text() for cell in row.all("th", "td")] for row in body.all("tr")]


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("proven", [True, False])
def test_page_is_well_formed(kind: str, proven: bool) -> None:
    root = parsed(example(kind, proven)[0])
    ids = [e.attributes["id"] for e in root if "id" in e.attributes]
    assert len(ids) == len(set(ids))
    for element in root:
        for attribute in ("aria-labelledby", "aria-describedby"):
            if attribute in element.attributes:
                assert element.attributes[attribute] in ids
    for landmark in ("header", "nav", "main", "footer", "h1", "title"):
        tops = [e for e in root.all(landmark) if landmark != "title" or "id" not in e.attributes]
        assert len(tops) == 1, landmark


@pytest.mark.parametrize("kind", MODELS)
def test_headings_are_in_order(kind: str) -> None:
    root = parsed(example(kind)[0])
    levels = [int(e.tag[1]) for e in root.all("h1", "h2", "h3", "h4", "h5", "h6")]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


@pytest.mark.parametrize("kind", MODELS)
def test_sections_are_all_there_and_linked(kind: str) -> None:
    root = parsed(example(kind)[0])
    sections = [s.attributes["aria-labelledby"] for s in root.all("section")]
    assert sections == [
        "built",
        "accuracy",
        "predictions",
        "training",
        "layers",
        "storage",
        "pipeline",
        "resources",
        "checks",
        "ports",
        "vivado",
    ]
    links = [a.attributes["href"] for a in root.all("nav")[0].all("a")]
    assert links == [f"#{slug}" for slug in sections]


@pytest.mark.parametrize("kind", MODELS)
def test_tables_have_captions_and_scopes(kind: str) -> None:
    for table in parsed(example(kind)[0]).all("table"):
        assert table.children[0].tag == "caption" and table.children[0].text().strip()
        assert all(th.attributes["scope"] in ("col", "row") for th in table.all("th"))
        widths = {len(row.all("th", "td")) for row in table.all("tr")}
        assert len(widths) == 1


@pytest.mark.parametrize("kind", MODELS)
def test_drawings_are_described_and_have_their_numbers(kind: str) -> None:
    root = parsed(example(kind)[0])
    drawings = [svg for svg in root.all("svg") if "aria-hidden" not in svg.attributes]
    assert drawings
    for svg in drawings:
        assert svg.attributes["role"] == "img"
        assert [child.tag for child in svg.children[:2]] == ["title", "desc"]
        assert all(child.text().strip() for child in svg.children[:2])
    for figure in root.all("figure"):
        tables = [t for details in figure.all("details") for t in details.all("table")]
        assert tables or "figure above" in figure.text()


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("proven", [True, False])
def test_page_is_complete_in_itself(kind: str, proven: bool) -> None:
    page = example(kind, proven)[0]
    root = parsed(page)
    assert not re.search(r"https?:|//|url\(|@import|javascript:", page, re.IGNORECASE)
    assert not root.all("script", "img", "iframe", "object", "embed", "form")
    assert not [a for e in root for a in e.attributes if a == "src" or a.startswith("on")]
    assert len(page.encode()) < LIMIT


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


def test_paper_stands_beside() -> None:
    page, report, *_ = example("regression")
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
    assert found[-1].registers == sum(design.core.out_widths) + 1
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


def test_missing_parts_are_said_to_be_missing() -> None:
    arrays = model_arrays(3, layers=())
    arrays = {name: array for name, array in arrays.items() if not name.startswith("eval_")}
    words = parsed(reported(arrays, proven=False)[0]).text()
    assert "carries no evaluation rows" in words
    assert "carries no history" in words
    assert "no hidden layer" in words
    assert "No simulator was run" in words
    assert "left synthesis out" in words


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
        assert row[:4] == [
            port["name"],
            f"{low + port['bits'] - 1}:{low}",
            str(port["bits"]),
            str(port["fraction"]),
        ]
        low += port["bits"]


@pytest.mark.parametrize("kind", ["regression", "classifier"])
def test_hostile_names_are_only_text(kind: str) -> None:
    options = MODELS[kind]
    arrays = with_history(model_arrays(3, **options), [1] * 4)
    outputs = options.get("outputs", 1)

    def page_with(word: str) -> str:
        changed = with_meta(
            arrays,
            features=[f"{word}{i}" for i in range(3)],
            targets=[f"{word}{i}" for i in range(outputs)],
            classes=[f"{word}{i}" for i in range(outputs)],
            algorithm=word,
            data={word: word, "more": [word, {word: word}]},
            settings={word: {word: word}},
            scores={word: word},
        )
        return reported(changed, name=word)[0]

    harmless, hostile = page_with("x"), page_with(HOSTILE)
    shapes = [[(e.tag, sorted(e.attributes)) for e in parsed(p)] for p in (harmless, hostile)]
    assert shapes[0] == shapes[1]
    hostile.encode()
    assert not set(hostile) & {"\x00", "\u202e", "\ud800"}
    assert "<script>alert(1)</script>" in parsed(hostile).text()


def test_equal_builds_have_equal_pages(tmp_path: Path) -> None:
    model = write_model(tmp_path / "model.npz", model_arrays(3))
    pages = []
    for folder in (tmp_path / "a", tmp_path / "b"):
        how = BuildOptions(out=folder, simulators=(), synthesis=False)
        build(model, boards.get("arty-a7"), build_options=how)
        pages.append((folder / "report.html").read_bytes())
    assert pages[0] == pages[1]
    assert str(tmp_path).encode() not in pages[0]


@pytest.mark.parametrize(
    ("board", "interface"), [("nexys-a7", "stream"), (None, "axis"), ("arty-a7", "axil")]
)
def test_linked_files_are_those_of_the_build(
    tmp_path: Path, board: str | None, interface: str
) -> None:
    model = write_model(tmp_path / "model.npz", model_arrays(3))
    target = boards.get(board) if board else boards.by_part("xc7a35tcpg236-1")
    how = BuildOptions(out=tmp_path / "out", simulators=(), synthesis=False)
    folder = build(model, target, Options(interface=interface), build_options=how).folder
    root = parsed((folder / "report.html").read_text(encoding="utf-8"))
    links = {str(a.attributes["href"]) for a in root.all("a")}
    files = {link for link in links if not link.startswith("#")}
    assert files == {path.name for path in folder.iterdir()} - {"report.html"}
    top = "scm_top" if board else "scm_core"
    assert f"vivado project/{top}.xpr" in root.text()


def test_large_models_stay_below_the_limit() -> None:
    arrays = model_arrays(3, features=300, outputs=12, layers=(), linear=False, rows=5000)
    arrays = with_history(arrays, [1] * 50_000)
    long = "&" * 2000
    arrays = with_meta(
        arrays,
        features=[f"{i}{long}" for i in range(300)],
        targets=[f"{i}{long}" for i in range(12)],
        settings={f"{i}{long}": long for i in range(500)},
    )
    page, report, *_ = reported(arrays)
    assert len(page.encode()) < LIMIT
    caption = f"in_data, {report['formats']['in_width']:,} bits"
    assert len(table_of(parsed(page), caption)) == 256
    assert "The first 256 of 300 are shown." in parsed(page).text()


def test_many_classes_are_listed_one_by_one() -> None:
    arrays = model_arrays(3, outputs=30, task="classification", layers=(2,), rows=90)
    page, report, *_ = reported(arrays)
    body = table_of(parsed(page), "Rows of each class, and how many are right")
    rows, pc, hardware = np.array([row[1:] for row in body], int).sum(axis=0)
    assert rows == report["rows"]
    assert pc / rows == report["accuracy_pc"] and hardware / rows == report["accuracy_hw"]


def test_text_is_escaped_unless_it_is_markup() -> None:
    assert el("p", "<b>", el("b", "&"), title='"') == '<p title="&quot;">&lt;b&gt;<b>&amp;</b></p>'
    assert text("abcdef", 4) == "abc…"


@pytest.mark.parametrize(
    ("least", "step"), [(0.7, 1.0), (1.0, 1.0), (1.1, 2.0), (2.4, 5.0), (7, 10.0), (0.03, 0.05)]
)
def test_tick_steps_are_round(least: float, step: float) -> None:
    assert_allclose(plots.tick_step(least), step)


@pytest.mark.parametrize(
    "values",
    [[0, 1], [-3.2, 17], [5, 5], [1e-9, 3e-9], [2e12, 3e12], [np.nan, 2, 4], [np.nan], []],
)
def test_axes_span_their_values(values: list[float]) -> None:
    axis = plots.axis("x", values)
    assert axis.low < axis.high
    assert all(axis.low - 1e-9 <= tick <= axis.high * (1 + 1e-9) for tick in axis.ticks)
    assert len(axis.ticks) <= plots.TICKS + 1
    finite = [v for v in values if np.isfinite(v)]
    assert all(0 <= axis.share(v) <= 1 for v in finite)


@pytest.mark.parametrize("values", [[1, 1000], [150, 1880], [7, 7], [0.3, 4e9]])
def test_scales_by_ratio_span_their_values(values: list[float]) -> None:
    axis = plots.log_axis("x", values)
    assert all(axis.low <= tick <= axis.high for tick in axis.ticks) and axis.ticks
    assert len(axis.ticks) <= 11
    assert_allclose(axis.share((axis.low * axis.high) ** 0.5), 0.5)
    assert all(0 <= axis.share(value) <= 1 for value in values)


def paths(series: plots.Series) -> str:
    axis = plots.Axis("", 0.0, 10.0, (0.0, 10.0))
    root = parsed(plots.chart("c", "t", "d", axis, axis, [series]))
    return str(root.all("path")[0].attributes["d"])


def test_lines_have_gaps_where_values_are_missing() -> None:
    drawn = paths(plots.Series("line", "", [0, 1, 2, 3], [0, np.nan, 5, 10]))
    assert drawn == "M0.0 1000.0M200.0 500.0L300.0 0.0"


def test_steps_and_areas_follow_their_edges() -> None:
    steps = paths(plots.Series("steps", "", [0, 5, 10], [2, 4]))
    assert steps == "M0.0 800.0L500.0 800.0L500.0 600.0L1000.0 600.0"
    area = paths(plots.Series("area", "", [0, 5, 10], [2, 4]))
    assert area == "M0.0 1000.0L0.0 800.0L500.0 800.0L500.0 600.0L1000.0 600.0L1000.0 1000.0Z"


def luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_colours_have_contrast(theme: int) -> None:
    """WCAG AA: 4.5 for text, 3 for what is drawn."""
    root = re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL)[theme]
    colours = dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", root))

    def contrast(a: str, b: str) -> float:
        low, high = sorted((luminance(colours[a]), luminance(colours[b])))
        return (high + 0.05) / (low + 0.05)

    for ground in ("page", "soft"):
        assert min(contrast(ink, ground) for ink in ("text", "quiet", "link")) >= 4.5
        drawn = ("hw", "pc", "good", "neutral")
        assert min(contrast(ink, ground) for ink in drawn) >= 3
