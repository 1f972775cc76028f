"""Estimators of records: samples in the order of time, of which each sees those before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from scm_model import Memory, Model, Tap
from scm_model.columns import column_names, in_memory
from scm_model.memory import starts
from scm_train import model_file
from scm_train.errors import DataError, ParameterError
from scm_train.estimators import SCMClassifier, SCMRegressor
from scm_train.learner import Learner
from scm_train.sequences.candidates import Candidate, check_length, grown, has_plant, settings_of
from scm_train.sequences.choose import choose_taps
from scm_train.sequences.lags import Lags, parse_lags
from scm_train.sequences.plant_start import Choice, with_plant
from scm_train.sequences.records import Records, divide
from scm_train.sequences.recurrent import grow_recurrent, recurrent_settings

__all__ = ["SequenceClassifier", "SequenceRegressor"]

Floats = NDArray[np.float64]
AnyLags = str | Sequence[str] | Mapping[str, object]


class _Sequences(BaseEstimator):
    """What both tasks have in common."""

    _learner: ClassVar[type[Learner]]

    def __init__(
        self,
        estimator: Learner | None = None,
        *,
        lags: AnyLags = "auto",
        horizon: int = 0,
        most_lag: int = 8,
    ):
        self.estimator = estimator
        self.lags = lags
        self.horizon = horizon
        self.most_lag = most_lag

    def _records(self, X: Any, y: Any, groups: ArrayLike | None) -> Records:
        """The rows of ``fit``, and the names of signals and targets."""
        for name in ("horizon", "most_lag"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                raise ParameterError(f"{name} must be a whole number of rows, not {value!r}")
        named, targets = column_names(X), column_names(y)
        rows, y = np.asarray(in_memory(X), dtype=np.float64), np.asarray(in_memory(y))
        if rows.ndim != 2 or len(rows) != len(y):
            raise DataError(
                f"records must be rows of signals with a target each, not of shapes {rows.shape} "
                f"and {y.shape}"
            )
        if not np.isfinite(rows).all():
            raise DataError("signals must be finite numbers in every row of a record")
        width = rows.shape[1]
        self.signal_names_ = tuple(f"x{i}" for i in range(width)) if named is None else named
        count = 1 if y.ndim == 1 else y.shape[1]
        default = ("y",) if count == 1 else tuple(f"y{j}" for j in range(count))
        self.target_names_ = default if targets is None else targets
        self.n_features_in_ = width
        return Records.ahead(rows, y, starts(groups, len(rows)), self.horizon)

    def _fit_records(self, records: Records, feedback: Lags | None, auto_outputs: int) -> Memory:
        """The memory of the machine: taps that were asked for, or that validation chose."""
        asked: Lags = {}
        if self.lags != "auto":
            asked = parse_lags(self.lags, self.signal_names_, "lags", 0)
        return self._memory(records, asked, feedback, auto_outputs)

    def _memory(
        self, records: Records, asked: Lags, feedback: Lags | None, auto_outputs: int
    ) -> Memory:
        if asked:
            missing = [name for name in self.signal_names_ if name not in asked]
            if missing:
                raise ParameterError(
                    f"lags must be given for {missing[0]!r} as well; leave the column out of the "
                    "rows, or give it lag 0"
                )
        taps = [
            Tap(place, lag)
            for place, name in enumerate(self.signal_names_)
            for lag in asked.get(name, (0,))
        ]
        count = len(self.signal_names_)
        for output, name in enumerate(self.target_names_):
            own = (feedback or {}).get(name, ())
            taps += [Tap(count + output, lag) for lag in own]
        if not asked or auto_outputs:
            taps = self._chosen(records, taps, auto_outputs)
        rest = np.r_[records.signals.mean(axis=0), self._rest_of_targets(records)]
        return Memory(self.signal_names_, tuple(sorted(taps)), rest, self.horizon)

    def _chosen(self, records: Records, start: list[Tap], outputs: int) -> list[Tap]:
        count, reach = len(self.signal_names_), range(self.most_lag + 1)
        candidates = [*start]
        if self.lags == "auto":
            candidates += [Tap(source, lag) for source in range(count) for lag in reach]
        candidates += [Tap(count + j, lag) for j in range(outputs) for lag in reach[1:]]
        if outputs and not any(tap.source >= count for tap in start):
            # A machine that is to see itself sees its last output at least.
            start = [*start, *(Tap(count + j, 1) for j in range(outputs))]
        learn, held = divide(records, self.most_lag + self.horizon)
        return choose_taps(learn, held, sorted({*candidates, *start}), start, count)

    def _rest_of_targets(self, records: Records) -> Floats:
        return np.zeros(0)

    def _new_learner(self) -> Learner:
        return self._learner() if self.estimator is None else self.estimator

    def _take(self, found: Candidate, plant: Mapping[str, object] | None = None) -> None:
        """Keep the machine that was chosen, with the lags and the horizon of its records."""
        memory = found.machine.memory
        assert memory is not None
        self.machine_ = settings_of(found.machine, memory, {"plant": plant})
        self.history_ = found.history

    def save(
        self,
        path: str | Path,
        X: Any = None,
        y: Any = None,
        groups: ArrayLike | None = None,
    ) -> None:
        """Write the machine to a model file, with records that it has not seen, if given."""
        check_is_fitted(self)
        machine = self.machine_
        if X is not None:
            machine = self.with_evaluation(X, y, groups)
        model_file.save(machine, path)

    def with_evaluation(self, X: Any, y: Any, groups: ArrayLike | None = None) -> Model:
        """The machine with records to be compared on, as many as a file may have."""
        check_is_fitted(self)
        rows = np.asarray(in_memory(X), dtype=np.float64)
        told = np.asarray(in_memory(y))
        records = Records.ahead(rows, told, starts(groups, len(rows)), self.horizon)
        kept = records.known.copy()
        # The first rows and not a stride of them, which would be no record.
        kept[model_file.MAX_EVALUATION_ROWS :] = False
        part = records.taken(kept)
        targets = part.targets
        if self.machine_.is_classifier:
            targets = np.searchsorted(self.machine_.labels, targets)
        else:
            targets = targets.reshape(len(part), -1).astype(np.float64)
        return self.machine_.with_evaluation(part.signals, targets, first=part.first)

    def _scored(self, y: Any, groups: ArrayLike | None) -> tuple[NDArray, NDArray[np.bool_]]:
        """Targets of each row, and which rows have one and a full history."""
        told = np.asarray(in_memory(y))
        blank = np.zeros((len(told), 1))
        records = Records.ahead(blank, told, starts(groups, len(told)), self.horizon)
        return records.targets, records.scored(self.machine_.memory)


class SequenceRegressor(RegressorMixin, _Sequences):
    """Predicts targets from the present and the past of signals, and of itself.

    Parameters
    ----------
    estimator : SCMRegressor or None
        What learns from rows of taps; None: ``SCMRegressor()``.
    lags : "auto", str or mapping
        Rows of the past of each signal: ``"speed:0..2,current:0+4"``, ``{"speed": [0, 1, 2]}``, or
        ``"*:0..3"`` for all. ``"auto"`` adds those that lower the validation error, up to
        ``most_lag``.
    horizon : int
        Rows ahead of the newest sample that the targets are.
    feedback : None, "auto", str or mapping
        Rows of the past of the machine's own outputs that it sees, as ``"y:1..4"``. It learns from
        measured targets, one step ahead, and runs free in hardware; its outputs are held in the
        range of the training targets, which bounds them.
    rounds : int
        Of learning again with what came back when it ran free; kept where validation records are
        predicted better.
    plant : bool
        Whether a linear model of all taps, with a polynomial of one or two of them, may stand
        before the nodes, or in their place: fitted to its free run where outputs come back, and
        kept where validation records are predicted better. Not for ``loss="huber"``.
    margin : float
        With feedback, how far beyond the training range such a machine sees signals and answers,
        as a share of the range on either side; less where it isn't stable there.
    recurrent : bool
        Grow a layer of recurrent sign nodes instead, which see bits of the row before, their own
        among them: as many as the estimator's ``max_nodes``, or 64. The past is then in the bits,
        and ``lags="auto"`` is the newest sample of each signal.
    recurrent_share : float
        The share of bits among what a recurrent node sees.
    washout : int
        With ``recurrent``, rows of a record that pass before it is learned from and scored.
    most_lag : int
        The furthest lag that ``"auto"`` tries.

    Attributes
    ----------
    machine_ : Model
        The trained machine, with its memory.
    free_run_errors_ : list of float
        With feedback, the validation RMSE running free after each round.
    """

    _learner = SCMRegressor

    def __init__(
        self,
        estimator: Learner | None = None,
        *,
        lags: AnyLags = "auto",
        horizon: int = 0,
        feedback: AnyLags | None = None,
        rounds: int = 2,
        most_lag: int = 8,
        plant: bool = True,
        margin: float = 0.5,
        recurrent: bool = False,
        recurrent_share: float = 0.5,
        washout: int = 8,
    ):
        super().__init__(estimator, lags=lags, horizon=horizon, most_lag=most_lag)
        self.feedback = feedback
        self.rounds = rounds
        self.plant = plant
        self.margin = margin
        self.recurrent = recurrent
        self.recurrent_share = recurrent_share
        self.washout = washout

    def fit(self, X: Any, y: Any, groups: ArrayLike | None = None) -> Self:
        """Learn from samples ``X`` (n, signals) and targets ``y`` (n,) or (n, m), in order.

        ``groups`` says which record each row is of; None: all are one.
        """
        records = self._records(X, y, groups)
        records = replace(records, targets=records.targets.astype(np.float64))
        self._single = records.targets.ndim == 1
        auto = len(self.target_names_) if self.feedback == "auto" else 0
        told = None
        if self.feedback is not None and not auto:
            told = parse_lags(self.feedback, self.target_names_, "feedback", 1)
        if self.recurrent:
            return self._fit_recurrent(records)
        memory = self._fit_records(records, told, auto)
        parts = divide(records, memory.depth + self.horizon)
        check_length(parts, memory)
        learner, names, plant = self._new_learner(), self.target_names_, None
        if self.plant and has_plant(learner):
            margin = self.margin if memory.feedback else 0.0
            choice = Choice(records, memory, learner, names, self.rounds, margin)
            found, plant = with_plant(choice)
        else:
            found = grown(learner, memory, parts, names, rounds=self.rounds)
        self._take(found, plant)
        self.free_run_errors_ = found.errors if memory.feedback else []
        return self

    def _fit_recurrent(self, records: Records) -> Self:
        if self.feedback is not None:
            raise ParameterError(f"feedback must be None with recurrent, not {self.feedback!r}")
        learner = self._new_learner()
        settings = recurrent_settings(learner, self.recurrent_share, self.washout)
        lags = self.lags if self.lags != "auto" else "*:0"
        memory = self._memory(records, parse_lags(lags, self.signal_names_, "lags", 0), None, 0)
        parts = divide(records, max(memory.depth, self.washout) + self.horizon)
        self._take(grow_recurrent(memory, parts, self.target_names_, settings))
        self.free_run_errors_ = []
        return self

    def _rest_of_targets(self, records: Records) -> Floats:
        return records.measured.mean(axis=0)

    def predict(
        self,
        X: Any,
        groups: ArrayLike | None = None,
        *,
        outputs: ArrayLike | None = None,
        simulate: bool | None = None,
    ) -> Floats:
        """Targets of each row. With feedback: one step ahead from measured ``outputs``, or (by
        default without them, and always with ``simulate``) running free."""
        check_is_fitted(self)
        first = starts(groups, len(X))
        told = None if outputs is None else np.asarray(outputs).reshape(len(X), -1)
        found = self.machine_.predict(X, first=first, outputs=told, simulate=simulate)
        return found[:, 0] if self._single else found

    def score(self, X: Any, y: Any, groups: ArrayLike | None = None, **how: Any) -> float:  # type: ignore[override]
        """R² of the rows with a full history."""
        targets, rows = self._scored(y, groups)
        found = np.asarray(self.predict(X, groups, **how))
        wanted = targets.reshape(len(targets), -1)[rows].astype(np.float64)
        error = ((found.reshape(len(targets), -1)[rows] - wanted) ** 2).sum(axis=0)
        return float(np.mean(1 - error / ((wanted - wanted.mean(axis=0)) ** 2).sum(axis=0)))


class SequenceClassifier(ClassifierMixin, _Sequences):
    """Labels from the present and the past of signals; see :class:`SequenceRegressor`."""

    _learner = SCMClassifier

    def fit(self, X: Any, y: Any, groups: ArrayLike | None = None) -> Self:
        """Learn from samples ``X`` (n, signals) and labels ``y`` (n,), in order."""
        records = self._records(X, y, groups)
        memory = self._fit_records(records, None, 0)
        learn, held = divide(records, memory.depth + self.horizon)
        # What only the held-out records have can't be chosen by.
        held = replace(held, known=held.known & np.isin(held.targets, np.unique(learn.targets)))
        check_length((learn, held), memory)
        self._take(grown(self._new_learner(), memory, (learn, held), self.target_names_))
        self.classes_ = self.machine_.labels
        return self

    def predict(self, X: Any, groups: ArrayLike | None = None) -> NDArray:
        """Labels of each row."""
        check_is_fitted(self)
        return self.machine_.predict(X, first=starts(groups, len(X)))

    def score(self, X: Any, y: Any, groups: ArrayLike | None = None) -> float:  # type: ignore[override]
        """Share of right labels among the rows with a full history."""
        targets, rows = self._scored(y, groups)
        return float((self.predict(X, groups)[rows] == targets[rows]).mean())
