"""Several builds side by side, from their report.json, and Vivado's report of power if there."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scm_hw.common.outputs import Kind
from scm_hw.errors import OptionError
from scm_hw.report import plots
from scm_hw.report._html_elements import (
    Child,
    Html,
    count,
    el,
    join,
    name,
    numbers,
    plot,
    section,
    table,
)
from scm_hw.report._html_page import Card, Page
from scm_hw.report.power import watts_and_source, with_vivado
from scm_hw.report.report import FORMAT

MAX_BYTES = 2**24
# Builds that are named where several are equally good.
MAX_TIED = 3
NOTHING = "\N{EM DASH}"
# How a page is known again.
FOOTER = "Made by scm-hw from the report.json of each build."
PAGE = Kind("file", "an earlier comparison of builds", lambda path: FOOTER in _end_of(path))

Show = Callable[[dict[str, Any]], str]


@dataclass(frozen=True)
class Line:
    """One property of all builds: what it is called, and how it reads in each."""

    label: str
    values: tuple[str, ...]


def _end_of(path: Path) -> str:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 400))
        return file.read().decode("utf-8", errors="replace")


def report_path(build: Path) -> Path:
    """The report of a build, which is named by its folder or by that file."""
    return build / "report.json" if build.is_dir() else build


def read_reports(folders: Sequence[Path]) -> list[dict[str, Any]]:
    """The report.json of each folder, checked as far as it is shown."""
    return [_read(folder) for folder in folders]


def _read(folder: Path) -> dict[str, Any]:
    path = report_path(folder)
    try:
        if path.stat().st_size > MAX_BYTES:
            raise OptionError(f"report {path} must be at most {MAX_BYTES:,} bytes; build it again")
        report = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise OptionError(
            f"can't read a report in {folder}: {error.strerror}; name the folder of a build"
        ) from None
    except ValueError:
        raise OptionError(f"can't read report {path}: it is not JSON; build it again") from None
    if not isinstance(report, dict) or report.get("format") != FORMAT:
        raise OptionError(f"report {path} must be of the format {FORMAT}; build it again")
    try:
        # Asked for once here, so that a report of another version fails in one line, by its name.
        _ = [str(report["name"]), *lines([report])]
        float(report["resources"]["lut"] * report["latency_ns"])
    except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError) as error:
        raise OptionError(f"can't read report {path}: it lacks {error}; build it again") from None
    return with_vivado(report, path.parent)


def _form(report: dict[str, Any]) -> str:
    if report.get("processor") is not None:
        return "processor"
    return "unrolled" if report.get("fold") is None else "folded"


def titles(folders: Sequence[Path], reports: Sequence[dict[str, Any]]) -> list[str]:
    """What each build is called: its name, with its folder where several share one."""
    names = [str(report["name"]) for report in reports]
    return [
        name if names.count(name) == 1 else f"{name} in {folder}"
        for folder, name in zip(folders, names, strict=True)
    ]


def lines(reports: Sequence[dict[str, Any]]) -> list[Line]:
    """What is compared, a line each; those in which no build has anything are left out."""
    found = [Line(label, tuple(map(show, reports))) for label, show in _SHOWN.items()]
    return [line for line in found if set(line.values) != {NOTHING}]


def _score(key: str, form: str) -> Show:
    def show(report: dict[str, Any]) -> str:
        return NOTHING if report.get(key) is None else format(report[key], form)

    return show


def _used(kind: str) -> Show:
    def show(report: dict[str, Any]) -> str:
        used, have = report["resources"].get(kind), report["device"].get(kind)
        if used is None:
            return NOTHING
        return f"{used:,g} ({used / have:.1%})" if have else f"{used:,g}"

    return show


def _checks(report: dict[str, Any]) -> str:
    found = report["bit_exact"]
    if not found:
        return "not run"
    wrong = sum(verdict["mismatches"] for verdict in found.values())
    return f"{wrong:,} mismatches in {', '.join(found)}"


_SHOWN: dict[str, Show] = {
    "Board": lambda r: str(r["board"]),
    "Part": lambda r: str(r["part"]),
    "Interface": lambda r: str(r.get("interface", NOTHING)),
    "Nodes": lambda r: " + ".join(str(layer["nodes"]) for layer in r["model"]["layers"]) or "none",
    "Encoder": lambda r: f"{r['model']['encoder']}, {r['model']['coded_inputs']:,} bits",
    "RMSE, PC": _score("rmse_pc", ".6f"),
    "RMSE, FPGA": _score("rmse_hw", ".6f"),
    "Worst error, FPGA": _score("max_error_hw", ".6f"),
    "R², FPGA": _score("r2_hw", ".4f"),
    "Accuracy, PC": _score("accuracy_pc", ".2%"),
    "Accuracy, FPGA": _score("accuracy_hw", ".2%"),
    "Clock": lambda r: f"{r['clock_mhz']:g} MHz",
    "Latency": lambda r: f"{count(r['latency_cycles'], 'cycle')}, {r['latency_ns']:,g} ns",
    "A sample every": lambda r: count(r["initiation_interval"], "cycle"),
    "LUT": _used("lut"),
    "FF": _used("ff"),
    "DSP": _used("dsp"),
    "BRAM36": _used("bram"),
    "Power": lambda r: watts_and_source(r["power"]) if r.get("power") else NOTHING,
    "Counted by": lambda r: "estimate" if r["resources"]["source"] == "estimate" else "Yosys",
    "Weight bits": lambda r: f"{r['weights']['hardware']['bits']:,}",
    "Fraction bits": lambda r: str(r["formats"]["coefficient_fraction_bits"]),
    "Form": _form,
    "Bit-exact": _checks,
    "Digest": lambda r: r["digest"][:12],
}


def comparison_page(reports: Sequence[dict[str, Any]], called: Sequence[str]) -> str:
    """The builds side by side as a page of its own, under the names that they are called by."""
    names = [name(one) for one in called]
    shown = lines(reports)
    whole = table(
        "Builds side by side",
        ("", *names),
        [(line.label, *line.values) for line in shown],
        text_columns=range(1, len(reports) + 1),
    )
    return Page(
        title=join(["Builds: ", join(names, ", ")]),
        heading=Html("Builds side by side"),
        lead=f"{len(reports)} designs, from their own reports",
        cards=_cards(reports, called),
        sections=[
            section("figures", "Figures", whole),
            section("sizes", "Sizes", *_bars(reports, called)),
        ],
        footer=el("footer", FOOTER),
    ).markup()


def _cards(reports: Sequence[dict[str, Any]], called: Sequence[str]) -> list[Card]:
    sizes = [_luts(report) for report in reports]
    times = [_latency(report) for report in reports]
    return [
        ("Smallest", f"{min(sizes):,} LUT", _least(sizes, called)),
        ("Quickest", f"{min(times):,g} ns", _least(times, called)),
    ]


def _least(values: Sequence[float], called: Sequence[str]) -> str:
    """Which build has the least, or which ones have it together."""
    best = [one[:40] for one, value in zip(called, values, strict=True) if value == min(values)]
    if len(best) == 1:
        return best[0]
    if len(best) == len(values):
        return "a tie of both" if len(best) == 2 else f"a tie of all {len(best)}"
    shown = ", ".join(best[:MAX_TIED])
    more = f" and {len(best) - MAX_TIED} more" if len(best) > MAX_TIED else ""
    return f"a tie: {shown}{more}"


def _luts(report: dict[str, Any]) -> float:
    return report["resources"]["lut"]


def _latency(report: dict[str, Any]) -> float:
    return report["latency_ns"]


def _bars(reports: Sequence[dict[str, Any]], called: Sequence[str]) -> list[Child]:
    return [
        _bar_chart(slug, title, [value(report) for report in reports], called)
        for slug, title, value in (("luts", "LUT", _luts), ("latency", "Latency in ns", _latency))
    ]


def _bar_chart(slug: str, title: str, values: Sequence[float], called: Sequence[str]) -> Html:
    most = max(values) or 1
    bars = [
        plots.Bar(one[:60], value / most, f"{value:,g}")
        for one, value in zip(called, values, strict=True)
    ]
    described = "; ".join(f"{bar.label}: {bar.value}" for bar in bars)
    rows = [(bar.label, bar.value) for bar in bars]
    return plot(
        plots.bars(slug, title, described, bars),
        title,
        numbers("Numbers", table(f"{title} of each build", ("Build", title), rows)),
    )
