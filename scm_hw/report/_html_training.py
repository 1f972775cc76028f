"""How the model was trained: RMSE over the nodes as they were added, scores and settings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scm_hw.load import Model
from scm_hw.report import plots
from scm_hw.report._html_elements import (
    MAX_NOTES,
    NOTHING,
    Html,
    Section,
    el,
    in_words,
    legend,
    name,
    numbers,
    plot,
    section,
    table,
)
from scm_hw.report._html_features import plain_scores

MAX_POINTS = 400


@dataclass(frozen=True)
class Stop:
    """A layer that ended early: how many of its nodes stay, and the steps that were undone."""

    layer: int
    nodes: int
    first: int
    last: int

    def __str__(self) -> str:
        removed = self.last - self.first + 1
        return (
            f"Layer {self.layer} stopped early: {self.nodes:,} nodes stay of "
            f"{self.nodes + removed:,}, the last {removed:,} were taken out again."
        )


@dataclass(frozen=True, eq=False)
class History:
    """The training run node by node; steps count from 1."""

    train: NDArray[np.float64]
    validation: NDArray[np.float64]
    layer: NDArray[np.int32]
    stops: list[Stop]

    @property
    def validated(self) -> bool:
        return bool(np.isfinite(self.validation).any())

    def borders(self) -> list[tuple[int, int]]:
        """The first step of every layer but the first, with the layer's number."""
        changes = np.flatnonzero(np.diff(self.layer)) + 1
        return [(int(step) + 1, int(self.layer[step])) for step in changes]


def history_of(model: Model) -> History | None:
    """What the model file says of its training, None where it says nothing."""
    curve = model.history
    if curve is None or not len(curve.train_rmse):
        return None
    stops = _stops(model, curve.layer)
    return History(curve.train_rmse, curve.validation_rmse, curve.layer, stops)


def _stops(model: Model, layer: NDArray[np.int32]) -> list[Stop]:
    """Layers with more steps than nodes: their last steps were undone."""
    stops = []
    for number, machine_layer in enumerate(model.layers, start=1):
        steps = np.flatnonzero(layer == number) + 1
        if len(steps) > machine_layer.nodes:
            first = int(steps[machine_layer.nodes])
            stops.append(Stop(number, machine_layer.nodes, first, int(steps[-1])))
    return stops


def training_section(model: Model) -> Section:
    """RMSE over the nodes, the trainer's own scores, and the settings of the run."""
    history = history_of(model)
    settings = _notes("Settings of the training run", model.info.get("settings"))
    return section(
        "training",
        "Training",
        el("p", "The model file carries no history of its training.")
        if history is None
        else _figure(history),
        _notes("Scores of the trainer", plain_scores(model)),
        numbers("Settings of the training run", settings) if settings else None,
    )


def _figure(history: History) -> Html:
    steps = len(history.train)
    kept = np.unique(np.linspace(0, steps - 1, MAX_POINTS).round().astype(np.int64))
    labels = [("line train", "training rows")]
    if history.validated:
        labels.append(("line validation", "validation rows"))
    if history.stops:
        labels.append(("band", "stopped early, nodes taken out again"))
    remarks = " ".join(str(stop) for stop in history.stops)
    return plot(
        _drawing(history, kept, remarks),
        "RMSE after every node" if len(kept) == steps else "RMSE while nodes were added",
        legend(labels),
        el("p", remarks, class_="note") if remarks else None,
        numbers("Numbers", _table(history, kept)),
    )


def _drawing(history: History, kept: NDArray[np.int64], remarks: str) -> Html:
    series = [plots.Series("line", "train", kept + 1, history.train[kept])]
    if history.validated:
        series.append(plots.Series("line", "validation", kept + 1, history.validation[kept]))
    marks = [plots.Mark(step - 0.5, f"layer {number}") for step, number in history.borders()]
    marks += [plots.Mark(stop.first - 0.5, "", until=stop.last) for stop in history.stops]
    return plots.chart(
        "training-plot",
        "RMSE while nodes were added",
        f"Training RMSE goes from {_rmse(history.train[0])} to {_rmse(history.train[-1])} in "
        f"{len(history.train):,} steps. {remarks}",
        plots.axis("nodes added", kept + 1, whole=True),
        plots.axis("RMSE", *(one.y for one in series)),
        series,
        marks=marks,
    )


def _table(history: History, kept: NDArray[np.int64]) -> Html:
    rows = [
        (i + 1, int(history.layer[i]), _rmse(history.train[i]), _rmse(history.validation[i]))
        for i in kept.tolist()
    ]
    return table("RMSE by nodes added", ("Nodes", "Layer", "Training", "Validation"), rows)


def _rmse(value: float) -> str:
    return f"{value:.6f}" if np.isfinite(value) else NOTHING


def _notes(caption: str, value: object) -> Html | None:
    """A dictionary of the model's `meta` as a table, or nothing."""
    if not isinstance(value, dict) or not value:
        return None
    notes = list(value.items())[:MAX_NOTES]
    return table(
        caption,
        ("What", "Value"),
        [(name(key), in_words(item) or NOTHING) for key, item in notes],
    )
