"""PC against hardware on the evaluation rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from scm_hw.load import Evaluation, FixedPoint, Model, classes_of, normalised_results, rmse


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

    `built` is the model in the units of the hardware, `model` the one on the PC.
    """
    if model.is_classifier:
        right_pc = classes_of(pc) == evaluation.targets
        right_hw = hardware[:, 0] == evaluation.targets
        return {
            "accuracy_pc": float(right_pc.mean()),
            "accuracy_hw": float(right_hw.mean()),
            "rows": len(evaluation),
        }
    span = model.target_max - model.target_min
    target = (evaluation.targets - model.target_min) / span
    measured = normalised_results(model, built, fixed, hardware)
    wrong, apart = np.abs(measured - target), np.abs(measured - pc)
    return {
        "rmse_pc": rmse(pc, target),
        "rmse_hw": rmse(measured, target),
        "rmse_ratio": _ratio(rmse(measured, target), rmse(pc, target)),
        "max_error_hw": float(wrong.max()),
        "max_difference": float(apart.max()),
        "r2_hw": _r2(measured, target),
        "rmse_units": {
            name: {
                "pc": float(a),
                "hw": float(b),
                "max_hw": float(c),
                "max_difference": float(f),
                "r2_hw": _r2(d, e),
            }
            for name, a, b, c, d, e, f in zip(
                model.targets,
                np.sqrt(np.mean((pc - target) ** 2, axis=0)) * span,
                np.sqrt(np.mean((measured - target) ** 2, axis=0)) * span,
                wrong.max(axis=0) * span,
                measured.T,
                target.T,
                apart.max(axis=0) * span,
                strict=True,
            )
        },
        "rows": len(evaluation),
    }


def _r2(found: NDArray[np.float64], target: NDArray[np.float64]) -> float | None:
    variance = np.mean((target - target.mean(axis=0)) ** 2)
    return float(1 - np.mean((found - target) ** 2) / variance) if variance > 0 else None


def _ratio(hardware: float, pc: float) -> float | None:
    return hardware / pc if pc > 0 else None
