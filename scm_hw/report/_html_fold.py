"""The page's view of a folded core: its phases in time, and the memories they read."""

from __future__ import annotations

from typing import Any

from scm_hw.report import plots
from scm_hw.report._html_elements import (
    Html,
    Section,
    count,
    el,
    numbers,
    plot,
    section,
    shortened,
    table,
)


def fold_section(report: dict[str, Any], period_ns: float) -> Section:
    """Every phase with its share of the cycles, and what is kept in memories."""
    fold, cycles = report["fold"], report["latency_cycles"]
    shown, remark = shortened(fold["phases"])
    words = (
        f"The core is folded: it works on one sample at a time, in {count(cycles, 'cycle')} of "
        f"{period_ns:g} ns, and takes the next as the result leaves. Phases follow each other; "
        "one more cycle takes the sample. Lanes are nodes times inputs at a time. The readout "
        "takes groups of nodes as they are done; its phase is what is left after the last layer."
    )
    bars = [
        plots.Bar(p["name"], p["cycles"] / cycles, f"{p['cycles']:,} of {cycles:,} cycles")
        for p in shown
    ]
    drawing = plots.bars(
        "pipeline-plot",
        "Cycles of each phase",
        "; ".join(f"{bar.label}: {bar.value}" for bar in bars),
        bars,
    )
    return section(
        "pipeline",
        "Phases",
        el("p", words),
        plot(drawing, "Where the cycles go", remark, numbers("Numbers", _phase_table(fold))),
        _memory_table(fold),
    )


def processor_section(report: dict[str, Any], period_ns: float) -> Section:
    """What a processor has room for, and what is in its memories."""
    found, cycles = report["processor"], report["latency_cycles"]
    words = (
        f"The core is a processor: any model that fits can be loaded into it. It works on one "
        f"sample at a time, a step of its program in each cycle of {period_ns:g} ns. The built-in "
        f"model takes {count(cycles, 'cycle')}, the longest program "
        f"{count(found['longest_latency_cycles'], 'cycle')}."
    )
    room = [(name, f"{value:,}") for name, value in found["capacity"].items()]
    columns = ("Memory", "Words", "Used", "Bits each", "Banks")
    rows = [
        (m["name"], f"{m['depth']:,}", f"{m['used']:,}", str(m["width"]), str(m["banks"]))
        for m in found["memories"]
    ]
    return section(
        "pipeline",
        "Processor",
        el("p", words),
        table("What there is room for", ("", "At most"), room),
        table("Memories that are loaded", columns, rows),
    )


def _phase_table(fold: dict[str, Any]) -> Html:
    lanes = {f"layer {k}": f"{f['pe']} x {f['simd']}" for k, f in enumerate(fold["layers"], 1)}
    lanes["readout"] = str(fold["readout_lanes"])
    beside = {p["name"] for p in fold["beside"]}
    rows = [
        (
            p["name"] + (", beside the layers" if p["name"] in beside else ""),
            lanes.get(p["name"], "1"),
            f"{p['steps']:,}",
            f"{p['cycles']:,}",
            f"{p['ns']:.3f}",
        )
        for p in [*fold["phases"], *fold["beside"]]
    ]
    columns = ("Phase", "Lanes", "Steps", "Cycles", "ns")
    return table("The phases, with the longest path of each by the delay model", columns, rows)


def _memory_table(fold: dict[str, Any]) -> Html:
    rows = [
        (m["name"], f"{m['depth']:,}", f"{m['width']:,}", f"{m['bits']:,}")
        for m in fold["memories"]
    ]
    return table("Memories of constants", ("Memory", "Words", "Bits each", "Bits"), rows)
