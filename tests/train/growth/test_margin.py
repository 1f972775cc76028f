"""Thresholds in the middle of their gaps."""

from __future__ import annotations

import numpy as np
import pytest

from scm_model import Model
from scm_train import SCMRegressor
from scm_train.growth.margin import centred_bias, gap_of, joined

SETTINGS = {
    "max_nodes": 12,
    "layers": 1,
    "candidates": 20,
    "stop_step": 99,
    "ridge": 0.0,
    "encoder": "none",
    "inputs_per_node": (1, 2),
    "random_state": 0,
}


def problem(rows: int = 60) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.random((rows, 2))
    return x, np.sin(5 * x[:, 0]) + x[:, 1]


def fitted(**changes) -> SCMRegressor:
    return SCMRegressor(**(SETTINGS | changes)).fit(*problem())


def sums_of(machine: Model, x: np.ndarray) -> np.ndarray:
    """Sums (nodes, rows) of the first layer without the biases."""
    layer = machine.layers[0]
    h0 = machine.encoder.encode(machine.normalise(x), np.float64)
    return layer.effective_weights(machine.encoder.groups) @ h0.T


def middle(gap: tuple[float, float], otherwise: float) -> float:
    """Nodes that are the same on all rows have no gap."""
    return -sum(gap) / 2 if np.isfinite(gap).all() else otherwise


@pytest.mark.parametrize(
    ("activation", "bias", "gap"),
    [("sign", -2.0, (2.0, 3.0)), ("step", -2.0, (1.0, 2.0)), ("sign", 9.0, (-np.inf, 1.0))],
)
def test_the_gap_is_between_the_sums_that_fire_and_those_that_do_not(activation, bias, gap):
    assert gap_of(np.array([3.0, 1.0, 2.0, 5.0]), bias, activation) == gap


def test_the_gap_of_all_rows_is_the_narrowest():
    assert joined([(1.0, 7.0), (-np.inf, 4.0), (2.0, np.inf)]) == (2.0, 4.0)
    assert joined([]) == (-np.inf, np.inf)


@pytest.mark.parametrize("activation", ["sign", "step"])
def test_the_middle_of_a_gap(activation):
    assert centred_bias(-1.1, (1.0, 4.0), activation) == -2.5
    assert centred_bias(-1.1, (1.0, np.inf), activation) == -1.1
    assert centred_bias(-1.1, (-np.inf, 1.0), activation) == -1.1


def test_neighbouring_numbers_keep_their_threshold():
    below = 1.0
    above = np.nextafter(below, 2)
    assert centred_bias(-below, (below, above), "sign") == -below
    assert centred_bias(-above, (below, above), "step") == -above


@pytest.mark.parametrize("encoder", ["none", "thermometer:255", "gray:7"])
@pytest.mark.parametrize("activation", ["sign", "step"])
def test_every_threshold_is_halfway_and_rows_see_the_same_nodes(encoder, activation):
    changes = {"encoder": encoder, "activation": activation}
    centred = fitted(bias_range="middle", **changes, validation_fraction=0.0).machine_
    drawn = fitted(bias_range="data", **changes, validation_fraction=0.0).machine_
    x, _ = problem()
    np.testing.assert_array_equal(drawn.layers[0].weights, centred.layers[0].weights)
    np.testing.assert_array_equal(drawn.hidden_layers(x)[0], centred.hidden_layers(x)[0])
    np.testing.assert_allclose(drawn.readout, centred.readout, rtol=1e-9, atol=1e-12)
    both = zip(centred.layers[0].biases, drawn.layers[0].biases, strict=True)
    for sums, (bias, before) in zip(sums_of(centred, x), both, strict=True):
        assert bias == middle(gap_of(sums, bias, activation), otherwise=before)


def test_the_layers_after_the_first_are_centred_too():
    machine = fitted(bias_range="middle", layers=2, validation_fraction=0.0).machine_
    first, _ = machine.hidden_layers(problem()[0])
    second = machine.layers[1]
    for weights, bias in zip(second.effective_weights(), second.biases, strict=True):
        assert bias == middle(gap_of(first @ weights, bias, "sign"), otherwise=bias)


def test_smooth_nodes_stay_as_drawn():
    drawn, centred = (fitted(activation="tanh", bias_range=b) for b in ("data", "middle"))
    np.testing.assert_array_equal(
        drawn.machine_.layers[0].biases, centred.machine_.layers[0].biases
    )


def test_rows_between_two_others_are_told_apart_halfway():
    """A single step in one input: the threshold is that of a tree."""
    x = np.array([0.0, 0.1, 0.2, 0.3, 0.7, 0.8, 0.9, 1.0] * 3)[:, None]
    y = (x[:, 0] > 0.5).astype(float)
    model = SCMRegressor(
        **(SETTINGS | {"max_nodes": 1, "inputs_per_node": 1, "alpha": 1e9, "candidates": 100}),
        bias_range="middle",
        validation_fraction=0.0,
    ).fit(x, y)
    np.testing.assert_allclose(model.predict([[0.49], [0.51]]), [0.0, 1.0], atol=1e-9)


@pytest.mark.parametrize(
    ("changes", "same_as"),
    [
        ({}, "middle"),
        ({"activation": "step"}, "middle"),
        ({"layers": 2, "activation": ("sign", "step")}, "middle"),
        ({"encoder": "thermometer:31"}, "data"),
        ({"activation": "tanh"}, "paper"),
        ({"layers": 2, "activation": ("tanh", "sign")}, "paper"),
    ],
)
def test_the_default_is_the_middle_where_nodes_fire_on_inputs_as_they_are(changes, same_as):
    untold, told = (fitted(**changes, bias_range=b).machine_ for b in ("auto", same_as))
    np.testing.assert_array_equal(untold.layers[0].biases, told.layers[0].biases)
