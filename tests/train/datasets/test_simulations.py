"""Simulated plants: their shape, their physics, and that there is something in them to learn."""

from __future__ import annotations

import pickle
from dataclasses import replace
from time import process_time

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from scm_train import datasets
from scm_train.datasets import Dataset, rolling_theory, speed_servo, strip_mill
from scm_train.datasets.plate_mill import NominalRollingForce, PlateMill
from scm_train.datasets.speed_servo import ServoParameters, simulate_servo
from scm_train.datasets.strip_mill import StripMill


def held_out_rmse(dataset: Dataset, estimator: object, target: np.ndarray | None = None) -> float:
    """On the held-out rows, as a share of the range of the data set's own target."""
    y = dataset.y if target is None else target
    n = dataset.train_rows
    estimator.fit(dataset.X[:n], y[:n])
    error = estimator.predict(dataset.X[n:]) - y[n:]
    return float(np.sqrt(np.mean(error**2)) / np.ptp(dataset.y))


@pytest.fixture(scope="module")
def servo() -> Dataset:
    return datasets.load("servo_sim")


@pytest.fixture(scope="module")
def thickness() -> Dataset:
    return datasets.load("rolling_thickness_sim")


@pytest.fixture(scope="module")
def force() -> Dataset:
    return datasets.load("rolling_force_sim")


class TestServo:
    def test_shape_is_that_of_the_papers_subset(self, servo: Dataset) -> None:
        assert servo.X.shape == (11_424, 11)
        assert (servo.train_rows, len(servo.y) - servo.train_rows) == (8568, 2856)
        assert servo.feature_names[:4] == (
            "speed_k2",
            "motor_current_k2",
            "controller_current_k2",
            "speed_k1",
        )
        pairs = np.unique(servo.X[:, -2:], axis=0, return_counts=True)
        assert len(pairs[0]) == 14
        assert set(pairs[1]) == {816}
        assert set(servo.X[:, -1]) == set(range(1, 8))

    def test_full_grid_has_the_papers_counts(self) -> None:
        rows = 816 * speed_servo.CONFIGURATIONS
        assert rows == 6_860_112
        assert round(speed_servo.TRAIN_SHARE * rows) == 5_145_084
        speed, stiffness = speed_servo._configurations(
            ServoParameters(), speed_servo.CONFIGURATIONS
        )
        assert len(set(zip(speed, stiffness, strict=True))) == 8407

    def test_full_grid_is_made_fast_enough(self) -> None:
        # A twentieth of the samples of every configuration: the whole takes twenty times as long.
        speed, stiffness = speed_servo._configurations(
            ServoParameters(), speed_servo.CONFIGURATIONS
        )
        start = process_time()
        simulate_servo(speed, stiffness, samples=41, dtype=np.float32)
        assert 20 * (process_time() - start) < 110.0

    def test_fewer_configurations(self) -> None:
        few = datasets.load("servo_sim_full", configurations=4, dtype=np.float32)
        assert (few.X.shape, few.train_rows) == ((4 * 816, 11), 3 * 816)
        assert few.X.dtype == np.float32

    def test_rows_are_successive_samples_and_the_target_is_one_ahead(self) -> None:
        speed, stiffness = speed_servo._configurations(ServoParameters(), 3)
        runs = simulate_servo(speed, stiffness, speed_servo.SAMPLES_PER_RUN + speed_servo.LEAD)
        X, y = speed_servo._rows(runs, np.arange(3 * 816), np.float64)
        run, k = 1, 50
        row = 816 * run + k
        for instant in range(3):
            expected = [getattr(runs, s)[k + instant, run] for s in speed_servo.SIGNALS]
            np.testing.assert_array_equal(X[row, 3 * instant : 3 * instant + 3], expected)
        np.testing.assert_array_equal(X[row, 9:], [speed[run], stiffness[run]])
        ahead = runs.motor_current[k + 3, run] - runs.controller_current[k + 3, run]
        assert y[row] == ahead

    def test_motor_follows_its_reference_both_ways(self) -> None:
        runs = simulate_servo(np.array([100.0]), np.array([7]), 400)
        hold_forward, hold_backward = runs.speed[60:140, 0], runs.speed[260:340, 0]
        assert hold_forward.mean() == pytest.approx(100.0, rel=0.02)
        assert hold_backward.mean() == pytest.approx(-100.0, rel=0.02)

    def test_stiffness_stiffens(self) -> None:
        runs = simulate_servo(np.full(2, 100.0), np.array([1, 7]), 400)
        wobble = runs.speed[60:140].std(axis=0)
        assert wobble[1] < 0.7 * wobble[0]

    def test_steady_current_is_the_friction_and_load(self) -> None:
        quiet = ServoParameters(cogging=0.0, eccentricity=0.0, dead_time_voltage=0.0)
        runs = simulate_servo(np.array([100.0]), np.array([7]), 140, quiet)
        torque = quiet.viscous * 100.0 + quiet.coulomb + quiet.load_torque
        current = runs.motor_current[90:140].mean()
        assert current == pytest.approx(torque / quiet.torque_constant, rel=0.03)

    def test_currents_saturate(self) -> None:
        weak = ServoParameters(current_limit=3.0)
        runs = simulate_servo(np.array([250.0]), np.array([7]), 300, weak)
        assert np.abs(runs.controller_current).max() == 3.0
        assert runs.speed[50, 0] < 0.8 * 250.0  # the reference is there by now

    def test_voltage_limit_opens_a_current_error_at_high_speed(self) -> None:
        speed, stiffness = np.full(14, 258.0), np.repeat(np.arange(1, 8), 2)
        errors = []
        for limit in (ServoParameters().voltage_limit, 200.0):
            runs = simulate_servo(speed, stiffness, 300, ServoParameters(voltage_limit=limit))
            errors.append(np.abs(runs.motor_current - runs.controller_current)[10:].max())
        assert errors[0] > 1.5 * errors[1]

    def test_sensors_are_quantised(self, servo: Dataset) -> None:
        steps = servo.X[:, 1] / ServoParameters().current_step
        np.testing.assert_allclose(steps, np.rint(steps), atol=1e-9)

    def test_learnable_but_not_linear(self, servo: Dataset) -> None:
        linear = held_out_rmse(servo, LinearRegression())
        boosted = held_out_rmse(servo, HistGradientBoostingRegressor(max_iter=300, random_state=0))
        assert 0.02 < linear < 0.06
        assert boosted < 0.55 * linear


class TestRollingTheory:
    def test_sims_and_orowan_agree_where_both_hold(self) -> None:
        exit = np.array([100.0, 20.0, 5.0])
        entry = exit / (1.0 - np.array([0.05, 0.2, 0.3]))
        radius = np.full(3, 550.0)
        np.testing.assert_allclose(
            rolling_theory.sims_factor(radius, entry, exit),
            rolling_theory.orowan_pascoe_factor(radius, entry, exit),
            rtol=0.02,
        )

    def test_flow_stress_of_pure_iron_by_hand(self) -> None:
        celsius = np.array([1000.0])
        stress = rolling_theory.misaka_flow_stress(0.0, celsius, 1.0, 1.0)
        # exp(0.126 + 2851 / 1273.15) is 10.646 kgf/mm2.
        np.testing.assert_allclose(stress, 10.646 * 9.80665, rtol=1e-3)
        harder = rolling_theory.misaka_flow_stress(0.0, celsius, 2.0, 3.0)
        np.testing.assert_allclose(harder / stress, 2.0**0.21 * 3.0**0.13)

    def test_flattening_settles_and_adds_force(self) -> None:
        args = (np.array([150.0]), np.array([1000.0]), 350.0, np.array([2.5]), np.array([2.0]))
        rigid, *rounds = (
            rolling_theory.rolling_force(*args, flattening_rounds=n)[0] for n in (0, 4, 8)
        )
        assert rounds[0] > 1.02 * rigid
        assert rounds[0] == pytest.approx(rounds[1], rel=1e-3)


class TestRollingThickness:
    def test_shape_is_that_of_the_paper(self, thickness: Dataset) -> None:
        assert thickness.X.shape == (3163, 36)
        assert (thickness.train_rows, len(thickness.y) - thickness.train_rows) == (2863, 300)

    def test_strips_come_out_near_their_twelve_targets(self, thickness: Dataset) -> None:
        targets = np.array(strip_mill.TARGET_THICKNESSES)
        off = np.abs(thickness.y[:, None] - targets)
        assert len(targets) == len(set(off.argmin(axis=1))) == 12
        assert off.min(axis=1).max() < 0.16

    def test_every_stand_obeys_the_gauge_meter(self) -> None:
        mill, rng = StripMill(), np.random.default_rng(0)
        strips = strip_mill._strips(mill, 200, rng)
        plan = strip_mill._schedule(mill, strips)[:, 1:]
        speed = (strips.exit_speed * strips.target)[:, None] / plan
        gap = plan - 0.5
        force, exit = strip_mill._tandem(mill, strips, gap, speed)
        for stand in range(8):
            stretch = strip_mill._stretch(mill, strips, force[:, stand])
            np.testing.assert_allclose(exit[:, stand], gap[:, stand] + stretch, atol=1e-6)

    def test_wear_grows_over_a_campaign_and_starts_anew(self) -> None:
        mill, rng = StripMill(campaign=50), np.random.default_rng(0)
        strips = strip_mill._strips(mill, 120, rng)
        force = np.full((120, 8), 1e4)
        wear = strip_mill._computed_wear(mill, strips, force)
        assert (wear[[0, 50, 100]] == 0).all()
        assert (np.diff(wear[:50], axis=0) > 0).all()

    def test_mass_flow_holds_through_the_mill(self, thickness: Dataset) -> None:
        column = thickness.feature_names.index
        speeds = thickness.X[:, column("speed_1") : column("speed_8") + 1]
        assert (np.diff(speeds, axis=1) > 0).all()

    def test_nonlinear_beyond_a_linear_model(self, thickness: Dataset) -> None:
        linear = held_out_rmse(thickness, LinearRegression())
        quadratic = make_pipeline(StandardScaler(), PolynomialFeatures(2), LinearRegression())
        assert 0.002 < linear < 0.01
        assert held_out_rmse(thickness, quadratic) < 0.5 * linear


class TestRollingForce:
    def test_shape(self, force: Dataset) -> None:
        assert force.X.shape == (6000, 14)
        assert isinstance(force.mechanism, NominalRollingForce)

    def test_mechanism_is_useful_but_biased(self, force: Dataset) -> None:
        nominal = force.mechanism(force.X)
        assert nominal.shape == force.y.shape
        assert np.corrcoef(nominal, force.y)[0, 1] > 0.85
        assert np.mean(force.y - nominal) > 0.05 * np.ptp(force.y)

    def test_mechanism_survives_pickling(self, force: Dataset) -> None:
        copy = pickle.loads(pickle.dumps(force.mechanism))
        np.testing.assert_array_equal(copy(force.X), force.mechanism(force.X))

    def test_plant_answers_to_what_the_mechanism_does_not_know(self, force: Dataset) -> None:
        base = force.X[force.X[:, -1] == 0][:50]
        mill, names = PlateMill(), force.feature_names
        before = mill.force(base)
        for name, value in (("Nb", 0.06), ("Mn", 2.5), ("pvpc_depth", 4.0)):
            changed = base.copy()
            changed[:, names.index(name)] = value
            changed[:, -1] = 0.3
            assert (mill.force(changed) > before).all(), name
            np.testing.assert_array_equal(force.mechanism(changed), force.mechanism(base))

    def test_nominal_parameters_are_not_the_plants(self, force: Dataset) -> None:
        as_nominal = replace(PlateMill(), surface_loss=0.0, edge_loss=0.0, retained=0.0)
        assert (as_nominal.force(force.X) < PlateMill().force(force.X)).mean() > 0.99

    def test_mechanism_makes_learning_easier(self, force: Dataset) -> None:
        model = HistGradientBoostingRegressor(random_state=0)
        alone = held_out_rmse(force, model)
        with_mechanism = held_out_rmse(force, model, force.y - force.mechanism(force.X))
        assert with_mechanism < 0.6 * alone
        assert alone < 0.06
