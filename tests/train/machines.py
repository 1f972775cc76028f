"""Random machines of every kind, for tests of what is done with machines."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from scm_model import Layer, Model
from scm_train.encode.encoders import fit_encoder
from scm_train.mechanisms import Polynomial, Table, as_mechanism

MECHANISMS = ("none", "external", "polynomial", "table")


def plant(X: NDArray) -> NDArray:
    """A mechanism of two targets on raw inputs."""
    return np.stack([X[:, 0] ** 2 - X[:, 1], np.sin(X[:, 1])], axis=1)


def physics(X: NDArray) -> NDArray:
    """A mechanism of one target on four raw inputs."""
    return X[:, 0] ** 2 - 0.5 * X[:, 3]


def by_columns(width: NDArray, speed: NDArray) -> NDArray:
    """A mechanism of two targets that names its features."""
    return np.stack([speed**2, width], axis=1)


def inputs(n: int = 200, d: int = 3, seed: int = 0) -> NDArray[np.float64]:
    return np.random.default_rng(seed).normal(size=(n, d))


def machine(
    encoder: str = "thermometer:7",
    input_bits: int | None = 8,
    layers: tuple[int, ...] = (5, 3),
    activation: str = "sign",
    weights: str = "binary",
    masked: bool = False,
    mechanism: str = "none",
    classes: tuple | None = None,
    seed: int = 0,
    **more: Any,
) -> Model:
    """A machine of three features and two outputs (or as many as classes)."""
    rng = np.random.default_rng(seed)
    X, m = inputs(seed=seed), 2 if classes is None else len(classes)
    low, high = X.min(axis=0), X.max(axis=0)
    target_min, target_max = np.zeros(m), np.full(m, 1.0 if classes else 4.0)
    fitted = fit_encoder(encoder, (X - low) / (high - low), input_bits=input_bits)
    spec = {
        "none": None,
        "external": plant,
        "polynomial": Polynomial.approximating(plant, degree=2, inputs=[0, 1]),
        "table": Table(plant, inputs=[0, 1], points=[9, 17]),
    }[mechanism]
    return Model(
        task="regression" if classes is None else "classification",
        algorithm="SCM",
        encoder=fitted,
        layers=_layers(rng, fitted.width, layers, activation, weights, masked),
        readout=rng.normal(size=(sum(layers), m)),
        linear=rng.normal(size=(3, m)),
        intercept=rng.normal(size=m),
        input_min=low,
        input_max=high,
        target_min=target_min,
        target_max=target_max,
        features=("pressure", "speed", "heat"),
        targets=tuple(f"y{i}" for i in range(m)),
        mechanism=as_mechanism(spec).bind(X, low, high, target_min, target_max, fitted),
        classes=classes,
        **more,
    )


def _layers(
    rng: np.random.Generator,
    width: int,
    sizes: tuple[int, ...],
    activation: str,
    weights: str,
    masked: bool,
) -> tuple[Layer, ...]:
    layers, groups = [], 3
    for nodes in sizes:
        if weights == "binary":
            drawn: NDArray = rng.choice(np.array([-1, 1], dtype=np.int8), (nodes, width))
        else:
            drawn = rng.uniform(-1, 1, (nodes, width))
        mask = None
        if masked:
            mask = rng.random((nodes, groups)) < 0.5
            mask[:, 0] = True
        lambdas, biases = rng.choice([0.5, 5.0], nodes), rng.uniform(-2, 2, nodes)
        layers.append(Layer(drawn, lambdas, biases, activation, mask))
        width = groups = nodes
    return tuple(layers)
