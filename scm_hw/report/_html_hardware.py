"""The hardware side of the page: pipeline, resources and checks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scm_hw.design import Design
from scm_hw.passes.sample import RANDOM_ROWS
from scm_hw.report import plots
from scm_hw.report._html_elements import (
    NOTHING,
    Html,
    Section,
    count,
    el,
    figure_of,
    numbers,
    plot,
    section,
    shortened,
    table,
    text,
)
from scm_hw.report._html_fold import fold_section, processor_section
from scm_hw.report._stages import Stage, stages
from scm_hw.verify.rows import CheckRows

STAGE_HEIGHT = 104
RANK_HEIGHT = 44
MAX_STAGES = 48
MAX_ITEMS = 3
RESOURCES = {"lut": "LUT", "ff": "FF", "carry4": "CARRY4", "dsp": "DSP48", "bram": "BRAM36"}
DSP_NAMES = {"ecp5": "MULT18X18D", "ice40": "SB_MAC16"}


def pipeline_section(report: dict[str, Any], design: Design) -> Section:
    """Every cycle with what it computes, what that costs, and how much of the clock it takes.

    A folded core has phases instead.
    """
    if design.fold is not None:
        return fold_section(report, design.fold.period_ns)
    if design.processor is not None:
        return processor_section(report, design.processor.period_ns)
    found = stages(design)
    shown, remark = shortened(found, MAX_STAGES)
    period = design.schedule.period_ns
    cycles = report["latency_cycles"]
    words = (
        f"A sample passes {count(cycles, 'cycle')} of {period:g} ns, and a new one may enter "
        f"every {_every(report['initiation_interval'])}. Each box is the logic of one cycle, the "
        "line under it its registers; bars of LUTs are against the largest cycle. LUTs, registers "
        "and times are the compiler's own estimate, before synthesis merges any of them."
    )
    drawing = plots.drawing(
        "pipeline-plot",
        "The pipeline, cycle by cycle",
        "; ".join(_in_words(stage) for stage in shown),
        len(shown) * (STAGE_HEIGHT + RANK_HEIGHT),
        [part for i, s in enumerate(shown) for part in _stage_box(i, s, found, period)],
        "pipeline",
    )
    return section(
        "pipeline",
        "Pipeline",
        el("p", words),
        plot(
            drawing,
            "From the inputs to the output",
            remark,
            numbers("Numbers", _stage_table(found)),
        ),
    )


def _every(interval: int) -> str:
    return "cycle" if interval == 1 else f"{interval} cycles"


def _kinds(stage: Stage) -> str:
    return ", ".join(count(n, kind) for kind, n in stage.kinds.items()) or "registers only"


def _brief(items: Sequence[str]) -> str:
    """As many as have room in a narrow drawing; the table has all."""
    rest = ", ..." if len(items) > MAX_ITEMS else ""
    return ", ".join(items[:MAX_ITEMS]) + rest


def _in_words(stage: Stage) -> str:
    return (
        f"cycle {stage.cycle + 1}: {_kinds(stage)}, {stage.bits:,} bits, {stage.lut:,} LUT, "
        f"{stage.registers:,} registers, {stage.ns:.2f} ns"
    )


def _stage_box(i: int, stage: Stage, every: list[Stage], period: float) -> list[Html]:
    top = i * (STAGE_HEIGHT + RANK_HEIGHT)
    most = max(s.lut for s in every) or 1
    rank = top + STAGE_HEIGHT + 8
    title = f"Cycle {stage.cycle + 1}"
    parts = f" · {_brief(stage.parts)}" if stage.parts else ""
    dsp = f", {stage.dsp} DSP48" if stage.dsp else ""
    return [
        el("rect", class_="box", x="0.2%", y=top + 1, width="99.6%", height=STAGE_HEIGHT, rx=6),
        el("text", el("tspan", title, class_="strong"), parts, x="3%", y=top + 22),
        el("text", _brief(_kinds(stage).split(", ")), x="3%", y=top + 41),
        el("text", f"{stage.lut:,} LUT{dsp}", x="3%", y=top + 71),
        *plots.meter(3, top + 81, 45, stage.lut / most),
        el("text", f"{stage.ns:.2f} of {period:g} ns", x="52%", y=top + 71),
        *plots.meter(52, top + 81, 45, stage.ns / period, "fill-pc"),
        el("rect", class_="rank", x="0.2%", y=rank, width="99.6%", height=4),
        el("text", f"{stage.bits:,} bits of results", x="3%", y=rank + 20),
        el("text", f"{stage.registers:,} registers", x="97%", y=rank + 20, text_anchor="end"),
    ]


def _stage_table(found: list[Stage]) -> Html:
    rows = [
        (
            s.cycle + 1,
            _kinds(s),
            f"{s.operations:,}",
            f"{s.bits:,}",
            f"{s.lut:,}",
            f"{s.dsp:,}",
            f"{s.registers:,}",
            f"{s.ns:.3f}",
        )
        for s in found
    ]
    columns = ("Cycle", "What", "Operations", "Bits", "LUT", "DSP48", "Registers", "ns")
    return table("The pipeline, by the compiler's estimate", columns, rows, text_columns=(1,))


def resources_section(report: dict[str, Any]) -> Section:
    """What the core takes of what the device has."""
    used, device = report["resources"], report["device"]
    labels = _labels(device)
    bars = [
        _resource_bar(labels[key], used[key], device[key])
        for key in labels
        if used[key] is not None
    ]
    estimated = used["source"] == "estimate"
    source = (
        "Estimated by the compiler; the build left synthesis out."
        if estimated
        else f"Cells of the core alone, as synthesised by {used['source']}."
    )
    return section(
        "resources",
        "Resources",
        el("p", source),
        plot(
            plots.bars(
                "resources-plot",
                f"Resources used of {device['name']}",
                "; ".join(f"{bar.label}: {bar.value}" for bar in bars),
                bars,
            ),
            f"The core in {device['name']}",
            numbers("Numbers", _resource_table(used, device)),
        ),
        *_around_table(report),
    )


def _around_table(report: dict[str, Any]) -> tuple[Html, ...]:
    """The core alone, behind its bus and in the board top, a line each."""
    used = report["resources"]
    parts = [(part, used[part]) for part in ("wrapper", "top") if used.get(part) is not None]
    if not parts:
        return ()
    core = used | {"max_clock_mhz_modelled": report["max_clock_mhz_modelled"]}
    rows = [
        (
            f"{part}, {cells['module']}" if part != "core" else part,
            *(_or_dash(cells[key]) for key in ("lut", "lut_sites", "ff", "carry4", "dsp")),
            f"{cells['bram']:g}",
            f"{cells['max_clock_mhz_modelled']:,g} MHz",
        )
        for part, cells in [("core", core), *parts]
    ]
    words = (
        "A wrapper and the board top are counted with the core in them: each is synthesised "
        "around the core as a black box, and the core's cells are added. The clock is the fastest "
        "by the delay model; what a wrapper's logic takes of the core's first cycle is part of the "
        "core's schedule."
    )
    columns = ("What", "LUT", "LUT sites", "FF", "CARRY4", "DSP", "BRAM", "Clock")
    return (el("p", words), table("The core, and what is around it", columns, rows))


def _labels(device: dict[str, Any]) -> dict[str, str]:
    """What the family calls its cells; those it doesn't have are left out."""
    family = device.get("family", "xc7")
    if family == "xc7":
        return RESOURCES
    named = RESOURCES | {"dsp": DSP_NAMES.get(family, "DSP"), "bram": device["block"]}
    return {key: label for key, label in named.items() if device[key] is not None}


def _resource_bar(label: str, used: float, have: float) -> plots.Bar:
    share = used / have if have else 0.0
    return plots.Bar(label, share, f"{used:,g} of {have:,g} ({share:.1%})")


def _resource_table(used: dict[str, Any], device: dict[str, Any]) -> Html:
    guess = used.get("estimate", used)
    rows = []
    for key, label in _labels(device).items():
        found = used[key]
        measured = (
            "not known" if found is None else figure_of(f"resources.{key}", found, f"{found:,g}")
        )
        expected = f"{guess[key]:,g}" if guess.get(key) is not None else NOTHING
        share = f"{found / device[key]:.2%}" if found is not None and device[key] else NOTHING
        rows.append((label, measured, expected, f"{device[key]:,g}", share))
    if "route_throughs" in used:
        rows.insert(1, _sites_row(used, device))
    columns = ("Resource", "Used", "Estimate", "Device", "Share")
    return table(f"Resources of the core in {device['name']}", columns, rows)


def _sites_row(used: dict[str, Any], device: dict[str, Any]) -> tuple[Any, ...]:
    """What a packer makes of the LUTs: wires into carry chains added, pairs counted once."""
    sites = used["lut_sites"]
    parts = f" ({used['route_throughs']:,} route-throughs, {used['lut_pairs']:,} pairs)"
    measured = el("span", figure_of("resources.lut_sites", sites, f"{sites:,}"), parts)
    return ("LUT sites", measured, NOTHING, f"{device['lut']:,}", f"{sites / device['lut']:.2%}")


def checks_section(report: dict[str, Any], rows: CheckRows) -> Section:
    """Which simulators saw how many vectors, and what they found."""
    found = report["bit_exact"]
    if not found:
        words = "This build was not simulated (--no-sim)."
        return section("checks", "Checks", el("p", words), _vectors_note(report, rows))
    columns = ("Simulator", "Vectors", "Mismatches", "Cycles", "Interval", "Version")
    body = [
        (
            simulator,
            figure_of(f"bit_exact.{simulator}.vectors", v["vectors"], f"{v['vectors']:,}"),
            figure_of(f"bit_exact.{simulator}.mismatches", v["mismatches"], f"{v['mismatches']:,}"),
            _or_dash(v["cycles"]),
            _or_dash(v["initiation_interval"]),
            text(v["version"]),
        )
        for simulator, v in found.items()
    ]
    return section(
        "checks",
        "Checks",
        el(
            "p",
            "Every output must equal the integer program's, at full speed and under random stalls "
            "on both sides, with resets in mid-stream; latency and interval are measured.",
        ),
        table("Outputs compared for equality", columns, body, text_columns=(5,)),
        _vectors_note(report, rows),
        _netlist_note(report),
        el("p", _files_note(report)),
    )


def _files_note(report: dict[str, Any]) -> str:
    """On test bench and lint: a build with simulators gets here only when both have passed."""
    left_out = report.get("left_out", [])
    if left_out:
        return f"Left out in this build: {'; '.join(left_out)}."
    return (
        "The self-checking Verilog test bench in this folder passed in Icarus Verilog, and "
        "Verilator's lint had nothing to say about the Verilog."
    )


def _netlist_note(report: dict[str, Any]) -> Html:
    if report["checks"]["netlist"]:
        words = (
            "“netlist” is what Yosys made of the Verilog for this device, in Icarus "
            "Verilog with models of its LUTs, carry chains, registers, DSPs and memories."
        )
    else:
        words = "The synthesised netlist was not simulated; build with --gate-sim to do that too."
    return el("p", words)


def _or_dash(value: int | None) -> str:
    return NOTHING if value is None else f"{value:,}"


def _vectors_note(report: dict[str, Any], rows: CheckRows) -> Html:
    evaluation = rows.own_count
    corners = len(rows.inputs) - evaluation - RANDOM_ROWS
    words = (
        f"The build's vectors: {count(evaluation, 'evaluation row')}, {count(corners, 'corner')} "
        f"of the input ranges and {RANDOM_ROWS:,} random codes."
    )
    played = max((v["vectors"] for v in report["bit_exact"].values()), default=len(rows.inputs))
    if played < len(rows.inputs):
        words += f" A folded core takes many cycles for each: {played:,} of them were simulated."
    return el("p", words, class_="note")
