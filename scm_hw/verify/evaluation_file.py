"""The evaluation rows as a file to take to a board, with what the PC makes of them."""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scm_hw.design import Design
from scm_hw.emit.formats import input_fields
from scm_hw.emit.identity import describe
from scm_hw.load import Evaluation, classes_of
from scm_hw.load.records import record_bit
from scm_hw.verify.rows import CheckRows
from scm_model.memory import check_first
from scm_model.scaling import from_unit


def evaluation_csv(design: Design, rows: CheckRows, samples: Evaluation | None) -> str | None:
    """A header, then a row of raw inputs, targets and the PC's predictions per line.

    `samples` are the evaluation rows as they came. Where the history of a record is not full there
    is neither target nor prediction. None without evaluation rows.
    """
    if samples is None or rows.evaluation is None or rows.activity is None:
        return None
    model = design.model
    header, inputs = _inputs(design, samples)
    if model.classes is not None:
        labels = np.array([str(label) for label in model.classes], dtype=object)
        known, found = labels[rows.evaluation.targets], labels[classes_of(rows.activity.output)]
        answers, names = np.stack([known, found], axis=1), ["class"]
    else:
        points = model.points
        output = from_unit(rows.activity.output, model.target_min, model.target_max)[:, :points]
        answers = np.hstack([rows.evaluation.targets[:, :points], output]).astype(object)
        names = list(model.targets[:points])
    whole = np.full((len(samples), answers.shape[1]), "", dtype=object)
    whole[slice(None) if rows.scored is None else rows.scored] = answers
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*header, *names, *(f"PC {name}" for name in names)])
    writer.writerows(np.hstack([inputs, whole]).tolist())
    return text.getvalue()


def _inputs(design: Design, samples: Evaluation) -> tuple[list[str], NDArray[Any]]:
    """What `encode` of the build's Python takes: features, bit of a record or mechanism."""
    model = design.model
    columns = [np.asarray(samples.inputs, dtype=object)]
    names = list(model.signals)
    if model.memory is not None:
        first = check_first(samples.first, len(samples)).astype(int)
        columns.append(first.astype(object)[:, None])
        names.append(record_bit(model.signals))
    if samples.mechanism is not None and model.mechanism.kind == "external":
        columns.append(np.asarray(samples.mechanism, dtype=object))
        names += [f"P0_{target}" for target in model.targets]
    # A processor may have inputs that its model has no use for.
    spare = [field.name for field in input_fields(describe(design))][len(names) :]
    columns += [np.zeros((len(samples), len(spare)), dtype=int).astype(object)]
    return [*names, *spare], np.hstack(columns)
