"""The model's side of the page: what was built from what, its training, layers and storage."""

from __future__ import annotations

from typing import Any

import numpy as np

from scm_hw.design import Design
from scm_hw.load import Model
from scm_hw.report import plots
from scm_hw.report._html_elements import (
    NOTHING,
    Html,
    Section,
    el,
    facts,
    figure_of,
    legend,
    numbers,
    plot,
    section,
    shortened,
    table,
    text,
)

MAX_POINTS = 400
MAX_LAYERS = 40
MAX_SETTINGS = 60
SETTING_LENGTH = 160


def built_section(report: dict[str, Any], design: Design) -> Section:
    """The design, its model, and the tools."""
    model = report["model"]
    mechanism = model["mechanism"]
    return section(
        "built",
        "What was built",
        facts(
            [
                ("Board", f"{report['board']}: {design.board.description}"),
                ("Part", report["part"]),
                ("Clock", f"{report['clock_mhz']:g} MHz"),
                ("Task", model["task"]),
                ("Learner", text(model["algorithm"], SETTING_LENGTH)),
                ("Data", _plain(model["data"])),
                ("Inputs", _inputs(model)),
                ("Nodes", _nodes(model["layers"])),
                ("Linear part", f"{model['linear_inputs']:,} of {model['inputs']:,} inputs"),
                ("Mechanism", "none" if mechanism == "none" else mechanism),
                ("Outputs", f"{model['outputs']:,}"),
                ("Coefficients", f"{design.fixed.frac_bits} fraction bits"),
                ("Digest", el("code", report["digest"])),
                ("Model file, SHA-256", el("code", model["sha256"] or "not known")),
                ("Tools", ", ".join(f"{tool} {v}" for tool, v in report["tools"].items())),
            ]
        ),
    )


def _inputs(model: dict[str, Any]) -> str:
    words = f"{model['inputs']:,} features of {model['input_bits']} bits"
    if model["encoder"] == "none":
        return words + ", not coded"
    return f"{words}, {model['encoder']} code, {model['coded_inputs']:,} coded bits"


def _nodes(layers: list[dict[str, Any]]) -> str:
    if not layers:
        return "none: mechanism and linear part alone"
    total = f"{sum(layer['nodes'] for layer in layers):,}"
    kinds = " and ".join(dict.fromkeys(layer["activation"] for layer in layers))
    return f"{total}, {kinds}, in {len(layers):,} layer{'s' if len(layers) > 1 else ''}"


def _plain(value: object) -> Html | None:
    """A value of the model's `meta` in a few words; None where it says nothing."""
    if value is None or value in ("", [], {}):
        return None
    if isinstance(value, dict):
        parts = [f"{key}: {_words(item)}" for key, item in list(value.items())[:MAX_SETTINGS]]
        return text("; ".join(parts), SETTING_LENGTH)
    return text(_words(value), SETTING_LENGTH)


def _words(value: object) -> str:
    if isinstance(value, list):
        return " ".join(str(item) for item in value[:MAX_SETTINGS])
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def training_section(model: Model) -> Section:
    """RMSE over the nodes as they were added, and the settings of the run."""
    return section(
        "training",
        "Training",
        _history(model),
        _meta_table("Scores of the trainer", model.meta.get("scores")),
        _folded("Settings of the training run", model.meta.get("settings")),
    )


def _history(model: Model) -> Html:
    train = model.history.get("history_train_rmse")
    if train is None or not len(train):
        return el("p", "The model file carries no history of its training.")
    validation = model.history.get("history_validation_rmse", np.full(len(train), np.nan))
    layer = model.history.get("history_layer", np.ones(len(train), np.int32))
    kept = np.unique(np.linspace(0, len(train) - 1, MAX_POINTS).round().astype(int))
    step = kept + 1
    validated = bool(np.isfinite(validation).any())
    series = [plots.Series("line", "train", step, train[kept])]
    if validated:
        series.append(plots.Series("line", "validation", step, validation[kept]))
    x = plots.axis("nodes added", step, whole=True)
    y = plots.axis("RMSE", train[kept], validation[kept] if validated else [])
    marks, remarks = _marks(model, layer)
    drawing = plots.chart(
        "training-plot",
        "RMSE while nodes were added",
        f"Training RMSE falls from {train[0]:.6f} to {train[-1]:.6f}. " + " ".join(remarks),
        x,
        y,
        series,
        marks=marks,
    )
    labels = [("line train", "training rows"), ("line validation", "validation rows")]
    rows = [
        (int(i) + 1, int(layer[i]), f"{train[i]:.6f}", _rmse(validation[i])) for i in kept.tolist()
    ]
    caption = (
        "RMSE after every node added" if len(kept) == len(train) else "RMSE while nodes were added"
    )
    return plot(
        drawing,
        caption,
        legend(labels if validated else labels[:1]),
        el("p", " ".join(remarks), class_="note") if remarks else None,
        numbers(
            "Numbers",
            table("RMSE by nodes added", ("Nodes", "Layer", "Training", "Validation"), rows),
        ),
    )


def _rmse(value: float) -> str:
    return f"{value:.6f}" if np.isfinite(value) else NOTHING


def _marks(model: Model, layer: np.ndarray) -> tuple[list[plots.Mark], list[str]]:
    """Where layers begin, and where early stopping took the last nodes of one away again."""
    marks: list[plots.Mark] = []
    remarks: list[str] = []
    for number, machine_layer in list(enumerate(model.layers, start=1))[:MAX_LAYERS]:
        steps = np.flatnonzero(layer == number)
        if not len(steps):
            continue
        first, last = int(steps[0]) + 1, int(steps[-1]) + 1
        if number > 1:
            marks.append(plots.Mark(first - 0.5, f"layer {number}"))
        removed = len(steps) - machine_layer.nodes
        if removed > 0:
            marks.append(plots.Mark(last - removed, "stopped", until=last))
            remarks.append(
                f"Layer {number} stopped early: {machine_layer.nodes:,} nodes stay of "
                f"{len(steps):,}, the last {removed:,} were taken out again."
            )
    return marks, remarks


def _meta_table(caption: str, value: object) -> Html | None:
    """A dictionary of the model's `meta` as a table, or nothing."""
    if not isinstance(value, dict) or not value:
        return None
    rows = [
        (text(key, SETTING_LENGTH), _plain(item) or NOTHING)
        for key, item in list(value.items())[:MAX_SETTINGS]
    ]
    return table(caption, ("What", "Value"), rows)


def _folded(caption: str, value: object) -> Html | None:
    found = _meta_table(caption, value)
    return numbers(caption, found) if found else None


def layers_section(report: dict[str, Any]) -> Section:
    """Nodes per layer."""
    layers = report["model"]["layers"]
    if not layers:
        words = "The model has no hidden layer: mechanism and linear part alone."
        return section("layers", "Nodes per layer", el("p", words))
    shown, remark = shortened(layers, MAX_LAYERS)
    most = max(layer["nodes"] for layer in layers)
    bars = [
        plots.Bar(
            f"Layer {i}, {layer['activation']}", layer["nodes"] / most, f"{layer['nodes']:,} nodes"
        )
        for i, layer in enumerate(shown, start=1)
    ]
    drawing = plots.bars(
        "layers-plot",
        "Nodes per layer",
        "; ".join(f"{bar.label}: {bar.value}" for bar in bars),
        bars,
    )
    rows = [(i, layer["activation"], layer["nodes"]) for i, layer in enumerate(shown, start=1)]
    return section(
        "layers",
        "Nodes per layer",
        plot(
            drawing,
            "Hidden nodes that stay",
            remark,
            numbers(
                "Numbers",
                table("Nodes per layer", ("Layer", "Activation", "Nodes"), rows, text_columns=(1,)),
            ),
        ),
    )


def storage_section(report: dict[str, Any]) -> Section:
    """Weights and bits of the real machine and of hardware."""
    weights = report["weights"]
    real, hardware = weights["real"], weights["hardware"]
    rows = [
        ("Real machine, 64 bits a weight", f"{real['count']:,}", _bits("real", real["bits"])),
        (
            "FPGA, one bit a weight",
            f"{hardware['count']:,}",
            _bits("hardware", hardware["bits"]),
        ),
    ]
    reduction = figure_of("weights.reduction", weights["reduction"], f"{weights['reduction']:.2%}")
    return section(
        "storage",
        "Storage of the hidden weights",
        table("Weights of the hidden layers", ("Machine", "Weights", "Bits"), rows),
        el(
            "p",
            "Memory reduction ",
            reduction,
            ". Signs the compiler turns into tables need no memory at all.",
            class_="note",
        ),
    )


def _bits(which: str, value: int) -> Html:
    return figure_of(f"weights.{which}.bits", value, f"{value:,}")
