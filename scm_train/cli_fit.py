"""`scm_train fit`: read, split, train, test, write."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scm_train import datasets, estimators, model_file
from scm_train.cli_mechanism import fit_mechanism
from scm_train.cli_output import described, print_result
from scm_train.errors import DataError, ModelFileError, ParameterError
from scm_train.machine import Machine
from scm_train.scores import class_indices, score
from scm_train.tables import Rows, read_rows

__all__ = ["fit"]

#: Fewer rows can't be split into rows to train on, to validate on and to test on.
FEWEST_ROWS = 10
TEST_FRACTION = 0.25
DEFAULTS: dict[str, Any] = {"max_nodes": 60, "encoder": "thermometer:31"}
#: Parameters that may be lists, a value per layer.
_PER_LAYER = ("max_nodes", "activation", "candidates")


@dataclass(frozen=True, eq=False)
class Data:
    """What there is to learn from, and where it came from."""

    rows: Rows
    task: str
    name: str
    about: dict[str, Any]
    train_rows: int | None = None
    mechanism: Any = None


def fit(args: argparse.Namespace) -> None:
    """Train as the command line says, and write the model file."""
    _check_out(Path(args.out))
    data = _read(args)
    if not args.quiet:
        _warn_of_constant(data.rows.constant_features)
    train, test = _split(data, args.test_fraction, args.seed)
    learner = _learner(args, data)
    y = data.rows.y[train]
    if (y == y[0]).all(axis=0).any():
        raise DataError(
            f"targets must vary in the {len(y)} training rows, not be constant; "
            "lower --test-fraction or gather more data"
        )
    learner.fit(data.rows.X[train], y)
    machine = _finished(learner.machine_, data, train, test, args)
    model_file.save(machine, args.out)
    if not args.quiet:
        timing = learner.machine_.info["timing"]
        print_result({"model": str(args.out), **described(machine), "timing": timing}, args.json)


def _warn_of_constant(names: Sequence[str]) -> None:
    if names:
        shown = ", ".join(names[:8]) + (f", and {len(names) - 8} more" if len(names) > 8 else "")
        print(f"warning: constant features say nothing: {shown}", file=sys.stderr)


def _check_out(path: Path) -> None:
    """Find out before training, not after it, that the file can't be written."""
    if not path.parent.is_dir() or path.is_dir():
        raise ModelFileError(
            f"--out must be a file in a folder that exists, not {str(path)!r}; "
            "choose another place or make the folder"
        )


# ----------------------------------------------------------------------------------------- data


def _read(args: argparse.Namespace) -> Data:
    if (args.data is None) == (args.dataset is None):
        raise ParameterError(
            "fit must be given a data file or --dataset, and not both; "
            "try `scm_train fit data.csv --target y --out model.npz`"
        )
    return _read_file(args) if args.dataset is None else _read_dataset(args)


def _read_file(args: argparse.Namespace) -> Data:
    if not args.target:
        raise ParameterError("--target must name the column to learn; give --target y")
    rows = read_rows(args.data, args.target, args.features, args.drop, least=FEWEST_ROWS)
    task = args.task
    if task == "auto":
        task = "regression" if rows.y.dtype.kind in "fiu" else "classification"
    path = Path(args.data)
    about = {"name": path.name, "target": list(rows.target_names)}
    name = path.name.partition(".")[0]
    return Data(_checked(rows, task), task, name, about)


def _read_dataset(args: argparse.Namespace) -> Data:
    if args.target or args.features or args.drop:
        raise ParameterError(
            "--target, --features and --drop must be left out with --dataset, "
            "which has its own; give a data file to choose columns of"
        )
    source = datasets.load(args.dataset)
    rows = Rows(source.X, source.y, source.feature_names, source.target_names)
    task = source.task if args.task == "auto" else args.task
    about = {
        "name": source.name,
        "target": list(source.target_names),
        "simulated": source.simulated,
    }
    return Data(_checked(rows, task), task, source.name, about, source.train_rows, source.mechanism)


def _checked(rows: Rows, task: str) -> Rows:
    """Targets that suit the task."""
    kind = rows.y.dtype.kind
    if task == "regression" and kind not in "fiu":
        raise DataError(
            f"targets of a regression must be numbers, not {rows.y[0]!s}; "
            "take --task classification"
        )
    if task == "classification" and rows.y.ndim > 1:
        raise DataError(
            f"target of a classification must be one column, not {rows.y.shape[1]}; name one"
        )
    if task == "classification" and kind == "f" and (rows.y != np.rint(rows.y)).any():
        raise DataError(
            "target of a classification must be labels, not real numbers; take --task regression"
        )
    return rows


def _split(data: Data, fraction: float | None, seed: int) -> tuple[NDArray, NDArray]:
    """Numbers of the rows to train on and of those to test on."""
    count = len(data.rows.X)
    if fraction is None and data.train_rows is not None:
        return np.arange(data.train_rows), np.arange(data.train_rows, count)
    fraction = TEST_FRACTION if fraction is None else fraction
    if not 0 <= fraction < 1:
        raise ParameterError(f"--test-fraction must be at least 0 and below 1, not {fraction!r}")
    random = np.random.default_rng(seed)
    if data.task == "regression":
        strata = [np.arange(count)]
    else:
        # Every class has its share in both parts.
        strata = [np.flatnonzero(data.rows.y == label) for label in np.unique(data.rows.y)]
    test = np.zeros(count, dtype=bool)
    for rows in strata:
        held = min(round(fraction * len(rows)), len(rows) - 1)
        test[random.permutation(rows)[:held]] = True
    return np.flatnonzero(~test), np.flatnonzero(test)


# -------------------------------------------------------------------------------------- learner


def _learner(args: argparse.Namespace, data: Data) -> estimators.Learner:
    suffix = "Classifier" if data.task == "classification" else "Regressor"
    cls = getattr(estimators, f"{args.algorithm}{suffix}")
    known = cls().get_params(deep=False)
    given = {name: value for name, value in vars(args).items() if name in known}
    parameters = DEFAULTS | (estimators.paper_settings() if args.paper else {}) | given
    parameters.setdefault("layers", _longest([parameters.get(key) for key in _PER_LAYER]))
    parameters["mechanism"] = fit_mechanism(args, data.rows.feature_names, data.mechanism)
    return cls(**parameters, random_state=args.seed, verbose=not args.quiet)


def _longest(values: list[Any]) -> int:
    """As many layers as the longest list of values per layer."""
    return max((len(value) for value in values if isinstance(value, list)), default=1)


# -------------------------------------------------------------------------------------- results


def _finished(
    machine: Machine, data: Data, train: NDArray, test: NDArray, args: argparse.Namespace
) -> Machine:
    """The machine with its names, scores, origin and held-out rows."""
    machine = replace(machine, feature_names=data.rows.feature_names)
    if machine.classes is None:
        machine = replace(machine, target_names=data.rows.target_names)
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
    if args.no_eval_rows or not len(test):
        return machine
    stride = -(-len(test) // model_file.MAX_EVALUATION_ROWS)
    kept = test[::stride]
    return machine.with_evaluation(data.rows.X[kept], _targets(machine, data, kept))


def _targets(machine: Machine, data: Data, rows: NDArray) -> NDArray:
    """Targets of some rows as a machine knows them: raw (r, m), or class indices (r,)."""
    y = data.rows.y[rows]
    if machine.classes is not None:
        return class_indices(machine, y)
    return y.reshape(len(y), -1).astype(np.float64)
