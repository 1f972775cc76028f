"""Functions of the paper that are sampled: R-DB7 and R-DB8."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scm_train.datasets.dataset import Dataset

__all__ = ["load_rastrigin", "load_tyukin", "rastrigin", "tyukin"]

TYUKIN_ROWS = 1000
RASTRIGIN_TRAIN, RASTRIGIN_TEST = 40_000, 4489
RASTRIGIN_EDGE = 5.12


def tyukin(x: NDArray) -> NDArray:
    """Three bumps of very different width on [0, 1]."""
    # The paper's formula of R-DB7, after Tyukin and Prokhorov.
    return (
        0.2 * np.exp(-((10 * x - 4) ** 2))
        + 0.5 * np.exp(-((90 * x - 40) ** 2))
        + 0.3 * np.exp(-((80 * x - 20) ** 2))
    )


def rastrigin(X: NDArray, amplitude: float = 10.0) -> NDArray:
    """`A n + sum (x_i^2 - A cos 2 pi x_i)`, 0 at the origin; (n, d) to (n,)."""
    return amplitude * X.shape[1] + (X**2 - amplitude * np.cos(2 * np.pi * X)).sum(axis=1)


def load_tyukin(seed: int) -> Dataset:
    x = np.random.default_rng(seed).uniform(0.0, 1.0, TYUKIN_ROWS)
    return Dataset(
        name="tyukin",
        X=x[:, None],
        y=tyukin(x),
        feature_names=("x",),
        target_names=("f",),
        task="regression",
        description="R-DB7: three bumps of different width, uniform points in [0, 1]",
    )


def load_rastrigin(seed: int) -> Dataset:
    rows = RASTRIGIN_TRAIN + RASTRIGIN_TEST
    X = np.random.default_rng(seed).uniform(-RASTRIGIN_EDGE, RASTRIGIN_EDGE, (rows, 2))
    return Dataset(
        name="rastrigin",
        X=X,
        y=rastrigin(X),
        feature_names=("x1", "x2"),
        target_names=("f",),
        task="regression",
        description="R-DB8: Rastrigin's function of two inputs, uniform points in its box",
        train_rows=RASTRIGIN_TRAIN,
    )
