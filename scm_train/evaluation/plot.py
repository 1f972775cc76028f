"""Figures of a model: how it was trained, node by node, and how it does on its held-out rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from scm_model import Model
from scm_model.scaling import to_unit
from scm_train.errors import ModelFileError, ParameterError
from scm_train.output_files import write_output

try:
    import matplotlib
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
except ImportError as error:
    raise ParameterError(
        "can't plot: matplotlib is not installed; run `pip install 'scm-hw[plot]'`"
    ) from error

__all__ = ["PANELS", "check_format", "figure", "save_figure"]

FORMATS = (".png", ".svg", ".pdf")
#: More predictions than these can't be told apart in a figure.
MAX_ROWS = 400
# After Okabe and Ito: the colour-blind can tell them apart, too.
BLUE, ORANGE, GREEN, GREY = "#0072b2", "#d55e00", "#009e73", "#6b7680"
# Equal models give equal bytes: ids from the content, and no date.
_STYLE = {"svg.hashsalt": "scm-hw", "font.size": 9, "axes.spines.top": False}
_STYLE |= {"axes.spines.right": False, "axes.grid": True, "grid.alpha": 0.3}


def check_format(path: Path) -> str:
    """The ending of a figure's file, if there is such a figure."""
    ending = path.suffix.lower()
    if ending not in FORMATS:
        raise ParameterError(
            f"--out must end in {', '.join(FORMATS[:-1])} or {FORMATS[-1]}, not {path.suffix!r}"
        )
    return ending


def save_figure(machine: Model, path: Path) -> list[str]:
    """Write the figure, whole or not at all; the names of its panels."""
    kind = check_format(path)[1:]
    about = {} if kind == "png" else {"CreationDate" if kind == "pdf" else "Date": None}
    with matplotlib.rc_context(_STYLE):
        drawn, names = figure(machine)
        write_output(path, lambda file: drawn.savefig(file, format=kind, dpi=150, metadata=about))
    return names


def figure(machine: Model) -> tuple[Figure, list[str]]:
    """The panels that the model file has the numbers for, two in a row."""
    names = [name for name, (there, _) in PANELS.items() if there(machine)]
    if not names:
        raise ModelFileError(
            "can't plot: the model file has neither a training history nor test rows; train it "
            "with scm_train fit"
        )
    rows = -(-len(names) // 2)
    drawn = Figure(figsize=(10, 3.6 * rows), layout="constrained")
    for place, name in enumerate(names, start=1):
        axes = drawn.add_subplot(rows, min(2, len(names)), place)
        PANELS[name][1](machine, axes)
        axes.set_title(name, loc="left", fontweight="bold")
    title = machine.info.get("name") or machine.algorithm
    # A dollar sign would begin a formula.
    drawn.suptitle(str(title).replace("$", r"\$"), fontsize=12)
    return drawn, names


def _has_history(machine: Model) -> bool:
    return machine.history is not None and len(np.asarray(machine.history.train_rmse)) > 0


def _training(machine: Model, axes: Axes) -> None:
    history = machine.history
    assert history is not None
    train, validation = np.asarray(history.train_rmse), np.asarray(history.validation_rmse)
    layer = np.asarray(history.layer)
    steps = np.arange(1, len(train) + 1)
    axes.plot(steps, train, color=BLUE, label="training rows")
    if np.isfinite(validation).any():
        axes.plot(steps, validation, color=ORANGE, linestyle="--", label="validation rows")
    for border in np.flatnonzero(np.diff(layer)) + 1:
        axes.axvline(border + 0.5, color=GREY, linestyle=":")
    for first, last in removed_steps(machine, layer):
        axes.axvspan(first - 0.5, last + 0.5, color=GREY, alpha=0.2, linewidth=0)
    axes.set_xlabel("nodes added (dotted: next layer, grey: removed by early stopping)")
    axes.set_ylabel("RMSE, targets in [0, 1]")
    axes.legend(frameon=False)


def removed_steps(machine: Model, layer: NDArray) -> list[tuple[int, int]]:
    """First and last step, from 1, of the nodes that early stopping took out, for each layer."""
    found = []
    for number in np.unique(layer):
        steps = np.flatnonzero(layer == number) + 1
        kept = machine.nodes[number - 1] if number <= len(machine.nodes) else 0
        if len(steps) > kept:
            found.append((int(steps[kept]), int(steps[-1])))
    return found


def _nodes(machine: Model, axes: Axes) -> None:
    numbers = [str(k) for k in range(1, len(machine.nodes) + 1)]
    bars = axes.bar(numbers, machine.nodes, color=BLUE, width=0.5)
    axes.bar_label(bars)
    axes.set_xlabel("layer")
    axes.set_ylabel("nodes")
    axes.grid(visible=False, axis="x")


def _regression_rows(machine: Model) -> tuple[NDArray, NDArray]:
    """Outputs and targets of the first target on the held-out rows, both in [0, 1]."""
    rows = machine.evaluation
    assert rows is not None
    output = machine.decision(rows.inputs, rows.mechanism)
    return output[:, 0], to_unit(rows.targets, machine.target_min, machine.target_max)[:, 0]


def _predictions(machine: Model, axes: Axes) -> None:
    output, target = _regression_rows(machine)
    shown = slice(0, MAX_ROWS)
    axes.plot(target[shown], color=GREEN, linewidth=1, label="target")
    axes.plot(output[shown], color=BLUE, linewidth=1, label="machine")
    axes.set_xlabel(f"held-out rows, the first {len(target[shown])} of {len(target)}")
    axes.set_ylabel(f"{machine.targets[0]}, in [0, 1]".replace("$", r"\$"))
    axes.legend(frameon=False)


def _errors(machine: Model, axes: Axes) -> None:
    output, target = _regression_rows(machine)
    axes.hist(output - target, bins=40, color=BLUE)
    axes.set_xlabel("prediction minus target")
    axes.set_ylabel("held-out rows")


def _confusion(machine: Model, axes: Axes) -> None:
    rows = machine.evaluation
    assert rows is not None
    named = machine.decision(rows.inputs, rows.mechanism).argmax(axis=1)
    counts = np.zeros((machine.outputs, machine.outputs))
    np.add.at(counts, (rows.targets, named), 1)
    axes.imshow(counts, cmap="Blues")
    axes.set_xlabel("class named")
    axes.set_ylabel("class")
    axes.grid(visible=False)
    if machine.outputs <= 12:
        for i, j in np.ndindex(counts.shape):
            dark = counts[i, j] > counts.max() / 2
            axes.text(j, i, int(counts[i, j]), ha="center", color="white" if dark else "black")


def _has_rows(machine: Model) -> bool:
    return machine.evaluation is not None and len(machine.evaluation.inputs) > 0


def _is_regression(machine: Model) -> bool:
    return _has_rows(machine) and machine.classes is None


PANELS: dict[str, tuple[Callable[[Model], bool], Callable[[Model, Axes], None]]] = {
    "RMSE while nodes were added": (_has_history, _training),
    "Nodes per layer": (lambda machine: bool(machine.nodes), _nodes),
    "Predictions": (_is_regression, _predictions),
    "Errors": (_is_regression, _errors),
    "Classes": (lambda machine: _has_rows(machine) and machine.classes is not None, _confusion),
}
"""What can be plotted, what it needs, and how."""
