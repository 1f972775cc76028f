"""A readout that learns while it predicts, in integers: the meaning of an adaptive core.

    answer(n) = fixed(n) + (sum_k h_k(n) change_k) / 2**guard_bits,   rounded
    change_k += h_k(n) error(n) 2**-drop_bits,                        rounded and saturated

`fixed` is what the trained machine answers, with a grid of `grid_bits` fraction bits. The hidden
vector `h` is +1 or -1 for every node and the intercept, or one entry of each family's table. Its
squared norm L is the number of terms, so the step of normalised least mean squares (NLMS),
`mu error h / L`, is a shift: with L rounded up to a power of two, `mu` is `2**-step` or somewhat
less. An error changes the answers from UPDATE_DELAY samples later on, in all hardware alike.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scm_model.drift import Drift, no_drift, watch
from scm_model.errors import OptionError, UnsupportedModelError
from scm_model.fixed_point import FixedPoint, fixed_output
from scm_model.model import Model
from scm_model.reference import Activity, codes, evaluate
from scm_model.scaling import Floats

Integers = NDArray[np.int64]

#: Samples from one with a target to the first whose answer has learned from it. It covers the
#: pipeline of any core, so that what is learned doesn't depend on clock or stalls.
UPDATE_DELAY = 16
#: The finest and the coarsest step, as negative exponents of two. Beyond the coarsest the loop
#: through UPDATE_DELAY samples is not stable: mu must be below 2 sin(pi / (4 UPDATE_DELAY + 2)).
STEPS = (4, 12)
DEFAULT_STEP = 5
LEAKS = (4, 20)
#: A longer history takes more memory than a machine.
MOST_AGE = 240
#: Fraction bits of an error that are kept where the usual size of errors isn't known.
ERROR_BITS = 9
#: The reach of all changes together, in ranges of a target, is at least this power of two.
REACH_BITS = 2
#: Targets reach this power of two of their range, to either side.
TARGET_BITS = 1
#: The error's mean is taken over about 2**MEAN_BITS samples.
MEAN_BITS = 8


@dataclass(frozen=True)
class AdaptSettings:
    """What a user can decide: step `2**-step`, leak `2**-leak` to each update, oldest target."""

    step: int = DEFAULT_STEP
    leak: int | None = None
    most_age: int = 0

    def __post_init__(self) -> None:
        for name, value, (low, high) in (
            ("adapt step", self.step, STEPS),
            ("adapt leak", self.leak, LEAKS),
            ("adapt delay", self.most_age, (0, MOST_AGE)),
        ):
            whole = isinstance(value, int) and not isinstance(value, bool)
            if value is not None and not (whole and low <= value <= high):
                raise OptionError(f"{name} must be a whole number in [{low}, {high}], not {value}")


@dataclass(frozen=True)
class Adaptation:
    """How a readout learns: its terms, and the formats of all integers.

    `tables` are the entries of each family's table; without families each of `nodes` and the
    intercept is a term. A change has `width` bits, two's complement, and `guard_bits` fraction bits
    below the grid of the answers.
    """

    nodes: int
    tables: tuple[int, ...]
    outputs: int
    grid_bits: int
    guard_bits: int
    drop_bits: int
    width: int
    leak: int | None
    most_age: int
    drift: Drift

    @property
    def terms(self) -> int:
        """The squared norm of a hidden vector."""
        return len(self.tables) or self.nodes + 1

    @property
    def largest(self) -> int:
        """The largest change; the least is one below its negative."""
        return (1 << (self.width - 1)) - 1

    @property
    def cleared_in(self) -> int:
        """Samples after a restart in which tables are cleared, an entry with each."""
        return max(self.tables, default=0)

    @property
    def deaf(self) -> int:
        """Samples after a restart that nothing is learned from, since tables are being cleared."""
        return max(0, self.cleared_in - (UPDATE_DELAY - 1))

    @property
    def target_range(self) -> tuple[int, int]:
        reach = 1 << (self.grid_bits + TARGET_BITS)
        return -reach, reach - 1

    def target_words(self, targets: Floats) -> Integers:
        """Normalised targets (n, m) as the core takes them, saturated."""
        words = np.rint(targets * 2.0**self.grid_bits)
        return np.clip(words, *self.target_range).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Controls:
    """What comes with each sample besides its inputs, (n,) each and `targets` (n, m).

    Where `learn` is set, `targets` are those of the sample `age` before this one. `freeze` leaves
    the readout as it is, and the error is watched alone. `restart` forgets all that was learned.
    """

    targets: Integers
    age: Integers
    learn: NDArray[np.bool_]
    freeze: NDArray[np.bool_]
    restart: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Answers:
    """For each sample: outputs (n, m), the mean of the absolute error, and whether it drifts."""

    outputs: Integers
    error: Integers
    drift: Integers


def adaptation_for(
    model: Model,
    fixed: FixedPoint,
    settings: AdaptSettings,
    errors: Integers | None = None,
) -> Adaptation:
    """The formats for a machine. Absolute errors (n,) of its answers calibrate the drift flag.

    UnsupportedModelError for a machine whose readout can't learn.
    """
    check_adaptable(model)
    tables = () if model.families is None else tuple(model.families.sizes.tolist())
    nodes = 0 if tables else len(model.readout)
    terms = len(tables) or nodes + 1
    bits = (terms - 1).bit_length()
    dropped = min(_dropped_bits(model, fixed, errors), bits + settings.step - 1)
    guard = bits + settings.step - dropped
    # A sign, and the reach of all changes divided by their number, which is rounded down.
    width = fixed.grid_bits + guard + 1 + REACH_BITS - (terms.bit_length() - 1)
    if settings.leak is not None and settings.leak >= width:
        raise OptionError(
            f"adapt leak must be below the {width} bits of what is learned, not {settings.leak}; "
            "leave --adapt-leak out for none"
        )
    return Adaptation(
        nodes,
        tables,
        model.outputs,
        fixed.grid_bits,
        guard,
        dropped,
        width,
        settings.leak,
        settings.most_age,
        no_drift() if errors is None or not len(errors) else watch(errors),
    )


def _dropped_bits(model: Model, fixed: FixedPoint, errors: Integers | None) -> int:
    """What is below half of the trained machine's mean error would be lost in its noise."""
    if errors is None or not len(errors):
        return max(fixed.grid_bits - ERROR_BITS, 0)
    return max(int(errors.mean() / model.outputs).bit_length() - 2, 0)


def check_adaptable(model: Model) -> None:
    """UnsupportedModelError for a machine whose readout can't learn."""
    apart = model.families is not None and bool(
        model.readout[: len(model.readout) - model.families.nodes].any()
    )
    for is_so, what in (
        (model.is_classifier, "real targets, not classes"),
        (model.level is not None, "predictions alone, not bounds"),
        (model.memory is not None, "rows of its own, not memory"),
        (model.mechanism.kind == "external", "its mechanism inside, not from outside"),
        (not len(model.readout), "hidden nodes, not a linear part alone"),
        (apart, "a readout of its families alone, not of nodes besides"),
    ):
        if is_so:
            raise UnsupportedModelError(
                f"model must have {what}, to adapt; train such a model, or leave --adapt out"
            )


def evaluation_errors(model: Model, fixed: FixedPoint) -> Integers | None:
    """Absolute errors of the trained machine on its test rows, all outputs of a row together."""
    rows = model.evaluation
    if rows is None:
        return None
    activity, code = evaluate(model, rows.inputs, rows.mechanism), codes(model, rows.inputs)
    span = model.target_max - model.target_min
    wanted = np.rint((rows.targets - model.target_min) / span * 2.0**fixed.grid_bits)
    found = fixed_output(model, fixed, activity, code)
    errors: Integers = np.abs(found - wanted.astype(np.int64)).sum(axis=1)
    return errors


def hidden_terms(model: Model, activity: Activity) -> Integers:
    """The bits (n, nodes) of all nodes, or the addresses (n, tables) of all families."""
    if model.families is None:
        return (activity.hidden > 0).astype(np.int64)
    first = len(model.readout) - model.families.nodes
    found: Integers = activity.firing - first - model.families.starts
    return found


@dataclass(frozen=True, eq=False)
class _Update:
    """The error of a sample, where it has one, and the terms that are changed."""

    error: Integers
    terms: Integers
    counts: bool
    frozen: bool


class AdaptiveReadout:
    """What an adaptive core has learned, and its answers to more samples.

    `changes` are (terms, m) of nodes and the intercept behind them, or (entries, m) of all tables.
    """

    def __init__(self, adaptation: Adaptation) -> None:
        self.adaptation = adaptation
        self._starts = np.cumsum((0, *adaptation.tables[:-1])) if adaptation.tables else None
        self._restart()

    def _restart(self) -> None:
        own = self.adaptation
        size = sum(own.tables) or own.terms
        self.changes: Integers = np.zeros((size, own.outputs), dtype=np.int64)
        self._pending: deque[_Update] = deque()
        self._past: deque[tuple[Integers, Integers]] = deque(maxlen=own.most_age + 1)
        self._since = 0
        self._error_sum = 0
        self._excess = 0

    def run(self, hidden: Integers, fixed: Integers, controls: Controls) -> Answers:
        """The answers to samples in order, by their hidden terms and the trained machine."""
        count, own = len(fixed), self.adaptation
        outputs = np.empty((count, own.outputs), dtype=np.int64)
        error, drift = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
        terms = self._terms(hidden)
        for n in range(count):
            if controls.restart[n]:
                self._restart()
            if len(self._pending) == UPDATE_DELAY:
                self._apply(self._pending.popleft())
            outputs[n] = fixed[n] + self._correction(terms[n])
            error[n] = self._error_sum >> MEAN_BITS
            drift[n] = own.drift.flag(self._excess)
            self._past.append((terms[n], outputs[n]))
            age = int(controls.age[n])
            self._pending.append(
                self._update(
                    controls.targets[n],
                    age,
                    learn=bool(controls.learn[n]),
                    frozen=bool(controls.freeze[n]),
                )
            )
            self._since += 1
        return Answers(outputs, error, drift)

    def _terms(self, hidden: Integers) -> Integers:
        """Signs of nodes and intercept, or places of entries."""
        if self._starts is not None:
            return hidden + self._starts
        return np.hstack([2 * hidden - 1, np.ones((len(hidden), 1), dtype=np.int64)])

    def _correction(self, terms: Integers) -> Integers:
        total = self.changes[terms].sum(axis=0) if self._is_tables else terms @ self.changes
        guard = self.adaptation.guard_bits
        # Half a unit before the shift rounds to the nearest; without guard bits it is 0.
        corrected: Integers = (total + (1 << guard >> 1)) >> guard
        return corrected

    @property
    def _is_tables(self) -> bool:
        return self._starts is not None

    def _update(self, target: Integers, age: int, *, learn: bool, frozen: bool) -> _Update:
        """What the target of the sample `age` before the last one says."""
        if not learn or age >= len(self._past) or self._since < self.adaptation.deaf:
            return _Update(target, target, False, False)
        terms, answer = self._past[-1 - age]
        return _Update(target - answer, terms, True, frozen)

    def _apply(self, update: _Update) -> None:
        if not update.counts:
            return
        size = int(np.abs(update.error).sum())
        # An exponential mean without a division: the sum tends to 2**MEAN_BITS times the mean
        # error.
        self._error_sum += size - (self._error_sum >> MEAN_BITS)
        self._excess = self.adaptation.drift.excess(self._excess, size)
        if not update.frozen:
            self._learn(update.error, update.terms)

    def _learn(self, error: Integers, terms: Integers) -> None:
        own = self.adaptation
        step = (error + (1 << own.drop_bits >> 1)) >> own.drop_bits
        places = terms if self._is_tables else slice(None)
        before = self.changes[places]
        moved = before + (step if self._is_tables else terms[:, None] * step)
        if own.leak is not None:
            # Each update takes a share of 2**-leak off a change, so that what is not confirmed
            # fades.
            moved -= (before + (1 << own.leak >> 1)) >> own.leak
        self.changes[places] = np.clip(moved, -own.largest - 1, own.largest)


def controls_of(
    adaptation: Adaptation,
    count: int,
    targets: Integers | None = None,
    *,
    age: int | Sequence[int] = 0,
    freeze: bool = False,
    restart: bool = False,
) -> Controls:
    """Controls of some samples: with targets for all of them or for none, and one restart."""
    begins = np.zeros(count, dtype=np.bool_)
    begins[:1] = restart
    learn = np.full(count, targets is not None)
    if targets is None:
        targets = np.zeros((count, adaptation.outputs), dtype=np.int64)
    ages = np.broadcast_to(np.asarray(age, dtype=np.int64), (count,))
    return Controls(targets, ages, learn, np.full(count, freeze), begins)
