"""Rows for the checks: the model's evaluation rows or the user's own, corners and random codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from scm_hw.common.packing import pack
from scm_hw.design import Design
from scm_hw.load import Activity, Evaluation, Model, evaluate, integers
from scm_hw.load.adaptive import Adaptive, learning_stream
from scm_hw.load.records import Records
from scm_hw.passes.sample import RANDOM_ROWS, corner_rows, random_rows
from scm_hw.sim.vectors import Vectors
from scm_model.memory import Tap, check_first
from scm_model.sequences import tap_rows

# Random codes of which the closest calls of a classifier are taken.
CLOSE_CALL_CANDIDATES = 10_000


@dataclass(frozen=True, eq=False)
class CheckRows:
    """Integer inputs and the outputs that every simulator must give for them.

    `own` are the rows that are samples of the evaluation data. `evaluation` are those that are
    scored, rows of the machine's features: without memory all of them, in the same order; with
    memory those whose history is full. What hardware gives for them is `hardware`.
    """

    inputs: NDArray[np.int64]
    outputs: NDArray[np.int64]
    evaluation: Evaluation | None
    activity: Activity | None
    own: slice
    scored: NDArray[np.bool_] | None = None
    flags: int = 1

    @property
    def own_count(self) -> int:
        """How many rows are samples of the evaluation data."""
        return len(self.inputs[self.own])

    @property
    def hardware(self) -> NDArray[np.int64]:
        """The outputs of the scored rows, or the class, without flags."""
        found = self.answers
        if self.scored is not None:
            return found[:, : found.shape[1] - self.flags]
        # A processor may have outputs that its model has no use for.
        return found if self.activity is None else found[:, : self.activity.output.shape[1]]

    @property
    def answers(self) -> NDArray[np.int64]:
        """All outputs of the scored rows, the last ones flags where there are any."""
        found = self.outputs[self.own]
        return found if self.scored is None else found[self.scored]

    def seen(self, design: Design) -> NDArray[np.int64]:
        """What enters the Program in each row: the inputs, or the taps of records."""
        if design.adaptive is not None:
            return design.adaptive.split(self.inputs)[0]
        if design.records is None:
            return self.inputs
        return design.records.tap_rows(design.meaning, self.inputs)

    def vectors(self, design: Design, chosen: Sequence[int] | None = None) -> Vectors:
        """The chosen rows, or all, as packed words."""
        numbers = slice(None) if chosen is None else list(chosen)
        in_widths = [reach.width for reach in design.input_ranges]
        out_widths = [reach.width for reach in design.output_ranges]
        return Vectors(
            inputs=tuple(pack(self.inputs[numbers], in_widths)),
            outputs=tuple(pack(self.outputs[numbers], out_widths)),
            in_width=sum(in_widths),
            out_width=sum(out_widths),
            records=in_order(design),
        )


def in_order(design: Design) -> bool:
    """Whether a result depends on the samples before its own."""
    return design.records is not None or design.adaptive is not None


def check_rows(design: Design, evaluation: Evaluation | None) -> CheckRows:
    """Evaluation rows, then corners, then random codes; expected outputs by the interpreter."""
    if design.records is not None:
        return _record_rows(design, design.records, evaluation)
    if design.adaptive is not None:
        return _learning_rows(design, design.adaptive, evaluation)
    parts = []
    activity = None
    if evaluation is not None:
        activity = seen_activity(design.model, evaluation)
        parts.append(hardware_inputs(design, evaluation.inputs, evaluation.mechanism))
    parts += [
        corner_rows(design.input_ranges),
        random_rows(design.meaning, CLOSE_CALL_CANDIDATES),
    ]
    # Rows of the user first: a fault there is named by the number of its row.
    inputs = np.concatenate(parts)
    count = 0 if evaluation is None else len(evaluation)
    return CheckRows(inputs, design.interpret(inputs), evaluation, activity, slice(count))


def _learning_rows(design: Design, found: Adaptive, evaluation: Evaluation | None) -> CheckRows:
    """A stream that is learned from, with random targets; then the evaluation rows as they are."""
    corners = corner_rows(found.samples)
    machine = np.concatenate([corners, random_rows(design.meaning, CLOSE_CALL_CANDIDATES)])
    made = learning_stream(found, machine, seed=0)
    if evaluation is None:
        return CheckRows(made, design.interpret(made), None, None, slice(0))
    own = hardware_inputs(design, evaluation.inputs, evaluation.mechanism)
    # A restart: the readout must not answer with what it learned from random targets.
    own[:1, -1] = 1
    inputs = np.concatenate([made, own])
    return CheckRows(
        inputs,
        design.interpret(inputs),
        evaluation,
        seen_activity(design.model, evaluation),
        slice(len(made), len(inputs)),
        np.ones(len(own), dtype=np.bool_),
        len(found.outputs) - found.adaptation.outputs,
    )


def _record_rows(design: Design, records: Records, evaluation: Evaluation | None) -> CheckRows:
    """Corners and random codes, in records that begin at random; then the evaluation's records."""
    # Equal builds have equal vectors, and equal test benches.
    rng = np.random.default_rng(0)
    reach = design.input_ranges
    corners = corner_rows(reach)
    noise = np.stack(
        [rng.integers(r.low, r.high, RANDOM_ROWS, endpoint=True) for r in reach], axis=1
    )
    # Long enough for most histories to fill.
    noise[:, -1] = rng.random(RANDOM_ROWS) < 1 / (3 * records.depth + 3)
    made = np.concatenate([corners, noise])
    # The first row begins a record in any case, as after a reset.
    made[0, -1] = 1
    if evaluation is None:
        return CheckRows(made, design.interpret(made), None, None, slice(0, 0))
    own = record_inputs(design, evaluation.inputs, evaluation.first)
    inputs = np.concatenate([made, own])
    scored, seen = scored_rows(design.model, evaluation)
    activity = seen_activity(design.model, seen)
    return CheckRows(
        inputs, design.interpret(inputs), seen, activity, slice(len(made), len(inputs)), scored
    )


def seen_activity(model: Model, rows: Evaluation) -> Activity:
    """What the PC model does on rows of its features; outputs that come back are held in range."""
    if model.memory is None:
        return evaluate(model, rows.inputs, rows.mechanism)
    activity = evaluate(model.static, rows.inputs)
    if not model.memory.feedback:
        return activity
    return replace(activity, output=np.clip(activity.output, 0.0, 1.0))


def scored_rows(model: Model, evaluation: Evaluation) -> tuple[NDArray[np.bool_], Evaluation]:
    """Which rows have a full history, and those as rows of taps, with outputs that run free."""
    memory = model.memory
    assert memory is not None
    first = check_first(evaluation.first, len(evaluation))
    outputs = None
    if memory.feedback:
        outputs = model.predict(evaluation.inputs, first=first, simulate=True)
    full = memory.complete(first)
    taps = tap_rows(model, evaluation.inputs, first, outputs)[full]
    return full, Evaluation(taps, evaluation.targets[full])


def record_inputs(
    design: Design, raw: NDArray[np.float64], first: NDArray[np.bool_] | None = None
) -> NDArray[np.int64]:
    """Raw samples of signals as the integers that enter the core, with the bit of a record."""
    memory = design.model.memory
    assert memory is not None
    begins = check_first(first, len(raw))
    now = replace(
        memory,
        taps=tuple(Tap(tap.source, int(tap.source >= memory.sources)) for tap in memory.taps),
    )
    code = integers(design.hardware, design.fixed, now.tap_rows(raw, begins))
    places = {tap.source: place for place, tap in enumerate(memory.taps)}
    columns = [code[:, places[source]] for source in range(len(memory.signals))]
    return np.stack([*columns, begins.astype(np.int64)], axis=1)


def hardware_inputs(
    design: Design, raw: NDArray, mechanism: NDArray[np.float64] | None = None
) -> NDArray[np.int64]:
    """Raw rows as the integers that enter the core; `mechanism` is P0 where it is external."""
    found = integers(design.hardware, design.fixed, raw, mechanism)
    # A processor may have inputs that its model has no use for, and a core that learns is given
    # targets: none here.
    idle = len(design.input_ranges) - found.shape[1]
    return np.pad(found, ((0, 0), (0, idle)))
