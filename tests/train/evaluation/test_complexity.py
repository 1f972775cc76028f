"""Model complexity against functions whose extrema and variation are known."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest

from scm_train.errors import ParameterError
from scm_train.evaluation.complexity import LayerSum, complexity_of_layers, model_complexity


def layer(rng: np.random.Generator, nodes: int, inputs: int, activation: str) -> SimpleNamespace:
    return SimpleNamespace(
        weights=rng.choice([-1.0, 1.0], (nodes, inputs)),
        mask=None,
        lambdas=rng.choice([0.5, 1.0, 5.0], nodes),
        biases=rng.uniform(-1, 1, nodes),
        activation=activation,
    )


def cosines(scale: float) -> tuple[Callable, Callable]:
    """The product of cos(scale * x_i) over all inputs, and its gradient."""

    def function(X: np.ndarray) -> np.ndarray:
        return np.cos(scale * X).prod(axis=1)

    def gradient(X: np.ndarray) -> np.ndarray:
        columns = []
        for i in range(X.shape[1]):
            others = np.delete(X, i, axis=1)
            columns.append(-scale * np.sin(scale * X[:, i]) * np.cos(scale * others).prod(axis=1))
        return np.column_stack(columns)

    return function, gradient


@pytest.mark.parametrize("periods", [1, 3, 10])
def test_sine_has_two_extrema_and_variation_four_per_period(periods: int) -> None:
    found = model_complexity(lambda X: np.sin(X[:, 0]), np.cos, [[0, 2 * np.pi * periods]])
    assert found.extrema == 2 * periods
    assert found.variation == pytest.approx(4 * periods, rel=1e-5)
    assert found.value == pytest.approx(8 * periods**2, rel=1e-5)


def test_parabola() -> None:
    found = model_complexity(lambda X: X[:, 0] ** 2, lambda X: 2 * X, [[-1, 1]])
    assert (found.extrema, found.method) == (1, "grid")
    assert found.value == pytest.approx(2.0, rel=1e-6)


def test_monotone_function_has_no_complexity() -> None:
    found = model_complexity(lambda X: X[:, 0] ** 3, lambda X: 3 * X**2, [[-1, 1]])
    assert found.extrema == 0
    assert found.variation == pytest.approx(2.0, rel=1e-6)


@pytest.mark.parametrize("points", [None, 100, 101])
def test_cosines_in_two_dimensions(points: int | None) -> None:
    # One extremum of [0, 2 pi]^2 is inside, (pi, pi); the others are on the border.
    # The integral of |sin x cos y| + |cos x sin y| is 2 * 4 * 4.
    # An even number of points puts the maximum between four equal grid points.
    function, gradient = cosines(1.0)
    found = model_complexity(function, gradient, [[0, 2 * np.pi]] * 2, points=points)
    assert found.extrema == 1
    assert found.variation == pytest.approx(32.0, rel=1e-2)


@pytest.mark.parametrize("points", [200, 201])
def test_cosine_extrema_are_counted_wherever_the_grid_falls(points: int) -> None:
    # cos 2x cos 2y has an extremum wherever x and y both are multiples of pi/2: 4 x 4 in this box.
    function, gradient = cosines(2.0)
    low, high = -0.1, 2 * np.pi - 0.1
    found = model_complexity(function, gradient, [[low, high]] * 2, points=points)
    assert found.extrema == 16


def test_terrace_is_no_extremum() -> None:
    def function(X: np.ndarray) -> np.ndarray:
        return np.clip(X[:, 0], -0.5, 0.0) + np.clip(X[:, 0], 0.5, 1.0)

    def gradient(X: np.ndarray) -> np.ndarray:
        x = X[:, 0]
        slope = ((x > -0.5) & (x < 0.0)) | (x > 0.5)
        return np.column_stack([slope, np.zeros(len(x))]).astype(float)

    found = model_complexity(function, gradient, [[-1.0, 1.0]] * 2, points=81)
    assert found.extrema == 0


def test_terrace_closed_in_by_a_slope_is_no_extremum_and_a_mesa_is_one() -> None:
    def terraced(X: np.ndarray) -> np.ndarray:
        radius = np.hypot(X[:, 0], X[:, 1])
        return np.where(radius < 0.3, 2.0, np.where(radius < 0.6, 1.0, 0.6 - radius))

    def flat(X: np.ndarray) -> np.ndarray:
        return np.zeros_like(X)

    assert model_complexity(terraced, flat, [[-1, 1]] * 2, points=61).extrema == 1


def test_three_dimensions() -> None:
    function, gradient = cosines(1.0)
    found = model_complexity(function, gradient, [[0.5, 2 * np.pi - 0.5]] * 3)
    assert found.extrema == 1


def test_sampling_agrees_with_the_grid() -> None:
    function, gradient = cosines(2.0)
    box = [[-0.1, 2 * np.pi - 0.1]] * 2
    grid = model_complexity(function, gradient, box)
    sampled = model_complexity(function, gradient, box, method="sampling")
    assert sampled.method == "sampling"
    assert sampled.extrema == grid.extrema == 16
    assert sampled.variation == pytest.approx(grid.variation, rel=5e-3)


def test_extrema_on_the_faces_do_not_count_in_sampling() -> None:
    function, gradient = cosines(1.0)
    found = model_complexity(function, gradient, [[0, 2 * np.pi]] * 2, method="sampling")
    assert found.extrema == 1


def test_many_dimensions_by_sampling() -> None:
    # The paraboloid: one minimum; the integral of sum |2 x_i| over [-1, 2]^6 is 6 * 5 * 3^5.
    found = model_complexity(lambda X: (X**2).sum(axis=1), lambda X: 2 * X, [[-1, 2]] * 6)
    assert (found.extrema, found.method) == (1, "sampling")
    assert found.variation == pytest.approx(6 * 5 * 3**5, rel=5e-3)


def test_sampling_sees_nothing_in_a_constant() -> None:
    found = model_complexity(
        lambda X: np.full(len(X), 3.0), np.zeros_like, [[0, 1]] * 2, method="sampling"
    )
    assert (found.extrema, found.variation) == (0, 0.0)


@pytest.mark.parametrize("activation", ["sigmoid", "tanh", "brelu"])
def test_gradient_of_layers_is_the_derivative(activation: str) -> None:
    rng = np.random.default_rng(0)
    layers = [layer(rng, 7, 3, activation), layer(rng, 4, 7, activation)]
    layers[0].mask = rng.random((7, 3)) < 0.7
    machine = LayerSum(layers, rng.normal(size=11))
    X = rng.uniform(0, 1, (200, 3))
    step = 1e-6
    for i in range(3):
        shift = step * np.eye(3)[i]
        central = (machine(X + shift) - machine(X - shift)) / (2 * step)
        np.testing.assert_allclose(machine.gradient(X)[:, i], central, atol=1e-6)


def test_layers_compute_the_machine_of_the_model_file() -> None:
    one = SimpleNamespace(
        weights=np.array([[1.0, -1.0]]),
        mask=np.array([[True, False]]),
        lambdas=np.array([2.0]),
        biases=np.array([0.25]),
        activation="tanh",
    )
    got = LayerSum([one], [3.0])(np.array([[0.5, 9.0]]))
    np.testing.assert_allclose(got, 3.0 * np.tanh(2.0 * 0.75))


def test_bump_of_two_sigmoids() -> None:
    bump = SimpleNamespace(
        weights=np.array([[1.0], [1.0]]),
        mask=None,
        lambdas=np.array([60.0, 60.0]),
        biases=np.array([-0.3, -0.7]),
        activation="sigmoid",
    )
    found = complexity_of_layers([bump], [1.0, -1.0], [[0, 1]])
    assert found.extrema == 1
    assert found.value == pytest.approx(2.0, rel=1e-4)


@pytest.mark.parametrize("activation", ["sign", "step"])
def test_sign_and_step_are_refused(activation: str) -> None:
    rng = np.random.default_rng(0)
    layers = [layer(rng, 3, 2, "tanh"), layer(rng, 2, 3, activation)]
    message = (
        "^activation of layer 2 must be sigmoid, tanh or brelu for model complexity, "
        f"not '{activation}'; it has no gradient, so train a differentiable layer to compare$"
    )
    with pytest.raises(ParameterError, match=message):
        complexity_of_layers(layers, np.ones(5), [[0, 1]] * 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bounds": [[1, 0]]}, r"^bounds must be finite with lower below upper"),
        ({"bounds": [0, 1]}, r"^bounds must be rows of \(lower, upper\), not of shape \(2,\)"),
        ({"method": "exact"}, r"^method must be 'auto', 'grid' or 'sampling', not 'exact'"),
        ({"bounds": [[0, 1]] * 4, "method": "grid"}, r"^method must be 'sampling' for 4 inputs"),
        ({"points": 2}, r"^points must be at least 3, not 2"),
        ({"method": "sampling", "starts": 0}, r"^starts must be at least 1, not 0"),
    ],
)
def test_refusals(options: dict, message: str) -> None:
    arguments = {"bounds": [[0, 1]]} | options
    with pytest.raises(ParameterError, match=message):
        model_complexity(lambda X: X[:, 0], np.ones_like, **arguments)


def test_readout_of_wrong_length_is_refused() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(ParameterError, match=r"^readout must be one weight for each of 3 nodes"):
        complexity_of_layers([layer(rng, 3, 2, "tanh")], np.ones((3, 2)), [[0, 1]] * 2)
