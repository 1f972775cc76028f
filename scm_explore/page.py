"""front.html: the front and all that was tried, in the manner of a build's report."""

from __future__ import annotations

import json
from collections.abc import Iterable
from importlib.metadata import version
from typing import Any

from scm_explore.journal import Journal, Record
from scm_explore.space import Point
from scm_hw.common.templates import render
from scm_hw.report import plots
from scm_hw.report._html_elements import (
    Child,
    Html,
    Section,
    count,
    el,
    facts,
    join,
    legend,
    name,
    numbers,
    plot,
    section,
    shortened,
    table,
)
from scm_hw.report._html_page import Card, Page

# How far beyond the front the plots reach; what is far worse would only flatten them.
REACH = 1.5
HEIGHT = 320
AXES = {"lut": "LUTs", "latency_ns": "latency in ns"}


def front_page(result: dict[str, Any], journal: Journal) -> str:
    """The page of a search, from its front.json and its journal."""
    sections = [*_plots(result, journal), _front(result), _models(result), _how(result)]
    return Page(
        title=join(["Designs for ", name(result["name"])]),
        heading=name(result["name"]),
        lead=f"The best designs found for {result['board']} ({result['part']})",
        cards=_cards(result),
        sections=sections,
        style="\n" + render(__package__, "front.css").rstrip("\n"),
        script="" if not result["front"] else render(__package__, "front.js"),
        footer=el(
            "footer",
            f"Made by scm-hw {version('scm-hw')}; the same figures for programs: ",
            el("a", "front.json", href="front.json"),
            " and ",
            el("a", "front.csv", href="front.csv"),
        ),
    ).markup()


def _cards(result: dict[str, Any]) -> list[Card]:
    rows, score = result["front"], result["score"]
    cards: list[Card] = [
        ("Designs tried", f"{result['points']:,}", f"{result['buildable']:,} can be built"),
        ("On the front", f"{len(rows):,}", "Pareto-optimal"),
    ]
    if not rows:
        return cards
    best, least = rows[0], min(rows, key=lambda row: row["lut"])
    quickest = min(rows, key=lambda row: row["latency_ns"])
    return [
        *cards,
        (f"Best {_score_name(score)}", _score(best, score), f"{best['lut']:,} LUT, held-out rows"),
        ("Smallest", f"{least['lut']:,} LUT", f"{_score_name(score)} {_score(least, score)}"),
        (
            "Fastest",
            f"{quickest['latency_ns']:,g} ns",
            f"{_score_name(score)} {_score(quickest, score)}",
        ),
    ]


def _score_name(score: str) -> str:
    return "RMSE" if score == "rmse" else score


def _score(row: dict[str, Any], score: str, of: str = "held_out") -> str:
    value = row[f"{of}_{score}"]
    return f"{value:.6f}" if score == "rmse" else f"{value:.2%}"


def _front(result: dict[str, Any]) -> Section:
    score = result["score"]
    title = _score_name(score)
    estimated = any(row["lut_source"] == "estimate" for row in result["front"])
    rows, rest = shortened(result["front"])
    return section(
        "front",
        "The front",
        el(
            "p",
            f"These designs are Pareto-optimal in {title}, LUTs and latency. "
            "They were selected on held-out rows; the test rows were not used for any choice.",
        ),
        el(
            "div",
            table(
                "Designs, the most accurate first",
                ("Design", f"{title}, held out", f"{title}, test", "LUT", "FF", "DSP", "BRAM")
                + ("Cycles", "Latency", "Nodes", "Encoder", "Mechanism"),
                [_front_row(row, score) for row in rows],
                text_columns=(9, 10, 11),
            ),
            id="front-table",
        ),
        rest,
        el("p", "LUTs marked ~ are the compiler's estimate; the others are synthesised.")
        if estimated
        else el("p", "All LUTs are those of a synthesis with Yosys.", class_="note"),
    )


def _front_row(row: dict[str, Any], score: str) -> list[Child]:
    mark = "~" if row["lut_source"] == "estimate" else ""
    return [
        f"p{row['point']:04d}",
        _score(row, score),
        _score(row, score, "test"),
        f"{mark}{row['lut']:,}",
        f"{row['ff']:,}",
        f"{row['dsp']:,}",
        f"{row['bram']:g}",
        f"{row['latency_cycles']:,}",
        f"{row['latency_ns']:,g} ns",
        "+".join(map(str, row["trained_nodes"])) or "none",
        Point.from_json(row["design"]).coding,
        row["design"]["mechanism"],
    ]


def _plots(result: dict[str, Any], journal: Journal) -> list[Section]:
    if not result["front"]:
        return []
    figures = [_plot(result, journal, key) for key in AXES]
    words = (
        "Point at a design for its figures and the command that builds it. Limits leave out what "
        "is beyond them, here and in the tables."
    )
    return [
        section(
            "tried",
            "All designs tried",
            el("p", words),
            _limits(result),
            el("div", *figures, class_="pair"),
            _detail(),
            _designs(result, journal),
        )
    ]


def _limits(result: dict[str, Any]) -> Html:
    """What the page's script filters by; hidden where scripts don't run."""
    accuracy = result["score"] == "accuracy"
    fields = [
        ("lut", "LUTs at most", "1"),
        ("latency_ns", "Latency at most, ns", "any"),
        ("score", "Accuracy at least, 0 to 1" if accuracy else "RMSE at most", "any"),
    ]
    inputs = [
        el("label", label, el("input", type="number", name=key, min=0, step=step))
        for key, label, step in fields
    ]
    button = el("button", "All", type="reset")
    return join(
        [
            el("form", *inputs, button, id="limits", hidden="hidden"),
            el("p", id="kept", class_="note", role="status"),
        ]
    )


def _detail() -> Html:
    return el(
        "div",
        el("p", el("strong"), " ", el("span")),
        el("pre", el("code")),
        id="detail",
        hidden="hidden",
        tabindex=0,
        role="group",
        aria_label="The design pointed at; arrow keys step through the front",
    )


def _designs(result: dict[str, Any], journal: Journal) -> Html:
    """Figures of all designs for the page's script; those on the front have their command."""
    score = result["score"]
    commands = {row["point"]: row["build"] for row in result["front"]}
    found = []
    # The order of the front, then of the search.
    order = [*commands, *sorted(set(journal.points) - commands.keys())]
    for number in order:
        record = journal.points[number]
        if not record.buildable:
            continue
        error, lut, latency = record.objectives
        value = 1 - error if score == "accuracy" else error
        shown = _score({f"held_out_{score}": value}, score)
        words = f"{_score_name(score)} {shown}, {lut:,} LUT, {latency:,g} ns"
        one = {"design": f"p{number:04d}", "lut": lut, "latency_ns": latency, "score": value}
        found.append(one | {"words": words, "build": commands.get(number)})
    text = json.dumps({"score": score, "designs": found}, separators=(",", ":"))
    # Nothing in it may end the element.
    return el("script", Html(text.replace("<", "\\u003c")), type="application/json", id="designs")


def _plot(result: dict[str, Any], journal: Journal, key: str) -> Html:
    """Errors of all designs over one of their costs, with the best of that cost joined up."""
    title = "RMSE" if result["score"] == "rmse" else "share of wrong classes"
    on_front = {row["point"] for row in result["front"]}
    every = {n: _place(r, key) for n, r in sorted(journal.points.items()) if r.buildable}
    best = [every[n] for n in sorted(on_front)]
    most = [REACH * max(values) for values in zip(*best, strict=True)]
    seen = {n: p for n, p in every.items() if p[0] <= most[0] and p[1] <= most[1]}
    others = {n: p for n, p in seen.items() if n not in on_front}
    steps = _lower_edge(best)
    series = [
        plots.Series("dots", "pc faint", *_columns(list(others.values())), _called(others)),
        plots.Series("line", "hw", *_columns(steps)),
        plots.Series("dots", "hw", *_columns(best), _called(sorted(on_front))),
    ]
    away = len(every) - len(seen)
    described = f"{count(len(best), 'design')} on the front and {len(others):,} others."
    return plot(
        plots.chart(
            f"plot-{key.replace('_', '-')}",
            f"{title} over {AXES[key]}",
            described,
            plots.log_axis(AXES[key], [p[0] for p in seen.values()]),
            plots.axis(f"{title}, held-out rows", [p[1] for p in seen.values()]),
            series,
            height=HEIGHT,
        ),
        f"{title} over {AXES[key]}",
        legend([("dots", "on the front"), ("dots pc", "others")]),
        el("p", f"{count(away, 'design')} far beyond the front not shown.", class_="note")
        if away
        else None,
        numbers("Numbers", _numbers(every, on_front, key, title)),
    )


def _place(record: Record, key: str) -> tuple[float, float]:
    error, lut, latency = record.objectives
    # A design without a LUT has its place at the end of a scale that begins with one.
    return max(lut, 1) if key == "lut" else latency, error


def _columns(points: list[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [p[0] for p in points], [p[1] for p in points]


def _called(numbers: Iterable[int]) -> list[str]:
    return [f"p{number:04d}" for number in numbers]


def _lower_edge(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The staircase under which there is no design, in these two respects."""
    edge: list[tuple[float, float]] = []
    for x, y in sorted(points):
        if not edge:
            edge.append((x, y))
        elif y < edge[-1][1]:
            edge += [(x, edge[-1][1]), (x, y)]
    return edge


def _numbers(
    every: dict[int, tuple[float, float]], on_front: set[int], key: str, title: str
) -> Html:
    rows = [
        (f"p{n:04d}", f"{x:,g}", f"{y:.6f}", "yes" if n in on_front else "")
        for n, (x, y) in every.items()
    ]
    kept, rest = shortened(rows)
    return join([table("All designs", ("Design", AXES[key], title, "On the front"), kept), rest])


def _models(result: dict[str, Any]) -> Section:
    rows, rest = shortened(result["front"])
    items = [
        el("li", el("a", row["model"], href=row["model"]), el("pre", el("code", row["build"])))
        for row in rows
    ]
    return section(
        "models",
        "Build one",
        el("p", "Each model file carries the test rows, on which the build compares PC and FPGA."),
        el("ul", *items, class_="plain", id="build-list"),
        rest,
    )


def _how(result: dict[str, Any]) -> Section:
    rows = result["rows"]
    data = result["data"]
    return section(
        "search",
        "The search",
        facts(
            [
                ("Data", name(data["name"])),
                ("Target", name(", ".join(data["target"]))),
                ("Rows to train on", f"{rows['train']:,}"),
                ("Rows to select on", f"{rows['held_out']:,}"),
                ("Rows to test on", f"{rows['test']:,}"),
                ("Seed", str(result["seed"])),
                ("Most nodes in a layer", str(result["max_nodes"])),
                ("Mechanism", name(result["mechanism"])),
            ]
        ),
    )
