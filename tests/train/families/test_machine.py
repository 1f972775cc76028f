"""Why a machine of families ends where it does."""

from __future__ import annotations

import numpy as np
import pytest

from scm_train.families.growth import FamilySettings
from scm_train.families.machine import FittedFamilies, Size, fit_families
from scm_train.families.problem import Problem


def fitted(size: Size, targets: str = "curved", unseen: float = 0.0) -> FittedFamilies:
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 4096, (400, 4))
    x = codes / 4096
    wanted = {"curved": np.sin(5 * x[:, 0]) * x[:, 1], "two levels": (x[:, 0] > 0.5) * 1.0}
    problem = Problem(codes, wanted[targets][:, None], np.ones(len(codes)), 0, 12, False)
    settings = FamilySettings.for_budget(size.luts, classifier=False)
    return fit_families(problem, size, settings, 0, linear=False, unseen=unseen)


@pytest.mark.parametrize("luts", [60.0, 150.0, 400.0])
def test_a_family_that_does_not_fit_ends_growth_for_the_budget(luts: float) -> None:
    machine = fitted(Size(luts))
    assert machine.families and machine.luts <= luts
    assert machine.stop == "budget"


def test_the_limit_of_families() -> None:
    machine = fitted(Size(2000.0, 3))
    assert len(machine.families) == 3 and machine.stop == "families"


def test_targets_of_which_nothing_is_left() -> None:
    machine = fitted(Size(3000.0), "two levels")
    assert machine.luts < 1000 and machine.stop == "no family"
