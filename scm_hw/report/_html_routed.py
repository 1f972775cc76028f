"""The board top as it was placed and routed here."""

from __future__ import annotations

from typing import Any

from scm_hw.report import plots
from scm_hw.report._html_elements import Section, el, figure_of, numbers, plot, section, table


def routed_sections(report: dict[str, Any]) -> list[Section]:
    """The routed clock beside the board's, and what the whole top takes; nothing if not routed."""
    routed = report["implementation"]
    if routed is None:
        return []
    bitstream = routed["bitstream"]
    shown = figure_of("implementation.fmax_mhz", routed["fmax_mhz"], f"{routed['fmax_mhz']:g}")
    words = el(
        "p",
        f"The whole board top, placed and routed by {_tools(routed)}: it runs at up to ",
        shown,
        f" MHz, and the board's clock is {routed['clock_mhz']:g} MHz. The bitstream is ",
        el("a", bitstream["file"], href=bitstream["file"]),
        f", {bitstream['bytes']:,} bytes, SHA-256 {bitstream['sha256'][:16]}.",
    )
    bars = [
        plots.Bar(
            cell,
            n["used"] / n["available"],
            f"{n['used']:,} of {n['available']:,} ({n['used'] / n['available']:.1%})",
        )
        for cell, n in routed["utilisation"].items()
    ]
    rows = [(cell, f"{n['used']:,}", f"{n['available']:,}") for cell, n in _cells(routed)]
    drawing = plots.bars(
        "routed-plot",
        "Cells of the board top",
        "; ".join(f"{bar.label}: {bar.value}" for bar in bars),
        bars,
    )
    body = table("Cells of the board top, as placed", ("Cell", "Used", "Device"), rows)
    figure = plot(drawing, "The board top in the device", numbers("Numbers", body))
    return [section("routed", "Placed and routed", words, figure)]


def _cells(routed: dict[str, Any]) -> list[tuple[str, dict[str, int]]]:
    return list(routed["utilisation"].items())


def _tools(routed: dict[str, Any]) -> str:
    found = ", ".join(f"{name} {version}" for name, version in routed["tools"].items())
    return f"{routed['toolchain']} ({found})"
