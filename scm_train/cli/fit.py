"""`scm_train fit`: read, split, train, test, write."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scm_model import Model
from scm_model.interval import names_with_bounds
from scm_train import estimators, model_file
from scm_train.cli.console import say
from scm_train.cli.description import described, print_result
from scm_train.cli.endings import (
    early_endings,
    ending_lines,
    growth_line,
    outliers_line,
    outliers_of,
)
from scm_train.cli.mechanism import fit_mechanism, mechanism_file
from scm_train.cli.next_steps import show_next_steps
from scm_train.cli.records import fit_records, of_records
from scm_train.cli.training_data import Data, read, split
from scm_train.data.clipping import clipped_columns, clipped_line
from scm_train.errors import DataError
from scm_train.evaluation.importance import importance
from scm_train.evaluation.scores import class_indices, score
from scm_train.evaluation.trials import best_trial, summary
from scm_train.history import History
from scm_train.output_files import MODEL, check_output

__all__ = ["finished", "fit", "tell_notes"]


def fit(args: argparse.Namespace) -> None:
    """Train as the command line says, and write the model file."""
    reads = [args.data, mechanism_file(args.mechanism)]
    check_output(args.out, MODEL, reads, args.force)
    if of_records(args):
        fit_records(args, _learner)
        return
    data = read(args)
    # Again, as the files of a named data set are known only now.
    check_output(args.out, MODEL, data.files, args.force)
    if not args.quiet:
        _warn_of_constant(data.rows.constant_features)
    train, test = split(data, args.test_fraction, args.seed)
    if not args.quiet:
        tell_notes(data, len(test))
    y = data.rows.y[train]
    if (y == y[0]).all(axis=0).any():
        raise DataError(
            f"targets must vary in the {len(y)} training rows, not be constant; "
            "lower --test-fraction or gather more data"
        )
    machines: list[Model] = []
    histories: list[History] = []
    try:
        for trial in range(args.trials):
            learner = _learner(args, data, trial)
            learner.fit(data.rows.X[train], y)
            # Importance takes a pass over the rows for each feature, and is for the trial that is
            # kept.
            machines.append(finished(learner.machine_, data, train, test, args, important=False))
            histories.append(learner.history_)
            if args.trials > 1:
                _tell_trial(machines[-1], trial, args)
    except KeyboardInterrupt:
        if not machines:
            raise
        _keep(machines, histories, data, train, test, args)
        kept = f"{len(machines)} of {args.trials} trials were finished"
        raise KeyboardInterrupt(f"{kept}, and the best of them was written") from None
    _keep(machines, histories, data, train, test, args)


def _keep(
    machines: Sequence[Model],
    histories: Sequence[History],
    data: Data,
    train: NDArray,
    test: NDArray,
    args: argparse.Namespace,
) -> None:
    """Write the best of the trials, as if no more had been asked for, and show it."""
    best = best_trial(machines)
    result: dict[str, Any] = {"timing": dict(histories[best].seconds)}
    if len(machines) > 1:
        result["trials"] = summary(machines)
    machine = _numbered(machines[best], best, len(machines))
    machine = _with_importance(machine, data, test)
    model_file.save(machine, args.out)
    if args.quiet:
        return
    settings = machine.info["settings"]
    endings = early_endings(histories[best], settings)
    if endings:
        result["ended_early"] = [asdict(ending) for ending in endings]
    outliers = histories[best].outliers
    if outliers is not None:
        result["outliers"] = outliers_of(outliers, train)
    growth = histories[best].growth
    if growth is not None:
        result["growth"] = asdict(growth)
    clipped = clipped_columns(machine, data.rows.X[test])
    if clipped:
        result["clipped"] = [asdict(column) for column in clipped]
    print_result({"model": str(args.out), **described(machine), **result}, args.json)
    if not args.json:
        # So that a terminal shows the result before the notes on standard error.
        sys.stdout.flush()
    for line in ending_lines(endings, settings):
        say(f"note: {line}", sys.stderr)
    if growth is not None:
        say(f"note: {growth_line(growth)}", sys.stderr)
    if clipped:
        say(f"note: {clipped_line(clipped)}", sys.stderr)
    if outliers is not None:
        say(f"note: {outliers_line(result['outliers'], len(train))}", sys.stderr)
    if not args.json:
        show_next_steps(args, growth)


def _tell_trial(machine: Model, trial: int, args: argparse.Namespace) -> None:
    if sys.stderr.isatty() and not args.quiet:
        scores = machine.info["scores"]
        shown = {key: scores[key] for key in ("train_rmse", "validation_rmse") if key in scores}
        words = ", ".join(f"{key.replace('_', ' ')} {value:.6f}" for key, value in shown.items())
        say(f"  trial {trial + 1} of {args.trials}: {words}", sys.stderr)


def _numbered(machine: Model, trial: int, trials: int) -> Model:
    """The machine with its number among several runs, by which it can be made again."""
    if trials == 1:
        return machine
    settings = machine.info["settings"] | {"trials": trials, "trial": trial}
    return replace(machine, info=machine.info | {"settings": settings})


def tell_notes(data: Data, tested: int) -> None:
    """Print what was guessed of the table, and notes on its split."""
    for note in data.rows.notes:
        say(f"note: {note}", sys.stderr)
    for note in (data.target_note, data.order_warning if tested else None):
        if note:
            say(note, sys.stderr)


def _warn_of_constant(names: Sequence[str]) -> None:
    if names:
        shown = ", ".join(names[:8]) + (f", and {len(names) - 8} more" if len(names) > 8 else "")
        say(f"warning: these features are constant and are not used: {shown}", sys.stderr)


# -------------------------------------------------------------------------------------- learner


def _learner(args: argparse.Namespace, data: Data, trial: int) -> estimators.Learner:
    suffix = "Classifier" if data.task == "classification" else "Regressor"
    cls = getattr(estimators, f"{args.algorithm}{suffix}")
    known = cls().get_params(deep=False)
    given = {name: value for name, value in vars(args).items() if name in known}
    parameters = (estimators.paper_settings() if args.paper else {}) | given
    parameters |= data.settings
    parameters["mechanism"] = fit_mechanism(args, data.rows.feature_names, data.mechanism)
    # Each trial has a seed of its own; the split of the rows is the same for all.
    seed = (args.seed + trial) % 2**32
    return cls(**parameters, random_state=seed, verbose=not args.quiet)


# -------------------------------------------------------------------------------------- results


def finished(
    machine: Model,
    data: Data,
    train: NDArray,
    test: NDArray,
    args: argparse.Namespace,
    *,
    important: bool = True,
) -> Model:
    """The machine with its names, scores, origin and test rows, as it goes into a file.

    Of ``args`` it takes ``name``, ``seed`` and ``no_eval_rows``. With ``important`` it has the
    features by importance too, which takes a while.
    """
    if machine.columns is None:
        machine = replace(machine, features=data.rows.feature_names)
    if machine.classes is None:
        names = data.rows.target_names
        bounded = machine.level is not None
        machine = replace(machine, targets=names_with_bounds(names) if bounded else names)
    scores = dict(machine.info["scores"])
    if machine.classes is not None:
        trained = score(machine, data.rows.X[train], _targets(machine, data, train))
        scores["train_accuracy"] = trained["accuracy"]
    if len(test):
        tested = score(machine, data.rows.X[test], _targets(machine, data, test))
        scores |= {f"test_{key}": value for key, value in tested.items()}
    about = data.about | {"train_rows": len(train), "test_rows": len(test)}
    info = machine.info | {
        "name": args.name or data.name,
        "seed": args.seed,
        "scores": scores,
        "data": about,
    }
    # Times differ from run to run; without them, the same command writes the same bytes.
    info.pop("timing", None)
    machine = replace(machine, info=info)
    if important:
        machine = _with_importance(machine, data, test)
    if args.no_eval_rows or not len(test):
        return machine
    stride = -(-len(test) // model_file.MAX_EVALUATION_ROWS)
    kept = test[::stride]
    return machine.with_evaluation(data.rows.X[kept], _targets(machine, data, kept))


def _with_importance(machine: Model, data: Data, test: NDArray) -> Model:
    """The machine with its features' importance on the test rows among its scores."""
    if not len(test):
        return machine
    found = importance(machine, data.rows.X[test], _targets(machine, data, test))
    scores = machine.info["scores"] | {"importance": found}
    return replace(machine, info=machine.info | {"scores": scores})


def _targets(machine: Model, data: Data, rows: NDArray) -> NDArray:
    """Targets of some rows as a machine knows them: raw (r, m), or class indices (r,)."""
    y = data.rows.y[rows]
    if machine.classes is not None:
        return class_indices(machine, y)
    return y.reshape(len(y), -1).astype(np.float64)
