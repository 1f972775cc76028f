"""A machine with memory over time: what it was to answer, what it did, and what its errors know.

Errors that are alike from row to row say that the machine leaves something of the past unused.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from scm_hw.design import Design
from scm_hw.report import plots
from scm_hw.report._html_accuracy import Trace, traces
from scm_hw.report._html_elements import (
    Html,
    Section,
    el,
    legend,
    name,
    numbers,
    plot,
    section,
    table,
)
from scm_hw.verify.rows import CheckRows
from scm_model.scaling import from_unit

__all__ = ["autocorrelation", "records_sections"]

Floats = NDArray[np.float64]

#: Rows of a record that are shown, lags of the autocorrelation, and outputs.
MOST_ROWS, MOST_LAG, MOST_OUTPUTS = 400, 40, 3
#: Of so many standard errors noise without memory stays within, in 95 of 100 lags.
BAND = 1.96


def records_sections(design: Design, rows: CheckRows) -> list[Section]:
    """Of a machine with memory and evaluation records of numbers."""
    model = design.model
    if model.memory is None or model.is_classifier or rows.evaluation is None:
        return []
    assert rows.scored is not None
    place = np.flatnonzero(rows.scored)
    if not len(place):
        return []
    ahead = one_step(design, rows, place) if model.memory.feedback else None
    run = _longest(place)
    found = []
    for i, trace in enumerate(traces(design, rows)[:MOST_OUTPUTS]):
        own = None if ahead is None else ahead[run, i]
        found += [_over_time(i, trace, run, own), _memory_of_errors(i, trace, run)]
    return [section("records", "Over time", *found)]


def one_step(design: Design, rows: CheckRows, place: NDArray[np.intp]) -> Floats:
    """What the PC model answers where it is given the measured outputs before each row, as far as
    rows with targets reach back; those before are its own."""
    model, evaluation = design.model, rows.evaluation
    assert model.memory is not None and evaluation is not None and rows.scored is not None
    measured = np.full((len(rows.scored), model.outputs), np.nan)
    measured[place] = evaluation.targets
    taps = np.array(evaluation.inputs, dtype=np.float64)
    for column, output, lag in model.memory.fed_back:
        known = measured[place - lag, output]
        taps[:, column] = np.where(np.isfinite(known), known, taps[:, column])
    answers = np.clip(model.static.decision(taps), 0.0, 1.0)
    return from_unit(answers, model.target_min, model.target_max)


def autocorrelation(errors: Floats, most: int) -> Floats:
    """Of errors in the order of time, for lags from 1 on; 0 for errors that are all equal."""
    centred = errors - errors.mean()
    whole = float(centred @ centred)
    lags = range(1, min(most, len(errors) - 1) + 1)
    return np.array([float(centred[lag:] @ centred[:-lag]) / whole if whole else 0.0
                     for lag in lags])  # fmt: skip


def _longest(place: NDArray[np.intp]) -> slice:
    """The longest stretch of rows without a gap."""
    ends = np.flatnonzero(np.diff(place) != 1) + 1
    edges = [0, *ends.tolist(), len(place)]
    begin, end = max(pairwise(edges), key=lambda pair: pair[1] - pair[0])
    return slice(begin, end)


def _over_time(i: int, trace: Trace, run: slice, ahead: Floats | None) -> Html:
    shown = slice(run.start, min(run.stop, run.start + MOST_ROWS))
    target, hardware = trace.target[shown], trace.hardware[shown]
    x_values = np.arange(1, len(target) + 1)
    series = [plots.Series("line", "target", x_values, target)]
    free = "FPGA" if ahead is None else "FPGA, running free"
    labels = [("line target", "target"), ("line hw", free)]
    if ahead is not None:
        series.append(plots.Series("line", "nodes", x_values, ahead[: len(target)]))
        labels.append(("line nodes", "PC, one step ahead"))
    series.append(plots.Series("line", "hw", x_values, hardware))
    values = [np.asarray(one.y) for one in series]
    x = plots.axis("row of the record", x_values, whole=True)
    error = hardware - target
    words = f"{len(target)} rows; the error's standard deviation is {error.std():.4g}."
    drawings = [
        plots.chart(f"time-{i}", "Target and answers over time", words, x,
                    plots.axis(trace.name, *values), series),
        plots.chart(f"time-errors-{i}", "Error over time", words, x,
                    plots.axis("error", error), [plots.Series("line", "pc", x_values, error)],
                    height=140),
    ]  # fmt: skip
    whole = run.stop - run.start
    title = f"{trace.name} over {len(target):,} of the {whole:,} rows of the longest record"
    return plot(el("div", *drawings), title, legend([*labels, ("line pc", "error of the FPGA")]))


def _memory_of_errors(i: int, trace: Trace, run: slice) -> Html:
    errors = (trace.hardware - trace.target)[run]
    found = autocorrelation(errors, MOST_LAG)
    if not len(found):
        return Html("")
    lags, band = np.arange(1, len(found) + 1), BAND / np.sqrt(len(errors))
    beyond = int((np.abs(found) > band).sum())
    ends = [lags[0], lags[-1]]
    drawing = plots.chart(
        f"autocorrelation-{i}",
        "Autocorrelation of the errors",
        f"{beyond} of {len(found)} lags are beyond the band of noise, which is {band:.3g} wide on "
        "either side.",
        plots.axis("lag", lags, whole=True),
        plots.axis("correlation", found, [-band, band], zero=True),
        [
            plots.Series("line", "ideal", ends, [band, band]),
            plots.Series("line", "ideal", ends, [-band, -band]),
            plots.Series("line", "hw", lags, found),
        ],
        height=160,
    )
    rows = [(int(lag), f"{value:.4f}") for lag, value in zip(lags, found, strict=True)]
    return plot(
        drawing,
        "Autocorrelation of the errors",
        legend([("line hw", "errors of the FPGA"), ("line ideal", "band of noise, 95 %")]),
        el("p", "Beyond the band, rows before would tell more of an error.", class_="note"),
        numbers("Numbers", table(name(trace.name), ("Lag", "Correlation"), rows)),
    )
