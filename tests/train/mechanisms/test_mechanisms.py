from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from scm_train.encode.encoders import fit_encoder
from scm_train.errors import DataError, ParameterError
from scm_train.mechanisms import (
    External,
    NoMechanism,
    Polynomial,
    Table,
    as_mechanism,
    interpolate,
)
from scm_train.mechanisms.fuzzy import FuzzySystem, Rule, Triangle
from tests.train.machines import inputs, plant

X = inputs(400)
LOW, HIGH = X.min(axis=0), X.max(axis=0)
X_NORM = (X - LOW) / (HIGH - LOW)
TARGET_MIN, TARGET_MAX = np.array([-2.0, -1.0]), np.array([6.0, 1.0])


def bind(spec, low=LOW, high=HIGH, input_bits=None):
    encoder = fit_encoder("none", X_NORM, input_bits=input_bits)
    return as_mechanism(spec).bind(X, low, high, TARGET_MIN, TARGET_MAX, encoder)


def values(mechanism, rows=X):
    x = (rows - LOW) / (HIGH - LOW)
    return mechanism.values(rows, x, TARGET_MIN, TARGET_MAX)


def normalised(p0):
    return (p0 - TARGET_MIN) / (TARGET_MAX - TARGET_MIN)


def test_none_adds_nothing():
    assert as_mechanism(None) == as_mechanism(NoMechanism())
    assert isinstance(as_mechanism(None).bind_to(None), NoMechanism)
    assert_array_equal(values(bind(None)), np.zeros((400, 2)))


def test_a_callable_is_external_and_its_range_has_a_margin():
    mechanism = bind(plant)
    assert mechanism.kind == "external"
    expected = normalised(plant(X))
    assert_array_equal(values(mechanism), expected)
    span = expected.max(axis=0) - expected.min(axis=0)
    assert_allclose(mechanism.range[0], expected.min(axis=0) - span / 4)
    assert_allclose(mechanism.range[1], expected.max(axis=0) + span / 4)


def test_a_constant_external_mechanism_has_a_range():
    mechanism = bind(External(lambda rows: np.ones((len(rows), 2))))
    assert (mechanism.range[0] < mechanism.range[1]).all()


def test_an_explicit_polynomial_is_in_raw_units():
    spec = Polynomial({(2, 0, 1): (3.0, 0.5), (0, 1, 0): -1.0, (0, 0, 0): 0.25})
    mechanism = bind(spec)
    raw = X[:, 0, None] ** 2 * X[:, 2, None] * np.array([3.0, 0.5]) - X[:, 1, None] + 0.25
    assert mechanism.worst_error is None
    assert mechanism.exponents.dtype == np.uint8
    assert_allclose(values(mechanism), normalised(raw), rtol=0, atol=1e-11)


def test_a_polynomial_of_chosen_inputs():
    mechanism = bind(Polynomial({(3,): 1.0}, inputs=(1,)))
    assert_allclose(
        values(mechanism), normalised(X[:, 1, None] ** 3 + np.zeros(2)), rtol=0, atol=1e-11
    )
    assert not mechanism.exponents[:, [0, 2]].any()


def test_a_polynomial_on_a_constant_feature():
    high = np.array([*HIGH[:2], LOW[2]])
    mechanism = bind(Polynomial({(1, 0, 2): 1.0}), high=high)
    x = np.array([[0.5, 0.5, 0.0]])
    p0 = (LOW[0] + HIGH[0]) / 2 * LOW[2] ** 2
    found = mechanism.values(X[:1], x, TARGET_MIN, TARGET_MAX)
    assert_allclose(found, normalised(np.array([[p0, p0]])), atol=1e-12)


def test_an_approximating_polynomial_reports_its_worst_error():
    exact = bind(Polynomial.approximating(lambda rows: np.stack([rows[:, 0] * rows[:, 1]] * 2, 1)))
    assert exact.worst_error < 1e-12
    rough = bind(Polynomial.approximating(plant, degree=3, inputs=[0, 1]))
    assert rough.worst_error == np.abs(values(rough) - normalised(plant(X))).max()
    assert len(rough.exponents) == 10
    better = bind(Polynomial.approximating(plant, degree=7, inputs=[0, 1]))
    assert 0 < better.worst_error < rough.worst_error / 10


def test_a_table_is_exact_at_its_points_and_reports_its_worst_error():
    mechanism = bind(Table(plant, inputs=[1, 0], points=[17, 9]))
    assert mechanism.grid.shape == (17, 9, 2)
    assert_array_equal(mechanism.inputs, [1, 0])
    corner = np.array([[LOW[0], HIGH[1], 0.0]])
    assert_allclose(values(mechanism, corner), normalised(plant(corner)), atol=1e-12)
    assert np.abs(values(mechanism) - normalised(plant(X))).max() <= mechanism.worst_error
    finer = bind(Table(plant, inputs=[1, 0], points=129))
    assert finer.worst_error < mechanism.worst_error / 20


def test_the_worst_error_of_a_table_sees_inputs_left_out():
    mechanism = bind(Table(lambda rows: np.stack([rows[:, 2]] * 2, 1), inputs=[0]))
    middle = (LOW[2] + HIGH[2]) / 2
    assert_allclose(mechanism.worst_error, np.abs(normalised(X[:, 2:]) - normalised(middle)).max())


def test_the_worst_error_of_a_table_sees_what_lies_between_training_rows():
    corners = np.stack([LOW, HIGH])
    encoder = fit_encoder("none", X_NORM, input_bits=None)
    mechanism = Table(lambda rows: np.stack([np.sin(40 * rows[:, 0])] * 2, 1), inputs=[0]).bind(
        corners, LOW, HIGH, TARGET_MIN, TARGET_MAX, encoder
    )
    assert mechanism.worst_error > 0.1


def test_the_worst_error_of_a_table_includes_quantisation():
    coarse = bind(Table(plant, inputs=[0, 1], points=9), input_bits=3)
    fine = bind(Table(plant, inputs=[0, 1], points=9), input_bits=16)
    assert coarse.worst_error > fine.worst_error


@pytest.mark.parametrize("t", [1, 2, 3])
def test_interpolation_is_multilinear_and_holds_at_the_ends(t):
    rng = np.random.default_rng(t)
    corners = rng.normal(size=(2,) * t)

    def blend(x):
        value = corners
        for c in x:
            value = value[0] * (1 - c) + value[1] * c
        return value

    axes = np.stack(np.meshgrid(*[np.linspace(0, 1, 5)] * t, indexing="ij"), axis=-1)
    grid = np.apply_along_axis(blend, -1, axes)[..., None]
    x = rng.uniform(-0.3, 1.3, (50, t))
    expected = [blend(row) for row in np.clip(x, 0, 1)]
    assert_allclose(interpolate(grid, x)[:, 0], expected, rtol=0, atol=1e-12)


def test_a_fuzzy_system_blends_its_rules():
    cold, hot = Triangle(0, 0, 10), Triangle(0, 10, 10)
    system = FuzzySystem([Rule({0: cold}, [1.0, 0.0]), Rule({0: hot}, [0.0, 2.0], {1: [1.0, 0.0]})])
    rows = np.array([[-5.0, 3.0], [0.0, 3.0], [2.5, 3.0], [10.0, 3.0], [12.0, 3.0]])
    assert_allclose(system(rows), [[1, 0], [1, 0], [1.5, 0.5], [3, 2], [3, 2]])


def test_a_fuzzy_system_where_no_rule_applies_takes_the_mean():
    system = FuzzySystem([Rule({0: Triangle(0, 1, 2)}, 1.0), Rule({0: Triangle(1, 2, 3)}, 3.0)])
    assert_allclose(system(np.array([[9.0]])), [[2.0]])


def test_a_fuzzy_system_enters_as_a_table():
    low, high = Triangle(-3, -3, 3), Triangle(-3, 3, 3)
    system = FuzzySystem([Rule({0: low}, [0.0, 0.0]), Rule({0: high}, [4.0, 1.0])])
    mechanism = bind(Table(system, inputs=[0]))
    assert mechanism.worst_error < 0.01
    assert np.abs(values(mechanism) - normalised(system(X))).max() <= mechanism.worst_error


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (Table(plant, inputs=[0, 1, 2, 0]), "distinct feature numbers from 0 to 2"),
        (Table(plant, inputs=[5]), "distinct feature numbers from 0 to 2"),
        (Table(plant, inputs=[]), "distinct feature numbers"),
        (Table(plant, inputs=[0], points=32), "points of a table must be one or 1 of 3, 5, 9"),
        (Table(plant, inputs=[0, 1], points=[33]), "one or 2 of"),
        (Table(plant, inputs=[0, 1, 2], points=257), "at most 1048576 in all"),
        (Polynomial({}), "at least one, not none"),
        (Polynomial({(1,): 1.0}), "must be 3 whole numbers"),
        (Polynomial({(1, 0, -1): 1.0}), "must be 3 whole numbers"),
        (Polynomial({(1, 0, 0): [1.0, 2.0, 3.0]}), "one or one per target"),
        (Polynomial({(1, 0, 0): np.nan}), "coefficients of a polynomial must be finite"),
        ("physics", "mechanism must be None, a callable"),
    ],
)
def test_refused_specifications(spec, message):
    with pytest.raises(ParameterError, match=message):
        bind(spec)


def test_a_table_of_four_inputs_is_refused():
    rows = np.zeros((5, 4))
    encoder = fit_encoder("none", rows, input_bits=None)
    with pytest.raises(ParameterError, match="at most 3, not 4"):
        Table(plant, [0, 1, 2, 3]).bind(
            rows, np.zeros(4), np.ones(4), TARGET_MIN, TARGET_MAX, encoder
        )


def test_a_table_is_no_finer_than_the_codes():
    with pytest.raises(ParameterError, match="one or 1 of 3, 5, 9, not 33"):
        bind(Table(plant, inputs=[0]), input_bits=3)


@pytest.mark.parametrize("degree", [0, 17, 2.5])
def test_refused_degrees(degree):
    with pytest.raises(ParameterError, match="from 1 to 16"):
        Polynomial.approximating(plant, degree=degree)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda rows: rows[:, 0], r"of shape \(400, 2\), not \(400,\)"),
        (lambda rows: np.full((len(rows), 2), np.nan), "must be finite, not"),
    ],
)
def test_mechanisms_that_misbehave(function, message):
    with pytest.raises(DataError, match=message):
        bind(function)


def test_refused_fuzzy_parts():
    with pytest.raises(ParameterError, match="corners of a triangle must be in order"):
        Triangle(2, 1, 3)
    with pytest.raises(ParameterError, match="at least one"):
        FuzzySystem([])
