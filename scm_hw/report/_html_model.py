"""The model's side of the page: what was built from what, its layers and storage."""

from __future__ import annotations

from typing import Any

from scm_hw.design import Design
from scm_hw.report import plots
from scm_hw.report._html_elements import (
    Html,
    Section,
    count,
    el,
    facts,
    figure_of,
    in_words,
    name,
    numbers,
    plot,
    section,
    shortened,
    table,
)

MAX_LAYERS = 40


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
                ("Learner", name(model["algorithm"])),
                ("Data", in_words(model["data"])),
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
    total = sum(layer["nodes"] for layer in layers)
    kinds = " and ".join(dict.fromkeys(layer["activation"] for layer in layers))
    return f"{total:,}, {kinds}, in {count(len(layers), 'layer')}"


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
            f"Layer {i}, {layer['activation']}",
            layer["nodes"] / most,
            count(layer["nodes"], "node"),
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
        el("p", "Memory reduction ", reduction, class_="note"),
    )


def _bits(which: str, value: int) -> Html:
    return figure_of(f"weights.{which}.bits", value, f"{value:,}")
