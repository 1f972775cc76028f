"""PC against hardware on the evaluation rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scm_hw.load import Evaluation, FixedPoint, Model, classes_of, normalised_results, rmse
from scm_model.flags import NOVEL, OUTSIDE, UNSURE, flag_kinds, unsure_rows
from scm_model.interval import covered, of_points
from scm_model.scaling import from_unit


def accuracy(
    model: Model,
    built: Model,
    fixed: FixedPoint,
    evaluation: Evaluation,
    pc: NDArray[np.float64],
    hardware: NDArray[np.int64],
) -> dict[str, Any]:
    """RMSE with targets in [0, 1] (the paper's), or the share of right classes, of both.

    `max_difference` is the largest between hardware and PC, of each output in its own unit.
    Of the hardware also the largest error of all outputs and R2 against the targets, of several
    outputs together: the share of their variance that it explains.

    Of a model with bounds these are of its predictions (`max_difference` of all outputs), and
    `interval` has level, coverage and mean width, in the target's unit. Of one with flags, the last
    columns of `hardware`, `flags` has how often they are set.

    `built` is the model in the units of the hardware, `model` the one on the PC.
    """
    flags = _flags(model, built, evaluation, pc, hardware)
    if not model.is_classifier:
        measured = normalised_results(model, built, fixed, hardware[:, : model.outputs])
        return _errors(model, evaluation, pc, measured) | flags
    right_pc = classes_of(pc) == evaluation.targets
    right_hw = hardware[:, 0] == evaluation.targets
    return {
        "accuracy_pc": float(right_pc.mean()),
        "accuracy_hw": float(right_hw.mean()),
        "rows": len(evaluation),
    } | flags


def _errors(
    model: Model, evaluation: Evaluation, pc: NDArray[np.float64], measured: NDArray[np.float64]
) -> dict[str, Any]:
    """Of a regression, by outputs scaled to [0, 1]."""
    bounds = {}
    # Hardware must follow the PC in all outputs, bounds too; errors are of predictions alone.
    apart = np.abs(measured - pc)
    if model.level is not None:
        bounds = _bounds(model, evaluation, pc, measured)
        model, k = of_points(model), model.points
        evaluation = replace(evaluation, targets=evaluation.targets[:, :k])
        pc, measured = pc[:, :k], measured[:, :k]
    span = model.target_max - model.target_min
    target = (evaluation.targets - model.target_min) / span
    wrong = np.abs(measured - target)
    return {
        "rmse_pc": rmse(pc, target),
        "rmse_hw": rmse(measured, target),
        "rmse_ratio": _ratio(rmse(measured, target), rmse(pc, target)),
        "max_error_hw": float(wrong.max()),
        "max_difference": float(apart.max()),
        "r2_hw": _r2(measured, target),
        "rmse_units": _in_units(model, pc, measured, target, apart),
        "rows": len(evaluation),
    } | bounds


def _flags(
    model: Model,
    built: Model,
    evaluation: Evaluation,
    pc: NDArray[np.float64],
    hardware: NDArray[np.int64],
) -> dict[str, Any]:
    """How often each flag is set; of an unsure classifier also how often it is wrong unflagged."""
    names = flag_kinds(built)
    if model.flags is None or not names:
        return {}
    bits = dict(zip(names, hardware[:, -len(names) :].T, strict=True))
    found: dict[str, Any] = {}
    if model.flags.unsure is not None:
        unsure, wrong = bits[UNSURE] == 1, hardware[:, 0] != evaluation.targets
        on_pc = unsure_rows(model.flags.unsure, pc)
        found[UNSURE] = {
            "level": model.flags.unsure.level,
            "share_pc": float(on_pc.mean()),
            "share_hw": float(unsure.mean()),
            "wrong_unflagged_hw": float((wrong & ~unsure).mean()),
            "accuracy_of_sure_hw": float(1 - wrong[~unsure].mean()) if (~unsure).any() else None,
        }
    if model.flags.novelty is not None:
        found[NOVEL] = {
            "rate": model.flags.novelty.rate,
            "groups": len(model.flags.novelty.groups),
            "share_hw": float(bits[NOVEL].mean()),
        }
    if OUTSIDE in bits:
        found[OUTSIDE] = {"share_hw": float(bits[OUTSIDE].mean())}
    return {"flags": found}


def _in_units(
    model: Model,
    pc: NDArray[np.float64],
    measured: NDArray[np.float64],
    target: NDArray[np.float64],
    apart: NDArray[np.float64],
) -> dict[str, dict[str, float | None]]:
    """The same errors of each target, in its own unit."""
    span = model.target_max - model.target_min
    of_pc, of_hw = (np.sqrt(np.mean((y - target) ** 2, axis=0)) * span for y in (pc, measured))
    worst = np.abs(measured - target).max(axis=0) * span
    # Bounds are behind the predictions.
    differences = apart[:, : len(span)].max(axis=0) * span
    return {
        name: {
            "pc": float(of_pc[j]),
            "hw": float(of_hw[j]),
            "max_hw": float(worst[j]),
            "max_difference": float(differences[j]),
            "r2_hw": _r2(measured[:, j], target[:, j]),
        }
        for j, name in enumerate(model.targets)
    }


def _bounds(
    model: Model, evaluation: Evaluation, pc: NDArray[np.float64], measured: NDArray[np.float64]
) -> dict[str, Any]:
    """Coverage and mean width of the intervals of a model with bounds, by target."""
    low, high = model.target_min, model.target_max
    on_pc, on_hw = (
        covered(from_unit(one, low, high), evaluation.targets) for one in (pc, measured)
    )
    found = zip(
        model.targets, on_pc.coverage, on_hw.coverage, on_pc.width, on_hw.width, strict=False
    )
    return {
        "interval": {
            "level": model.level,
            "targets": {
                name: {
                    "coverage_pc": float(a),
                    "coverage_hw": float(b),
                    "width_pc": float(c),
                    "width_hw": float(d),
                }
                for name, a, b, c, d in found
            },
        }
    }


def _r2(found: NDArray[np.float64], target: NDArray[np.float64]) -> float | None:
    variance = np.mean((target - target.mean(axis=0)) ** 2)
    return float(1 - np.mean((found - target) ** 2) / variance) if variance > 0 else None


def _ratio(hardware: float, pc: float) -> float | None:
    return hardware / pc if pc > 0 else None
