"""`scm_train refit`: the readout of a model again, on new rows."""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np

from scm_train import model_file
from scm_train.cli.description import print_result
from scm_train.cli.model_commands import read_targets
from scm_train.cli.training_data import held_back
from scm_train.errors import ParameterError
from scm_train.evaluation.scores import score
from scm_train.output_files import MODEL, check_output
from scm_train.training.refit import refit

__all__ = ["refit_file"]


def refit_file(args: argparse.Namespace) -> None:
    """Read, split, fit, test before and after, write."""
    check_output(args.out, MODEL, [args.model, args.data], args.force)
    if not 0 < args.test_fraction < 1:
        raise ParameterError(
            f"--test-fraction must be above 0 and below 1, not {args.test_fraction!r}"
        )
    machine = model_file.load(args.model)
    X, targets = read_targets(machine, args)
    random = np.random.default_rng(args.seed)
    train, test = held_back(targets, machine.task, args.test_fraction, random)
    fitted = refit(machine, X[train], targets[train], args.ridge)
    scores = {f"test_{k}": v for k, v in score(fitted, X[test], targets[test]).items()}
    before = score(machine, X[test], targets[test])
    about = {"train_rows": len(train), "test_rows": len(test)}
    data = machine.info.get("data", {}) | about
    fitted = replace(fitted, info=fitted.info | {"scores": scores, "data": data})
    kept = test[:: -(-len(test) // model_file.MAX_EVALUATION_ROWS)]
    if len(kept):
        fitted = fitted.with_evaluation(X[kept], targets[kept])
    model_file.save(fitted, args.out)
    measure = "rmse" if machine.classes is None else "accuracy"
    result = {"model": args.out, **about, f"{measure}_before": before[measure]}
    print_result(result | {f"{measure}_after": scores[f"test_{measure}"]}, args.json)
