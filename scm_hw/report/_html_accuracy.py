"""PC against hardware on the evaluation rows: figures, traces, errors and confusion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scm_hw.design import Design
from scm_hw.load import classes_of, normalised_results
from scm_hw.report import plots
from scm_hw.report._html_elements import (
    NOTHING,
    Html,
    Section,
    el,
    figure_of,
    join,
    legend,
    name,
    numbers,
    plot,
    section,
    shortened,
    table,
)
from scm_hw.report.paper import paper_rows
from scm_hw.verify.rows import CheckRows
from scm_model import hidden_output

Floats = NDArray[np.float64]

# Plotted samples of one output, and of all together; plotted outputs.
MAX_SAMPLES = 300
MAX_ALL_SAMPLES = 1200
MAX_OUTPUTS = 6
MAX_CLASSES = 24
BINS = (8, 60)
TALL = 320
NO_ROWS = (
    "The model file carries no evaluation rows, so PC and hardware were not compared. Give rows "
    "with --data."
)


@dataclass(frozen=True, eq=False)
class Trace:
    """One output over the evaluation rows, in the target's own units."""

    name: str
    target: Floats
    nodes: Floats
    linear: Floats
    pc: Floats
    hardware: Floats


def traces(design: Design, rows: CheckRows) -> list[Trace]:
    """What each part of a regression adds, PC and hardware, prediction by prediction.

    The nodes' part is without an offset; the linear part has intercept and mechanism with it.
    """
    model, seen = design.model, rows.activity
    assert rows.evaluation is not None and seen is not None
    span, low = model.target_max - model.target_min, model.target_min
    linear = seen.mechanism + seen.x @ model.linear + model.intercept
    nodes = hidden_output(seen, model.readout)
    outputs = rows.hardware[:, : model.outputs]
    hardware = normalised_results(model, design.hardware, design.fixed, outputs)
    return [
        Trace(
            target,
            rows.evaluation.targets[:, i],
            span[i] * nodes[:, i],
            low[i] + span[i] * linear[:, i],
            low[i] + span[i] * seen.output[:, i],
            low[i] + span[i] * hardware[:, i],
        )
        for i, target in enumerate(model.targets[: model.points])
    ]


def accuracy_section(report: dict[str, Any]) -> Section:
    """RMSE or accuracy of PC and hardware, and the paper's FPGA case beside this one."""
    if "rmse_pc" in report:
        found = [_rmse_table(report), *_units_table(report), *_interval_table(report)]
        found += _flags_table(report)
    elif "accuracy_pc" in report:
        found = [_accuracy_table(report), *_flags_table(report)]
    else:
        found = [el("p", NO_ROWS)]
    beside = table(
        "Beside the paper's FPGA case",
        ("What", "Paper", "Here"),
        [(what[:1].upper() + what[1:], paper, here) for what, paper, here in paper_rows(report)],
    )
    note = (
        "The paper's servo data are private: its RMSE and the one here are of different data, with "
        "targets scaled to [0, 1] in both."
    )
    if report.get("sampled_from") is not None:
        words = (
            f"The model file carries {report['rows']:,} of the {report['sampled_from']:,} test "
            "rows that the trainer scored, evenly spread; give all of them with --data."
        )
        found.append(el("p", words, class_="note"))
    folded = el(
        "details",
        el("summary", "Beside the paper's FPGA case"),
        beside,
        el("p", note, class_="note"),
    )
    return section("accuracy", "Accuracy, PC against FPGA", *found, folded)


def _rmse_table(report: dict[str, Any]) -> Html:
    ratio = report["rmse_ratio"]
    rows = [
        (
            "This design",
            figure_of("rmse_pc", report["rmse_pc"], f"{report['rmse_pc']:.6f}"),
            figure_of("rmse_hw", report["rmse_hw"], f"{report['rmse_hw']:.6f}"),
            NOTHING if ratio is None else figure_of("rmse_ratio", ratio, f"{ratio:.6f}"),
        ),
    ]
    caption = f"RMSE on {report['rows']:,} evaluation rows, targets scaled to [0, 1]"
    return table(caption, ("Design", "PC", "FPGA", "FPGA / PC"), rows)


def _units_table(report: dict[str, Any]) -> list[Html]:
    shown, remark = shortened(list(report["rmse_units"].items()))
    rows = [
        (
            name(target),
            f"{v['pc']:.6g}",
            f"{v['hw']:.6g}",
            f"{v['max_hw']:.6g}",
            f"{v['max_difference']:.3g}",
            NOTHING if v["r2_hw"] is None else f"{v['r2_hw']:.4f}",
        )
        for target, v in shown
    ]
    columns = ("Target", "RMSE, PC", "RMSE, FPGA", "Worst, FPGA", "FPGA - PC, at most", "R², FPGA")
    return [table("Errors in the target's own units", columns, rows), remark]


def _interval_table(report: dict[str, Any]) -> list[Html]:
    """Coverage and width of the intervals, of a model with bounds."""
    interval = report.get("interval")
    if interval is None:
        return []
    shown, remark = shortened(list(interval["targets"].items()))
    rows = [
        (
            name(target),
            f"{v['coverage_pc']:.2%}",
            f"{v['coverage_hw']:.2%}",
            f"{v['width_pc']:.6g}",
            f"{v['width_hw']:.6g}",
        )
        for target, v in shown
    ]
    columns = ("Target", "Inside, PC", "Inside, FPGA", "Mean width, PC", "Mean width, FPGA")
    caption = f"Share of evaluation rows inside the interval of level {interval['level']:.2%}"
    return [table(caption, columns, rows), remark]


def _flags_table(report: dict[str, Any]) -> list[Html]:
    """How often the flags are set, of a model that has such."""
    flags = report.get("flags", {})
    rows = []
    for flag, one in flags.items():
        promise = NOTHING
        if "level" in one:
            wrong = f"{one['wrong_unflagged_hw']:.2%}"
            promise = f"wrong without it: {wrong} of the rows, at most {one['level']:.2%} promised"
        if "rate" in one:
            promise = f"false alarms: at most {one['rate']:.2%} promised"
        rows.append((flag, f"{one['share_hw']:.2%}", promise))
    return [table("Flags on the evaluation rows", ("Flag", "Set", ""), rows)] if rows else []


def _accuracy_table(report: dict[str, Any]) -> Html:
    row = (
        "This design",
        figure_of("accuracy_pc", report["accuracy_pc"], f"{report['accuracy_pc']:.2%}"),
        figure_of("accuracy_hw", report["accuracy_hw"], f"{report['accuracy_hw']:.2%}"),
    )
    caption = f"Share of {report['rows']:,} evaluation rows whose class is right"
    return table(caption, ("Design", "PC", "FPGA"), [row])


def predictions_section(design: Design, rows: CheckRows) -> Section:
    """Predicted against target over the samples; of a classifier, the confusion matrices."""
    if rows.evaluation is None or rows.activity is None:
        return section("predictions", "Predictions", el("p", NO_ROWS))
    if design.model.is_classifier:
        return section("predictions", "Confusion of classes", *_confusion(design, rows))
    every = traces(design, rows)
    shown, remark = shortened(every, MAX_OUTPUTS)
    return section(
        "predictions",
        "Predicted against target",
        remark,
        *(
            part
            for i, trace in enumerate(shown)
            for part in _output_parts(i, trace, len(shown), alone=len(every) == 1)
        ),
    )


def _output_parts(i: int, trace: Trace, outputs: int, *, alone: bool) -> list[Html]:
    kept = _sample(len(trace.target), min(MAX_SAMPLES, MAX_ALL_SAMPLES // outputs))
    heading = [] if alone else [el("h3", name(trace.name))]
    pair = el("div", _scatter(i, trace, kept), _histogram(i, trace), class_="pair")
    return [*heading, _panels(i, trace, kept), pair]


def _sample(rows: int, most: int) -> NDArray[np.int64]:
    """Evenly spaced rows, both ends among them."""
    return np.unique(np.linspace(0, rows - 1, min(rows, most)).round().astype(np.int64))


def _panels(i: int, trace: Trace, kept: NDArray[np.int64]) -> Html:
    """The four panels of the paper's servo figure, all with as many units to the pixel."""
    panels = [
        ("target", "a) target", trace.target),
        ("nodes", "b) SCM nodes alone", trace.nodes),
        ("linear", "c) linear part and mechanism alone", trace.linear),
        ("hw", "d) both together, FPGA", trace.hardware),
    ]
    x = plots.axis("sample", kept + 1, whole=True)
    half = max(np.ptp(values[kept]) for _, _, values in panels) / 2
    drawings = []
    for style, label, values in panels:
        middle = (values[kept].min() + values[kept].max()) / 2
        y = plots.axis(label, [middle - half, middle + half])
        words = (
            f"{len(kept)} samples from {values[kept].min():.4g} to {values[kept].max():.4g}, "
            f"mean {values[kept].mean():.4g}."
        )
        line = plots.Series("line", style, kept + 1, values[kept])
        drawings.append(plots.chart(f"panel-{i}-{style}", label, words, x, y, [line], height=190))
    return el(
        "figure",
        el("figcaption", join([name(trace.name), f" over {_of(kept, trace.target)}"])),
        el("div", *drawings, class_="pair"),
        numbers("Numbers", _samples_table(trace, kept)),
    )


def _of(kept: Sequence[int] | NDArray[np.int64], every: Floats) -> str:
    if len(kept) == len(every):
        return f"all {len(every):,} evaluation rows"
    return f"{len(kept):,} of {len(every):,} evaluation rows, evenly spaced"


def _samples_table(trace: Trace, kept: NDArray[np.int64]) -> Html:
    columns = ("Row", "Target", "SCM nodes", "Linear part", "PC", "FPGA")
    values = np.stack([trace.target, trace.nodes, trace.linear, trace.pc, trace.hardware], axis=1)
    rows = [(k + 1, *(f"{v:.5g}" for v in values[k])) for k in kept.tolist()]
    return table(join([name(trace.name), ", in the target's own units"]), columns, rows)


def _scatter(i: int, trace: Trace, kept: NDArray[np.int64]) -> Html:
    target, hardware = trace.target[kept], trace.hardware[kept]
    x, y = plots.axis("target", target, hardware), plots.axis("FPGA", target, hardware)
    ends = [x.low, x.high]
    drawing = plots.chart(
        f"scatter-{i}",
        "FPGA output against target",
        f"{len(kept)} samples along the diagonal; the largest distance from it is "
        f"{np.abs(hardware - target).max():.4g}.",
        x,
        y,
        [
            plots.Series("line", "ideal", ends, ends),
            plots.Series("dots", "hw", target, hardware),
        ],
        height=TALL,
    )
    labels = [("dots hw", "a sample"), ("line ideal", "output equals target")]
    where = el("p", "The numbers are those of the figure above.", class_="note")
    return plot(drawing, "FPGA output against target, the same rows", legend(labels), where)


def _histogram(i: int, trace: Trace) -> Html:
    pc, hardware = trace.pc - trace.target, trace.hardware - trace.target
    edges = _edges(np.concatenate([pc, hardware]))
    counts_pc, counts_hw = (np.histogram(e, edges)[0] for e in (pc, hardware))
    drawing = plots.chart(
        f"errors-{i}",
        "Histogram of the errors of PC and FPGA",
        f"PC errors: mean {pc.mean():.4g}, standard deviation {pc.std():.4g}. FPGA errors: mean "
        f"{hardware.mean():.4g}, standard deviation {hardware.std():.4g}.",
        plots.axis("error, output minus target", edges),
        plots.axis("rows", counts_pc, counts_hw, zero=True, whole=True),
        [
            plots.Series("area", "hw", edges, counts_hw),
            plots.Series("steps", "pc", edges, counts_pc),
        ],
        height=TALL,
    )
    rows = [
        (f"{low:.4g} to {high:.4g}", int(a), int(b))
        for low, high, a, b in zip(edges[:-1], edges[1:], counts_pc, counts_hw, strict=True)
    ]
    apart = np.abs(trace.hardware - trace.pc).max()
    return plot(
        drawing,
        f"Errors over all {len(pc):,} evaluation rows",
        legend([("area hw", "FPGA"), ("line pc", "PC")]),
        el("p", f"PC and FPGA are never more than {apart:.3g} apart.", class_="note"),
        numbers("Numbers", table("Rows by error", ("Error", "PC", "FPGA"), rows)),
    )


def _edges(errors: Floats) -> Floats:
    """Edges of equal bins by the rule of Freedman and Diaconis, in bounded number."""
    low, high = float(errors.min()), float(errors.max())
    if not high > low:
        low, high = low - 0.5, high + 0.5
    quarter, three_quarters = np.percentile(errors, [25, 75])
    width = 2 * (three_quarters - quarter) / len(errors) ** (1 / 3)
    bins = (high - low) / width if width > 0 else BINS[0]
    return np.linspace(low, high, int(np.clip(bins, *BINS)) + 1)


def _confusion(design: Design, rows: CheckRows) -> list[Html]:
    assert rows.evaluation is not None and rows.activity is not None
    classes = design.model.classes or ()
    target = rows.evaluation.targets.astype(np.int64)
    pc, hardware = classes_of(rows.activity.output), rows.hardware[:, 0]
    differ = int((pc != hardware).sum())
    words = f"PC and FPGA give different classes for {differ:,} of {len(target):,} rows."
    if len(classes) > MAX_CLASSES:
        return [el("p", words), *_per_class(classes, target, pc, hardware)]
    matrices = [
        _matrix(f"Confusion, {machine}", classes, confusion(target, found, len(classes)))
        for machine, found in (("PC", pc), ("FPGA", hardware))
    ]
    return [
        el("p", words, " Down are the true classes, across the predicted ones."),
        el("div", *matrices, class_="pair"),
    ]


def confusion(target: NDArray[np.int64], found: NDArray[np.int64], classes: int) -> NDArray:
    """How many rows of each true class (down) were given each class (across)."""
    flat = np.bincount(target * classes + found, minlength=classes * classes)
    return flat.reshape(classes, classes)


def _matrix(caption: str, classes: Sequence[Any], counts: NDArray) -> Html:
    head = [name(label) for label in classes]
    rows = []
    for i, label in enumerate(head):
        most = max(int(counts[i].sum()), 1)
        cells = [_shaded(int(n), n / most, right=i == j) for j, n in enumerate(counts[i])]
        rows.append((label, *cells))
    return el("div", table(caption, ("True class", *head), rows), class_="matrix")


def _shaded(count: int, share: float, *, right: bool) -> Html:
    kind = ("right" if right else "wrong") if count else "empty"
    return el("span", f"{count:,}", class_=kind, style=f"--share:{share:.2f}" if count else None)


def _per_class(
    classes: Sequence[Any],
    target: NDArray[np.int64],
    pc: NDArray[np.int64],
    hardware: NDArray[np.int64],
) -> list[Html]:
    """Right answers of each class, where the whole matrix would be too large to read."""
    shown, remark = shortened(classes)
    rows = []
    for i, label in enumerate(shown):
        of = target == i
        rows.append(
            (name(label), int(of.sum()), int((pc[of] == i).sum()), int((hardware[of] == i).sum()))
        )
    columns = ("Class", "Rows", "Right, PC", "Right, FPGA")
    return [table("Rows of each class, and how many are right", columns, rows), remark]
