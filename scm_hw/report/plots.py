"""Plots as SVG for the page of a build.

A drawing is as wide as the page gives it and of fixed height. Its data are stretched to that width,
its text and strokes are not, so that it can be read at any width. Colours and dashes come from the
page's style sheet, by class.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from scm_hw.report._html_elements import Html, el

HEIGHT = 220
TICKS = 5
ROW_HEIGHT = 44
# The data's own coordinates, in both directions.
_SIDE = 1000
# Room around a chart's data for its scales, in pixels: above, right, below, left.
_MARGINS = (28, 14, 46, 54)


@dataclass(frozen=True)
class Axis:
    """A scale from `low` to `high` with round ticks in it: linear, or by ratio where `log`."""

    label: str
    low: float
    high: float
    ticks: tuple[float, ...]
    log: bool = False

    def share(self, value: float) -> float:
        """Where a value is between `low` (0) and `high` (1)."""
        return float(self.shares([value])[0])

    def shares(self, values: ArrayLike) -> np.ndarray:
        """The same of many values."""
        every = np.asarray(values, np.float64)
        low, high = self.low, self.high
        if self.log:
            every, low, high = np.log(every), math.log(low), math.log(high)
        return (every - low) / (high - low)


@dataclass(frozen=True)
class Series:
    """Points drawn as a `kind` of line, steps, area or dots; values that aren't finite leave gaps.

    `x` of steps and areas are edges, one more than `y`. `style` is a class of the style sheet.
    Dots with `names` can be told apart by a page's script.
    """

    kind: str
    style: str
    x: ArrayLike
    y: ArrayLike
    names: Sequence[str] = ()


@dataclass(frozen=True)
class Mark:
    """A vertical rule at `x`, or a band up to `until`, with a word about it."""

    x: float
    label: str
    until: float | None = None


@dataclass(frozen=True)
class Bar:
    """One bar: what it is, its length as a share of the whole, and its value in words."""

    label: str
    share: float
    value: str


def axis(label: str, *values: ArrayLike, zero: bool = False, whole: bool = False) -> Axis:
    """A scale for all finite values; from zero, or with ticks at whole numbers, where asked."""
    every = np.concatenate([np.ravel(np.asarray(v, np.float64)) for v in values])
    every = every[np.isfinite(every)]
    low, high = (float(every.min()), float(every.max())) if every.size else (0.0, 1.0)
    low = min(low, 0.0) if zero else low
    if not high > low:
        low, high = low - (0.0 if zero else 0.5), high + 0.5
    step = tick_step((high - low) / TICKS, whole)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return Axis(label, low, high, tuple(i * step for i in range(first, last + 1)))


def log_axis(label: str, values: ArrayLike) -> Axis:
    """A scale by ratio for positive values, with ticks at 1, 2, 5, 10, ..."""
    every = np.asarray(values, np.float64)
    low, high = float(every.min()), float(every.max())
    if not high > low:
        low, high = low / 2, high * 2
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    round_ones = [m * 10.0**power for power in powers for m in (1, 2, 5)]
    ticks = [tick for tick in round_ones if low <= tick <= high]
    # Over many decades, the decades alone.
    decades = [tick for tick in ticks if math.log10(tick).is_integer()]
    return Axis(label, low, high, tuple(ticks if len(ticks) <= 2 * TICKS else decades), log=True)


def tick_step(least: float, whole: bool = False) -> float:
    """The next of 1, 2, 5, 10, ... from `least` up."""
    if whole:
        least = max(least, 1.0)
    power = 10.0 ** math.floor(math.log10(least))
    return next(m * power for m in (1.0, 2.0, 5.0, 10.0) if m * power >= least * (1 - 1e-9))


def chart(
    slug: str,
    title: str,
    description: str,
    x: Axis,
    y: Axis,
    series: Sequence[Series],
    *,
    marks: Sequence[Mark] = (),
    height: int = HEIGHT,
) -> Html:
    """Series over common axes."""
    bands = [_band(x, mark) for mark in marks if mark.until is not None]
    data = el(
        "svg",
        *bands,
        *(_drawn(one, x, y) for one in series),
        viewBox=f"0 0 {_SIDE} {_SIDE}",
        preserveAspectRatio="none",
        width="100%",
        height="100%",
        aria_hidden="true",
    )
    scales = [*_y_scale(y), *_x_scale(x), *(_rule(x, mark) for mark in marks)]
    padding = "padding:" + " ".join(f"{side}px" for side in _MARGINS)
    return drawing(slug, title, description, height, [*scales, data], "chart", padding)


def bars(slug: str, title: str, description: str, rows: Sequence[Bar]) -> Html:
    """Horizontal bars, each under its own line of text."""
    parts: list[Html] = []
    for i, bar in enumerate(rows):
        top = i * ROW_HEIGHT
        parts += [
            el("text", bar.label, x=0, y=top + 16),
            el("text", bar.value, x="100%", y=top + 16, text_anchor="end"),
            *meter(0.0, top + 24, 100.0, bar.share),
        ]
    return drawing(slug, title, description, len(rows) * ROW_HEIGHT, parts, "bars")


def meter(
    left: float, top: float, width: float, share: float, style: str = "fill-hw"
) -> list[Html]:
    """A bar in its groove; `left` and `width` in percent of the drawing."""
    filled = width * min(max(share, 0.0), 1.0)
    place: dict[str, str | int] = {"x": f"{left:.2f}%", "y": f"{top:g}", "height": 8, "rx": 2}
    return [
        el("rect", class_="groove", width=f"{width:.2f}%", **place),
        el("rect", class_=style, width=f"{filled:.2f}%", **place),
    ]


def drawing(
    slug: str,
    title: str,
    description: str,
    height: int,
    parts: Iterable[Html],
    kind: str,
    style: str | None = None,
) -> Html:
    """An image of its own, with the words that stand for it where it can't be seen."""
    return el(
        "svg",
        el("title", title, id=f"{slug}-title"),
        el("desc", description, id=f"{slug}-desc"),
        *parts,
        id=slug,
        class_=kind,
        style=style,
        role="img",
        aria_labelledby=f"{slug}-title",
        aria_describedby=f"{slug}-desc",
        width="100%",
        height=height,
    )


def _drawn(series: Series, x: Axis, y: Axis) -> Html:
    xs, ys = x.shares(series.x) * _SIDE, _SIDE - y.shares(series.y) * _SIDE
    if series.names:
        dots = zip(series.names, xs, ys, strict=True)
        style = f"{series.kind} {series.style}"
        parts = (
            el("path", d=f"M{_point(a, b)}h0", class_=style, data_design=one)
            for one, a, b in dots
            if _seen(a, b)
        )
        return el("g", *parts)
    if series.kind == "dots":
        path = "".join(f"M{_point(a, b)}h0" for a, b in zip(xs, ys, strict=True) if _seen(a, b))
    elif series.kind == "line":
        path = _line(xs.tolist(), ys.tolist())
    else:
        path = _steps(xs, ys, closed=series.kind == "area")
    return el("path", d=path, class_=f"{series.kind} {series.style}")


def _seen(x: float, y: float) -> bool:
    return math.isfinite(x) and math.isfinite(y)


def _point(x: float, y: float) -> str:
    return f"{x:.1f} {y:.1f}"


def _line(xs: Sequence[float], ys: Sequence[float]) -> str:
    parts, pen = [], "M"
    for x, y in zip(xs, ys, strict=True):
        if _seen(x, y):
            parts.append(pen + _point(x, y))
        pen = "L" if _seen(x, y) else "M"
    return "".join(parts)


def _steps(edges: np.ndarray, levels: np.ndarray, *, closed: bool) -> str:
    """The outline of a histogram; closed, down to the lower end of the scale."""
    xs, ys = np.repeat(edges, 2)[1:-1].tolist(), np.repeat(levels, 2).tolist()
    if closed:
        xs, ys = [xs[0], *xs, xs[-1]], [_SIDE, *ys, _SIDE]
    return _line(xs, ys) + ("Z" if closed else "")


def _percent(share: float) -> str:
    return f"{100 * share:.2f}%"


def _tick_texts(scale: Axis) -> Iterable[tuple[float, str]]:
    """Each tick with as many decimals as the steps between them need."""
    ticks = scale.ticks
    if scale.log:
        yield from ((tick, f"{tick:,g}") for tick in ticks)
        return
    step = ticks[1] - ticks[0] if len(ticks) > 1 else 1.0
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    plain = decimals <= 6 and max(map(abs, ticks), default=0.0) < 1e7
    for value in ticks:
        shown = f"{value:,.{decimals}f}" if plain else f"{value:.3g}"
        yield value, shown.replace("-", "\N{MINUS SIGN}")


def _y_scale(y: Axis) -> Iterable[Html]:
    yield el("text", y.label, x=-_MARGINS[3], y=-14, class_="label")
    for value, shown in _tick_texts(y):
        at = _percent(1 - y.share(value))
        yield el("line", x1=0, x2="100%", y1=at, y2=at, class_="grid")
        yield el("text", shown, x=-8, y=at, dy=4, text_anchor="end")


def _x_scale(x: Axis) -> Iterable[Html]:
    for value, shown in _tick_texts(x):
        share = x.share(value)
        # At the right end there is little room beyond the scale.
        anchor = "end" if share > 0.95 else "middle"
        yield el("text", shown, x=_percent(share), y="100%", dy=18, text_anchor=anchor)
    yield el("line", x1=0, x2="100%", y1="100%", y2="100%", class_="axis")
    yield el("text", x.label, x="100%", y="100%", dy=36, text_anchor="end", class_="label")


def _band(x: Axis, mark: Mark) -> Html:
    assert mark.until is not None
    left, right = x.share(mark.x) * _SIDE, x.share(mark.until) * _SIDE
    return el(
        "rect", x=f"{left:.1f}", y=0, width=f"{right - left:.1f}", height=_SIDE, class_="band"
    )


def _rule(x: Axis, mark: Mark) -> Html:
    at = _percent(x.share(mark.x))
    line = el("line", x1=at, x2=at, y1=0, y2="100%", class_="rule")
    # The word stands on the side where there is more room for it.
    after = x.share(mark.x) < 0.6
    word = el(
        "text",
        mark.label,
        x=at,
        y=12,
        dx=5 if after else -5,
        text_anchor="start" if after else "end",
    )
    return el("g", line, word)
