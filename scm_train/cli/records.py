"""`scm_train fit` on records in the order of time: `--lags`, `--horizon`, `--feedback`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scm_model import Model
from scm_model.raw_table import RawTable
from scm_train import model_file
from scm_train.cli.console import say
from scm_train.cli.description import described, print_result
from scm_train.cli.endings import growth_line
from scm_train.cli.training_data import Data, read, split
from scm_train.errors import DataError, ParameterError
from scm_train.evaluation.scores import record_scores
from scm_train.history import History
from scm_train.learner import Learner
from scm_train.sequences import SequenceClassifier, SequenceRegressor

__all__ = ["RECORD_SETTINGS", "fit_records", "of_records", "read_records", "trained_on_records"]

#: Any of them makes a machine with memory.
RECORD_FLAGS = ("lags", "horizon", "feedback", "recurrent", "groups")
#: With the options that go with them.
RECORD_SETTINGS = (*RECORD_FLAGS, "no_plant", "recurrent_share", "washout")


def of_records(args: argparse.Namespace) -> bool:
    """Whether a machine with memory is asked for."""
    return any(getattr(args, flag, None) not in (None, False) for flag in RECORD_FLAGS)


def fit_records(
    args: argparse.Namespace, make_learner: Callable[[argparse.Namespace, Data, int], Learner]
) -> None:
    """Train on records, test on later ones, write the model file, and show it."""
    data = read_records(args)
    train, test = split(data, args.test_fraction, args.seed)
    machine, history = trained_on_records(args, data, make_learner(args, data, 0), train, test)
    model_file.save(machine, args.out)
    if args.quiet:
        return
    growth = history.growth
    result: dict[str, Any] = {"model": str(args.out), **described(machine)}
    if growth is not None:
        result["growth"] = asdict(growth)
    print_result(result, args.json)
    if growth is not None:
        sys.stdout.flush()
        say(f"note: {growth_line(growth)}", sys.stderr)


def read_records(args: argparse.Namespace) -> Data:
    """What there is to learn from: whole records, or the last rows of one, are held out."""
    _check_flags(args)
    # Rows held out at random would be neighbours of training rows.
    args.split = f"groups:{args.groups}" if args.groups is not None else "chronological"
    data = read(args)
    if isinstance(data.rows.X, RawTable):
        raise DataError(
            "records must be of numbers without gaps, not of categories or missing values; "
            "leave such columns out with --drop, or fill the gaps"
        )
    return data


def trained_on_records(
    args: argparse.Namespace, data: Data, learner: Learner, train: NDArray, test: NDArray
) -> tuple[Model, History]:
    """A machine with memory from some rows, scored on others; how its learner got there.

    Of ``args`` it takes the flags of records, ``name``, ``seed`` and ``no_eval_rows``.
    """
    model = _sequences(args, data, learner)
    own = None if data.groups is None else data.groups[train]
    model.fit(_frame(data)(train), _targets(data, train), own)
    return _with_test_rows(model, data, test, args), model.history_


def _check_flags(args: argparse.Namespace) -> None:
    for flag, why in (
        ("dataset", "which has no order of time"),
        ("test", "the last rows or records are held out"),
        ("split", "records are held out whole, or the last rows"),
    ):
        if getattr(args, flag, None) is not None:
            raise ParameterError(f"--{flag} must be left out with --lags, {why}")
    if getattr(args, "mechanism", None) is not None:
        raise ParameterError("--mechanism must be left out with --lags")
    if getattr(args, "interval", None) is not None:
        raise ParameterError(
            "--interval must be left out with --lags; records in the order of time are not "
            "exchangeable, and coverage can't be guaranteed"
        )
    for flag in ("unsure", "flags"):
        if getattr(args, flag, None) is not None:
            raise ParameterError(
                f"--{flag} must be left out with --lags; records in the order of time are not "
                "exchangeable, and its rate can't be guaranteed"
            )
    if getattr(args, "trials", 1) != 1:
        raise ParameterError("--trials must be 1 with --lags")


def _sequences(
    args: argparse.Namespace, data: Data, learner: Learner
) -> SequenceRegressor | SequenceClassifier:
    told: dict[str, Any] = {"lags": args.lags or "auto", "horizon": args.horizon or 0}
    if data.task == "classification":
        if args.feedback is not None:
            raise ParameterError("--feedback must be left out for a classification")
        if args.recurrent:
            raise ParameterError("--recurrent must be left out for a classification")
        return SequenceClassifier(learner, **told)
    return SequenceRegressor(
        learner,
        feedback=args.feedback,
        plant=not args.no_plant,
        recurrent=args.recurrent,
        recurrent_share=args.recurrent_share,
        washout=args.washout,
        **told,
    )


class _Named:
    """Rows with the names of their columns, as a data frame has them."""

    def __init__(self, values: NDArray, columns: tuple[str, ...]) -> None:
        self.values, self.columns = values, list(columns)

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray:
        return np.asarray(self.values, dtype=dtype)


def _frame(data: Data) -> Callable[[NDArray], _Named]:
    return lambda rows: _Named(data.rows.X[rows], data.rows.feature_names)


def _targets(data: Data, rows: NDArray) -> Any:
    y = data.rows.y[rows]
    return (
        y
        if data.task == "classification"
        else _Named(y.reshape(len(rows), -1).astype(np.float64), data.rows.target_names)
    )


def _with_test_rows(
    model: SequenceRegressor | SequenceClassifier,
    data: Data,
    test: NDArray,
    args: argparse.Namespace,
) -> Model:
    """The machine with its scores on records that it has not seen, and with those records."""
    machine: Model = model.machine_
    scores = dict(machine.info.get("scores", {}))
    if len(test):
        groups = None if data.groups is None else data.groups[test]
        tested = model.with_evaluation(data.rows.X[test], data.rows.y[test], groups)
        rows = tested.evaluation
        assert rows is not None
        scores |= {f"test_{key}": value for key, value in record_scores(machine, rows).items()}
        if not args.no_eval_rows:
            machine = tested
    info = machine.info | {
        "name": args.name or data.name,
        "seed": args.seed,
        "scores": scores,
        "data": data.about | {"test_rows": len(test)},
    }
    # Times differ from run to run; without them, the same command writes the same bytes.
    info.pop("timing", None)
    return replace(machine, info=info)
