"""Which features the model depends on, as its trainer measured it."""

from __future__ import annotations

import math

from scm_hw.load import Model
from scm_hw.report import plots
from scm_hw.report._html_elements import (
    Section,
    el,
    name,
    numbers,
    plot,
    section,
    shortened,
    table,
)

# Bars that are drawn; the table has more.
MAX_BARS = 10
# Of a longer name the beginning is drawn, beside which its value has room on a phone.
NAME_LENGTH = 24
# Scores that are no single figures, and have places of their own on the page.
APART = ("importance", "test_confusion")


def features_sections(model: Model) -> list[Section]:
    """The features, the most important first; nothing where the file has no word on them."""
    rises = importance_of(model)
    if not rises:
        return []
    ranked = sorted(rises.items(), key=lambda one: -one[1])
    most = ranked[0][1]
    bars = [
        plots.Bar(one[:NAME_LENGTH], rise / most if most > 0 else 0.0, _shown(rise, model))
        for one, rise in ranked[:MAX_BARS]
    ]
    rows, remark = shortened(ranked)
    body = [(name(one), _shown(rise, model)) for one, rise in rows]
    drawing = plots.bars(
        "features-plot",
        "Features by importance",
        "; ".join(f"{bar.label}: {bar.value}" for bar in bars),
        bars,
    )
    caption = f"What {_error(model)} rises by when a feature is shuffled"
    numbered = numbers("Numbers", table(caption, ("Feature", "Rise"), body), remark)
    words = (
        "The trainer shuffled the values of one feature at a time among the test rows: a feature "
        "that the model does not depend on changes nothing."
    )
    return [
        section("features", "Features", el("p", words), plot(drawing, caption, numbered)),
    ]


def importance_of(model: Model) -> dict[str, float]:
    """The rise by feature from the notes of the trainer, as far as they can be one."""
    scores = model.info.get("scores")
    rises = scores.get("importance") if isinstance(scores, dict) else None
    if not isinstance(rises, dict):
        return {}
    return {
        str(key): float(value)
        for key, value in rises.items()
        if isinstance(value, int | float) and math.isfinite(value)
    }


def _error(model: Model) -> str:
    if model.is_classifier:
        return "the share of wrong classes"
    return "RMSE" if model.points == 1 else "RMSE of all targets, in [0, 1],"


def _shown(rise: float, model: Model) -> str:
    return f"{rise:+.2%}" if model.is_classifier else f"{rise:+.4g}"


def plain_scores(model: Model) -> object:
    """The trainer's scores that are single figures; the others have places of their own."""
    scores = model.info.get("scores")
    if not isinstance(scores, dict):
        return scores
    return {key: value for key, value in scores.items() if key not in APART}
