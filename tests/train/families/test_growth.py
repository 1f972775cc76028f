"""Machines of families, from estimators to the model they leave."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from scm_model import FamilyLayer, Layer, read_model, write_model
from scm_train import ParameterError, SCMClassifier, SCMRegressor, SCNRegressor
from scm_train.families.costs import SHARED, SUM_COMPARED, SUM_LUTS, Prices, threshold_luts
from scm_train.families.growth import FamilyGrowth, FamilySettings
from scm_train.families.problem import Problem
from scm_train.families.signals import Signal, make_pool


def rows(seed=0, count=400):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count, 4))
    return x, x[:, 0] * x[:, 1] + np.sin(2 * x[:, 2])


def classes(count, seed=0):
    x, y = rows(seed)
    return x, np.digitize(y, np.quantile(y, np.arange(1, count) / count))


def test_default_machine_learns_products():
    x, y = rows()
    more_x, more_y = rows(1)
    assert SCMRegressor(random_state=0).fit(x, y).score(more_x, more_y) > 0.8


@pytest.mark.parametrize("luts", [100, 400])
def test_budget_is_spent_and_not_exceeded_by_a_family(luts):
    x, y = rows()
    model = SCMRegressor(luts=luts, random_state=0).fit(x, y)
    families = len(model.machine_.families.supports)
    # A family takes at least its two bits and the addition.
    assert families <= luts / 4.8
    more = SCMRegressor(luts=2 * luts, random_state=0).fit(x, y)
    assert len(more.machine_.families.supports) >= families


def test_most_families_by_max_nodes():
    x, y = rows()
    model = SCMRegressor(luts=3000, max_nodes=7, random_state=0).fit(x, y)
    assert len(model.machine_.families.supports) <= 7


def test_equal_seeds_give_equal_machines():
    x, y = rows()
    one, two = (SCMRegressor(luts=200, random_state=3).fit(x, y) for _ in range(2))
    assert_array_equal(one.machine_.readout, two.machine_.readout)
    assert_array_equal(one.predict(x), two.predict(x))


@pytest.mark.parametrize("members", [1, 2])
@pytest.mark.parametrize("count", [2, 3])
def test_classifiers_are_saved_whole(tmp_path, members, count):
    x, y = classes(count)
    model = SCMClassifier(luts=300, members=members, random_state=0).fit(x, y)
    assert model.machine_.outputs == (1 if count == 2 else count)
    assert model.score(x, y) > 0.8
    model.save(tmp_path / "model.npz")
    again = SCMClassifier.load(tmp_path / "model.npz")
    assert_array_equal(again.predict(x), model.predict(x))
    shares = again.predict_proba(x)
    assert shares.shape == (len(x), count)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert_array_equal(shares.argmax(axis=1), np.searchsorted(model.classes_, model.predict(x)))


def test_several_targets():
    x, y = rows()
    model = SCMRegressor(luts=800, random_state=0).fit(x, np.column_stack([y, -y + x[:, 3]]))
    assert model.score(x, np.column_stack([y, -y + x[:, 3]])) > 0.7


def test_families_are_and_nodes(tmp_path):
    """A layer of families says in short what step nodes with masks say at length."""
    x, y = rows(count=200)
    machine = SCMRegressor(luts=120, random_state=0).fit(x, y).machine_
    first, families = machine.layers
    nodes = families.nodes
    weights, mask = np.full((nodes, first.nodes), -1, np.int8), np.zeros((nodes, first.nodes), bool)
    biases = np.empty(nodes)
    node = 0
    for support in families.supports:
        seen = support[support >= 0]
        for cell in range(1 << len(seen)):
            weights[node, seen] = [1 if cell >> k & 1 else -1 for k in range(len(seen))]
            mask[node, seen], biases[node] = True, -len(seen)
            node += 1
    long = Layer(weights, np.ones(nodes), biases, "step", mask)
    from dataclasses import replace

    spelled = replace(machine, layers=(first, long))
    np.testing.assert_allclose(spelled.decision(x), machine.decision(x), rtol=0, atol=1e-12)
    write_model(spelled, tmp_path / "long.npz")
    write_model(machine, tmp_path / "short.npz")
    assert isinstance(read_model(tmp_path / "short.npz").layers[1], FamilyLayer)


def test_linear_targets_get_a_linear_part():
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(500, 5))
    y = 3 * x[:, 0] - 2 * x[:, 1]
    model = SCMRegressor(luts=400, random_state=0).fit(x, y)
    assert np.flatnonzero(model.machine_.linear[:, 0]).tolist() == [0, 1]
    assert model.score(x, y) > 0.99


def test_grown_by_nodes_where_nodes_are_asked_for():
    x, y = rows()
    assert SCMRegressor(max_nodes=5, random_state=0).fit(x, y).machine_.families is None
    assert SCMRegressor(growth="nodes", random_state=0).fit(x, y).machine_.families is None
    assert SCNRegressor(max_nodes=5).fit(x, y).machine_.families is None


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"luts": 10}, "luts must be a number of at least 50 or None, not 10"),
        ({"growth": "trees"}, "growth must be 'auto', 'families' or 'nodes', not 'trees'"),
        ({"members": 3}, "members must be one of (1, 2, 4, 8, 16), not 3"),
        ({"luts": 500, "growth": "nodes"}, "luts must be left out for growth='nodes'"),
        ({"luts": 500, "activation": "tanh"}, "luts must be left out beside activation"),
        ({"growth": "families", "input_bits": None}, "growth must be 'nodes' for inputs that"),
    ],
)
def test_parameters_that_contradict_each_other(wrong, words):
    x, y = rows()
    with pytest.raises(ParameterError, match="^" + words.replace("(", r"\(").replace(")", r"\)")):
        SCMRegressor(**wrong).fit(x, y)


def test_other_learners_have_no_budget():
    x, y = rows()
    with pytest.raises(ParameterError, match="growth must be 'nodes' for SCN, not 'families'"):
        SCNRegressor(luts=500).fit(x, y)


def test_threshold_costs_by_the_bits_above_its_zeros():
    found = threshold_luts(np.array([2048, 1024, 64, 32, 2, 1]), 12)
    assert found == pytest.approx(SHARED * np.array([0, 1, 1, 2, 2, 3]))


def test_rows_count_what_they_weigh():
    x, y = rows(count=600)
    two = np.concatenate([y[:300], -y[300:]])
    weights = np.repeat([1.0, 0.0], 300)
    model = SCMRegressor(luts=300, random_state=0).fit(x, two, sample_weight=weights)
    assert model.score(x[300:], y[300:]) > 0.6
    with pytest.raises(ParameterError, match="weights of rows and classes must be left out"):
        SCMRegressor(growth="nodes").fit(x, two, sample_weight=weights)


def test_balanced_classes_find_the_rare_one():
    x, y = rows(count=800)
    rare = y > np.quantile(y, 0.95)
    found = [
        SCMClassifier(luts=50, class_weight=weight, random_state=0).fit(x, rare).predict(x)[rare]
        for weight in (None, "balanced")
    ]
    assert found[1].mean() > max(0.9, found[0].mean())
    with pytest.raises(ParameterError, match="class_weight must be None for targets"):
        SCMRegressor(class_weight="balanced").fit(x, y)


@pytest.mark.parametrize("luts", [50, 300])
@pytest.mark.parametrize("count", [0, 2, 3])
def test_no_family_takes_more_than_is_left(luts, count):
    x, y = classes(count) if count else rows()
    kind = SCMClassifier if count else SCMRegressor
    assert kind(luts=luts, random_state=0).fit(x, y).history_.growth.luts <= luts


def growth_of(settings, pairs=()):
    codes = np.random.default_rng(0).integers(0, 256, size=(400, 3))
    codes[:, 2] //= 64
    pool = make_pool(codes, pairs, 63)
    problem = Problem(codes, codes[:, :1] / 256.0, np.ones(400), 0, 8)
    prices = Prices(pool, 8, 0.0)
    family_rows = problem.family_rows(pool, np.zeros((3, 1)), np.zeros(1))
    rng = np.random.default_rng(0)
    return FamilyGrowth(pool, family_rows, 1, settings, prices, rng)


def test_a_sum_is_compared_at_a_higher_price_than_a_code():
    growth = growth_of(FamilySettings(), [Signal((0, 1), (1, 1))])
    built = 8 + SUM_LUTS
    wanted = SUM_COMPARED * threshold_luts(growth.pool.thresholds[3], 9) + built
    assert growth.prices.new[3, : len(wanted)] == pytest.approx(wanted)
    alone = threshold_luts(growth.pool.thresholds[0], 8)
    assert growth.prices.new[0, : len(alone)] == pytest.approx(alone)


def test_price_of_a_family_is_what_the_total_grows_by():
    """A sum of two features is built once, whether one family or two ask for it."""
    growth = growth_of(FamilySettings(), [Signal((0, 1), (1, 1))])
    prices, before = growth.prices, growth.prices.total
    signals, thresholds = np.array([3, 3, 0]), np.array([4, 9, 7])
    expected = prices.of(signals, thresholds, 4)
    apart = prices.new[signals, thresholds].sum()
    assert expected == pytest.approx(4 + prices.overhead + apart - 11)
    prices.add(signals, thresholds, 4)
    assert prices.total - before == pytest.approx(expected)
    assert prices.of(signals, thresholds, 4) == 4 + prices.overhead


def test_single_features_are_drawn_beside_any_number_of_pairs():
    pairs = [Signal(p, (1, s)) for p in ((0, 1), (0, 2), (1, 2)) for s in (1, -1)]
    growth = growth_of(FamilySettings(signals=5), pairs)
    for _ in range(20):
        drawn = growth._draw_signals()
        assert drawn[:3].tolist() == [0, 1, 2] and len(drawn) == 6


def test_some_thresholds_are_drawn_and_few_are_all_drawn():
    growth = growth_of(FamilySettings(drawn_thresholds=8))
    drawn = np.mean([np.isfinite(growth._draw_thresholds(np.arange(3))) for _ in range(100)], 0)
    counts = growth.pool.counts
    assert counts[0] == 63 and counts[2] == 3
    assert drawn[0].sum() == pytest.approx(8, abs=1) and drawn[0].min() > 0
    assert drawn[2, :3].min() == 1


def test_supports_have_a_random_number_of_bits():
    growth = growth_of(FamilySettings(fewest_bits=2))
    assert {growth._draw_bits() for _ in range(100)} == {2, 3, 4, 5}
    assert growth_of(FamilySettings())._draw_bits() == 5
