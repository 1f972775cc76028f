"""Small data files, and `fit` as a user runs it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from scm_train import model_file
from scm_train.__main__ import main

FAST = ("--max-nodes", "6", "--candidates", "10")


def plant_csv(path="plant.csv", n=160, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 3, (n, 3))
    y = X[:, 0] ** 2 + X[:, 1] + 0.01 * rng.normal(size=n)
    np.savetxt(
        path, np.column_stack([X, y]), delimiter=",", header="speed,load,heat,force", comments=""
    )
    return path


def labels_csv(path="labels.csv", n=150, names=("low", "mid", "high")):
    rng = np.random.default_rng(1)
    X = rng.uniform(0, 3, (n, 2))
    lines = [f"{a},{b},{names[int(a)]}" for a, b in X]
    Path(path).write_text("a,b,grade\n" + "\n".join(lines) + "\n")
    return path


def fitted(*flags, data=None, target="force"):
    """Run fit, and load what it wrote."""
    code = main(["fit", data or plant_csv(), "--target", target, "--out", "m.npz", *FAST, *flags])
    assert code == 0
    return model_file.load("m.npz")
