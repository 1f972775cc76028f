"""The paper's settings (tables of section 4), by data set, as parameters of our learners."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scm_train import paper_settings

__all__ = ["ALGORITHMS", "NO_LINEAR", "SETTINGS", "STOPPED", "Setting", "parameters_of"]

#: The paper's names of the learners, and ours.
ALGORITHMS: Mapping[str, str] = {
    "SCN": "SCN",
    "DeepSCN": "DeepSCN",
    "SCM": "SCM",
    "IRVFL": "IRVFL",
    "DIRVFL-I": "DIRVFL1",
    "DIRVFL-II": "DIRVFL2",
}
SHALLOW = ("SCN", "IRVFL")
#: The learners with early stopping, for which alone the two protocols differ.
STOPPED = ("SCM", "DIRVFL-II")
L_STEP = 10
#: A LASSO factor under which no input is selected: the linear model is the mean of the targets.
NO_LINEAR = 1e9


@dataclass(frozen=True)
class Setting:
    """One data set in the paper's tables of settings.

    `shallow` and `deep` are L_max of a layer of SCN and IRVFL, and of DeepSCN and DIRVFL-I; SCM and
    DIRVFL-II have no limit. `t_max` has an entry for every layer of the deep learners, whose last
    is that of SCN too.
    """

    activation: str
    shallow: int
    deep: int
    t_max: tuple[int, ...]
    tau: float


def _steps(first: int, last: int, step: int = 100) -> tuple[int, ...]:
    return tuple(range(first, last + 1, step))


SETTINGS = {
    "R-DB1": Setting("sigmoid", 50, 25, (500, 700), 0.001),
    "R-DB2": Setting("tanh", 50, 20, _steps(500, 900), 0.001),
    "R-DB3": Setting("tanh", 50, 20, _steps(500, 900), 0.001),
    "R-DB4": Setting("sigmoid", 25, 20, _steps(500, 700), 0.005),
    "R-DB5": Setting("sigmoid", 30, 20, _steps(500, 700), 0.001),
    "R-DB6": Setting("sign", 50, 30, _steps(1000, 1200), 0.001),
    "R-DB7": Setting("tanh", 50, 50, (1000, 1100), 0.001),
    "R-DB8": Setting("tanh", 100, 50, _steps(100, 1000), 0.003),
    "C-DB1": Setting("tanh", 200, 100, _steps(400, 600), 0.004),
    "C-DB2": Setting("brelu", 150, 80, _steps(2000, 3000, 500), 0.003),
    "I-DB1": Setting("tanh", 150, 50, _steps(1000, 1200), 0.00001),
    "I-DB2": Setting("sigmoid", 40, 20, (30, 50), 0.01),
    "I-DB3": Setting("step", 120, 60, (1000, 1000, 1000), 0.00001),
}


def parameters_of(name: str, algorithm: str, weights: str = "binary") -> dict[str, Any]:
    """Parameters of the estimator for one line of the paper's settings.

    The paper does not give its LASSO factor; ours is the estimators' default.
    """
    setting = SETTINGS[name]
    parameters = paper_settings(activation=setting.activation, weights=weights)
    if algorithm in SHALLOW:
        return parameters | {"max_nodes": setting.shallow, "candidates": setting.t_max[-1]}
    parameters |= {"layers": len(setting.t_max), "candidates": list(setting.t_max)}
    if algorithm in STOPPED:
        return parameters | {
            "max_nodes": None,
            "stop_step": L_STEP,
            "stop_tolerance": setting.tau,
        }
    return parameters | {"max_nodes": setting.deep}
