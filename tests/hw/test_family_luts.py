"""The trainer's estimate of LUTs, by which families keep a budget, against Yosys' count."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from scm_hw.boards import get
from scm_hw.design import CORE, Options, compile_model
from scm_hw.load import read_model
from scm_hw.tools.synthesis import synthesise
from scm_train import SCMClassifier, SCMRegressor

BUDGET = 300
OPTIONS = Options(multipliers="lut", tables="lut", fold="none")


def fitted(kind: str) -> SCMRegressor | SCMClassifier:
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(600, 5))
    y = np.sin(5 * x[:, 0]) * x[:, 1] + (x[:, 2] > 0.4) * x[:, 3] + 0.1 * rng.normal(size=600)
    if kind == "regression":
        return SCMRegressor(luts=BUDGET, random_state=0).fit(x, y)
    if kind == "heavy tails":
        return SCMClassifier(luts=BUDGET, random_state=0).fit(np.exp(14 * x), y > np.median(y))
    return SCMClassifier(luts=BUDGET, random_state=0).fit(
        x, np.digitize(y, np.quantile(y, (0.3, 0.7)))
    )


@pytest.mark.parametrize("kind", ["regression", "heavy tails", "three classes"])
def test_a_machine_keeps_its_budget_and_uses_it(tmp_path: Path, kind: str) -> None:
    model = fitted(kind)
    estimate = model.history_.growth.luts
    model.save(tmp_path / "model.npz")
    design = compile_model(read_model(tmp_path / "model.npz"), get("nexys-a7"), OPTIONS)
    found = synthesise({f"{CORE}.v": design.verilog}, CORE)
    luts = max(found.lut, found.lut_sites)
    # What is not used of a budget is accuracy that is given away.
    assert luts <= BUDGET
    assert luts > 0.7 * estimate
