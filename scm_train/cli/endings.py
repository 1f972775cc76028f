"""Why a machine has fewer nodes than allowed, and what to change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from scm_train.growth.engine import EXACT_FIT
from scm_train.history import FamilyGrowthEnd, History, Outliers
from scm_train.training.parameters import asked_layers
from scm_train.training.robust import FAR

__all__ = ["Ending", "early_endings", "ending_lines", "growth_line", "outliers_line", "outliers_of"]

#: Outliers that are written down, and those shown to a person.
MOST_OUTLIERS, SHOWN_OUTLIERS = 1000, 10


@dataclass(frozen=True)
class Ending:
    """A layer that ended with ``nodes`` of the ``max_nodes`` that it might have had."""

    layer: int
    nodes: int
    max_nodes: int
    reason: str


def early_endings(history: History, settings: dict[str, Any]) -> list[Ending]:
    """The layers that ended before their limit; ``settings`` are those of the estimator."""
    # Families have one size for all, and a line of their own.
    if history.growth is not None:
        return []
    max_nodes, count = settings["max_nodes"], asked_layers(settings)
    limits = max_nodes if isinstance(max_nodes, Sequence) else [max_nodes] * count
    layers = list(zip(history.nodes_per_layer, history.stops, strict=True))
    # After an empty layer nothing follows; what else is missing came after the target was met.
    if all(nodes for nodes, _ in layers):
        layers += [(0, "tolerance")] * (count - len(layers))
    return [
        Ending(number, nodes, limit, reason)
        for number, ((nodes, reason), limit) in enumerate(zip(layers, limits, strict=False), 1)
        if limit is not None and nodes < limit and reason != "max_nodes"
    ]


def ending_lines(endings: Sequence[Ending], settings: dict[str, Any]) -> list[str]:
    """One line for each reason, with the layers that it ended and the flag to change."""
    lines = []
    for reason in dict.fromkeys(ending.reason for ending in endings):
        layers = " and ".join(
            f"layer {one.layer} ({one.nodes} of {one.max_nodes} nodes)"
            for one in endings
            if one.reason == reason
        )
        lines.append(f"training ended before --max-nodes in {layers}: {_why(reason, settings)}")
    return lines


def growth_line(end: FamilyGrowthEnd) -> str:
    """How large a machine of families became, why, and what to change."""
    size = f"{end.families} families in about {end.luts:,.0f} of {end.budget:,.0f} LUTs"
    if end.reason == "unseen rows":
        return f"{size}: more families do not lower the error on the validation rows"
    if end.reason == "families":
        return f"{size}: the limit of --max-nodes is reached; raise it for more"
    if end.reason == "no family":
        return f"{size}: no further family satisfies the supervisory inequality"
    return f"{size}: the budget is used up; for a lower error raise --luts"


def outliers_of(outliers: Outliers, train: NDArray) -> dict[str, Any]:
    """Outliers of the training rows as JSON has them; the first row of a table has number 1."""
    return {
        "rows": [int(train[row]) + 1 for row in outliers.rows[:MOST_OUTLIERS]],
        "distances": [round(float(one), 2) for one in outliers.distances[:MOST_OUTLIERS]],
        "count": len(outliers.rows),
    }


def outliers_line(outliers: dict[str, Any], rows: int) -> str:
    """How many rows lie far from the machine, and which."""
    count = outliers["count"]
    far = f"more than {FAR:g} robust standard deviations from the predictions"
    if not count:
        return f"none of the {rows:,} training rows is an outlier, {far}"
    shown = ", ".join(map(str, outliers["rows"][:SHOWN_OUTLIERS]))
    more = count - min(count, SHOWN_OUTLIERS)
    numbers = (
        f"row {shown}" if count == 1 else f"rows {shown}" + (f" and {more} more" if more else "")
    )
    verb = "is an outlier" if count == 1 else "are outliers"
    return (
        f"{count:,} of {rows:,} training rows {verb}, {far}: {numbers} "
        "(farthest first, the first row below the header is 1)"
    )


def _why(reason: str, settings: dict[str, Any]) -> str:
    if reason == "early stopping":
        return (
            f"early stopping, as {settings['stop_step']} nodes lowered the validation error by no "
            f"more than {settings['stop_tolerance']:g} of it; for more nodes raise --stop-step or "
            "lower --stop-tolerance (-1 never stops)"
        )
    if reason == "no candidate":
        return (
            "no candidate satisfied the supervisory inequality; for more nodes raise --candidates, "
            "or end --r nearer to 1"
        )
    if settings["tolerance"] > EXACT_FIT:
        return (
            f"the training error reached --tolerance {settings['tolerance']:g}; "
            "for more nodes lower it"
        )
    return "the training rows are fitted exactly, and no error is left for more nodes"
