"""Scales, lines and colours of the pages."""

from __future__ import annotations

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose

from scm_hw.common.templates import render
from scm_hw.report import plots
from tests.pages import parsed


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
    root = re.findall(r":root \{(.*?)\}", render("scm_hw.report", "page.css"), re.DOTALL)[theme]
    colours = dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", root))

    def contrast(a: str, b: str) -> float:
        low, high = sorted((luminance(colours[a]), luminance(colours[b])))
        return (high + 0.05) / (low + 0.05)

    for ground in ("page", "soft"):
        assert min(contrast(ink, ground) for ink in ("text", "quiet", "link")) >= 4.5
        drawn = ("hw", "pc", "good", "neutral")
        assert min(contrast(ink, ground) for ink in drawn) >= 3
