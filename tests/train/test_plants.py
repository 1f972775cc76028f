"""Plants that machines of records start from: how they are fitted, chosen and made machines."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from scm_model import Memory, Tap
from scm_train import SCMRegressor, SequenceRegressor
from scm_train.sequences.free_run import FreeRun, fit_free_run
from scm_train.sequences.identify import Structure, fitted_plant
from scm_train.sequences.plant import Plant, Scale, plant_machine, terms_of
from scm_train.sequences.plant_start import Choice
from scm_train.sequences.records import Records, folds

MEMORY = Memory(("u",), (Tap(0, 0), Tap(0, 1), Tap(1, 1), Tap(1, 2)), np.zeros(2))


def duffing(rows: int, reach: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A spring that gets stiffer further out, driven by steps of noise."""
    rng = np.random.default_rng(seed)
    u = reach * np.repeat(rng.uniform(-1, 1, rows // 4), 4)
    y = np.zeros(rows)
    for k in range(2, rows):
        y[k] = 0.2 * u[k - 1] + 1.2 * y[k - 1] - 0.6 * y[k - 2] - 0.3 * y[k - 1] ** 3
    return u[:, None], y


def of_records(X: np.ndarray, y: np.ndarray) -> Records:
    return Records.ahead(X, y[:, None], np.arange(len(X)) % 400 == 0, 0)


def rmse(model: SequenceRegressor, X: np.ndarray, y: np.ndarray) -> float:
    found = model.predict(X, outputs=y, simulate=True)
    return float(np.sqrt(np.mean((found - y)[2:] ** 2)))


def learned(**how: object) -> SequenceRegressor:
    X, y = duffing(1600, 1.0, 0)
    learner = SCMRegressor(luts=300, random_state=0)
    told = {"lags": "x0:0..1", "feedback": "y:1..2", "rounds": 0} | how
    return SequenceRegressor(learner, **told).fit(X, y)


def test_a_plant_goes_on_beyond_the_range_of_training() -> None:
    model, without = learned(), learned(plant=False)
    assert model.machine_.info["settings"]["plant"]["polynomial"] == [[1, 1]]
    X, y = duffing(800, 1.4, 1)
    assert np.abs(y).max() > 1.2 * np.abs(duffing(1600, 1.0, 0)[1]).max()
    assert rmse(model, X, y) < 0.02 * y.std()
    assert rmse(without, X, y) > 0.05 * y.std()
    # Bounded by the range that it was given, whatever it is driven by.
    wild = model.predict(100 * X)
    assert wild.min() >= model.machine_.target_min[0]
    assert wild.max() <= model.machine_.target_max[0]


def test_outputs_that_end_with_their_range_are_held_there() -> None:
    rng = np.random.default_rng(0)
    u = np.repeat(rng.uniform(0, 1, 300), 6)
    y = np.zeros(len(u))
    for k in range(1, len(u)):
        y[k] = min(0.9 * y[k - 1] + 0.2 * u[k], 1.0)
    learner = SCMRegressor(luts=200, random_state=0)
    model = SequenceRegressor(learner, lags="x0:0", feedback="y:1", rounds=0).fit(u[:, None], y)
    assert model.machine_.info["settings"]["plant"]["margin"] == 0.0
    assert model.machine_.target_max[0] == 1.0


def test_a_steep_function_of_differences_gets_the_bits_it_needs() -> None:
    rng = np.random.default_rng(0)
    speed = np.cumsum(rng.normal(0, 1e-4, 1500))
    place = np.cumsum(speed - 0.01 * speed.mean())
    y = 1e3 * (place[2:] - 2 * place[1:-1] + place[:-2])
    model = SequenceRegressor(SCMRegressor(luts=300, random_state=0), lags="x0:0..2")
    model.fit(place[2:, None], y)
    machine = model.machine_
    assert machine.input_bits > 12
    rows = model.predict(place[2:, None])[2:] - y[2:]
    assert np.sqrt(np.mean(rows**2)) < 0.1 * y.std()


def test_the_free_run_is_fitted_where_one_step_is_misled_by_noise() -> None:
    X, y = duffing(1600, 0.4, 0)
    noisy = y + np.random.default_rng(1).normal(0, 0.15 * y.std(), len(y))
    records = of_records(X, noisy)
    scale = Scale(np.r_[X.min(), noisy.min()], np.r_[X.max(), noisy.max()], 1, 0.5)
    ahead = fitted_plant(Structure((2,), scale), records, MEMORY)
    runs = FreeRun(records, MEMORY, scale)
    free = fit_free_run(ahead, runs, 10)
    assert runs.rmse(free) < 0.8 * runs.rmse(ahead)
    # The noise is all that is left.
    assert_allclose(runs.rmse(free) / scale.scaled(noisy, slice(1, None)).std(), 0.15, rtol=0.2)


@pytest.mark.parametrize("places", [(), (2,), (0, 2)])
def test_the_machine_of_a_plant_answers_as_the_plant_does(places: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    weights = rng.normal(0, 0.1, (5 + len(terms_of(places)), 1))
    plant = Plant(4, places, weights)
    scale = Scale(np.array([-1.0, 2.0]), np.array([3.0, 4.0]), 1, 0.25)
    taps = np.column_stack([rng.uniform(-2, 4, (50, 2)), rng.uniform(1.5, 4.5, (50, 2))])
    machine = plant_machine(plant, MEMORY, scale, ("y",), 20)
    z = np.column_stack([scale.scaled(taps[:, [i]], [tap.source]) for i, tap in
                         enumerate(MEMORY.taps)])  # fmt: skip
    wanted = 2.0 + (plant.values(z) + 1.0)
    # The table is of straight lines between points of the polynomial.
    assert_allclose(machine.static.predict(taps), wanted, atol=0.02 if places else 1e-4)
    if places:
        other = replace(
            plant, weights=weights * np.r_[np.ones(5), -np.ones(len(plant.terms))][:, None]
        )
        machine = plant_machine(other, MEMORY, scale, ("y",), 20)
        assert np.abs(machine.static.predict(taps) - wanted).max() > 0.1


def test_an_unstable_plant_is_held_within_the_range_of_training() -> None:
    X, y = duffing(1600, 1.0, 0)
    records = of_records(X, y)
    scale = Scale(np.r_[X.min(), y.min()], np.r_[X.max(), y.max()], 1, 0.5)
    good = fitted_plant(Structure((2,), scale), records, MEMORY)
    runs = FreeRun(records, MEMORY, scale).amplified(0.25)
    assert runs.share_at_bound(good) == 0.0
    runaway = replace(good, weights=good.weights * np.r_[1, 1, 1, 1.4, 1, 0, 0][:, None])
    assert runs.share_at_bound(runaway) > 0.05


def test_several_parts_of_the_records_choose() -> None:
    X, y = duffing(1600, 1.0, 0)
    parts = folds(Records.ahead(X, y[:, None], np.arange(1600) == 0, 0), gap=3)
    assert len(parts) == 3
    ends = [held.signals[0, 0] for _, held in parts]
    assert len(set(ends)) == 3
    for learn, held in parts:
        # The gap is left out on either side that there is.
        assert 1600 - 6 <= len(learn) + len(held) <= 1600 - 3
    records = of_records(X, y)
    assert all(held.first.sum() == 1 for _, held in folds(replace(records), gap=3)) is False


def test_nodes_join_where_the_plant_leaves_something() -> None:
    X, _ = duffing(1600, 1.0, 0)
    y = 0.5 * X[:, 0] + 0.3 * np.sign(np.sin(7 * X[:, 0]))
    memory = Memory(("u",), (Tap(0, 0), Tap(0, 1)), np.zeros(2))
    records = Records.ahead(X, y[:, None], np.arange(1600) == 0, 0)
    choice = Choice(records, memory, SCMRegressor(luts=300, random_state=0), ("y",), 0, 0.0)
    parts = folds(records, 3)[-1]
    nodes, behind, alone = choice.candidates(parts)
    assert behind.error < 0.5 * alone.error
    assert nodes.machine.mechanism.kind == "none"
    plant = choice.plant(parts)
    assert behind.machine.mechanism.kind == plant.mechanism.kind
    # One machine of both: without nodes it is the plant, up to what is left on average.
    machine = behind.machine
    bare = replace(machine, readout=0 * machine.readout, linear=plant.linear)
    apart = bare.predict(X[:100]) - plant.predict(X[:100])
    assert_allclose(apart, np.broadcast_to(apart[0], apart.shape), atol=1e-12)
