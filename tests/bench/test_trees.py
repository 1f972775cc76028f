"""Boosted trees in gates: NumPy's integers, the Verilog's and the estimate's."""

import itertools

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_friedman1

from bench.trees import Boosting, Codes, boost, estimate, estimates, quantise, simulate, to_verilog
from bench.trees.cost import _function
from bench.trees.netlist import Branch, added, lay_out
from bench.trees.search import Candidate, Grid, Part, _candidates, best_under, score
from bench.trees.verilog import NAME, _at_least
from scm_hw.tools.synthesis import synthesise

ROWS, BITS = 300, 6


def rows_for(kind):
    if kind == "regression":
        return make_friedman1(ROWS, 5, random_state=0)
    return make_classification(
        ROWS, 8, n_informative=6, n_redundant=0, n_classes=int(kind), random_state=0
    )


def task_of(kind):
    return "regression" if kind == "regression" else "classification"


def trained(kind, depth=3, rounds=6):
    X, y = rows_for(kind)
    codes = Codes.fitted(X, BITS)(X)
    return codes, y, boost(codes, y, task_of(kind), Boosting(depth, 0.3, BITS), rounds, 0)


@pytest.mark.parametrize("kind", ["regression", "2", "4"])
@pytest.mark.parametrize("leaf_bits", [1, 4])
def test_the_verilog_gives_numpys_integers(kind, leaf_bits):
    codes, _, boosted = trained(kind)
    model = quantise(boosted, 6, leaf_bits)
    rng = np.random.default_rng(1)
    rows = np.concatenate([codes, rng.integers(0, 1 << BITS, codes.shape)])
    np.testing.assert_array_equal(
        simulate(to_verilog(model), model, rows), model.outputs_of(rows), strict=True
    )


@pytest.mark.parametrize("kind", ["regression", "2", "4"])
def test_a_wrong_gate_is_seen(kind):
    codes, _, boosted = trained(kind)
    model = quantise(boosted, 6, 4)
    verilog = to_verilog(model)
    swapped = verilog.replace("wire k0 = ", "wire k0 = !", 1)
    assert swapped != verilog
    assert not np.array_equal(simulate(swapped, model, codes), model.outputs_of(codes))


@pytest.mark.parametrize("kind", ["regression", "2", "4"])
def test_many_leaf_bits_give_the_models_own_predictions(kind):
    codes, y, boosted = trained(kind, rounds=20)
    model = quantise(boosted, 20, 20)
    # The trees themselves, with real leaves.
    sums = boosted.bias + sum(
        np.stack([t.value[leaf] for t, leaf in zip(trees, leaves, strict=True)], axis=1)
        for trees, leaves in zip(boosted.rounds, boosted.leaves(codes), strict=True)
    )
    predicted = model.real(model.outputs_of(codes))
    if kind == "regression":
        np.testing.assert_allclose(predicted, sums[:, 0], atol=1e-3 * np.ptp(y))
    else:
        expected = sums.argmax(axis=1) if kind == "4" else (sums[:, 0] >= 0).astype(int)
        np.testing.assert_array_equal(predicted, boosted.classes[expected])


def test_fewer_rounds_are_the_first_ones():
    codes, _, boosted = trained("2")
    leaves = boosted.leaves(codes)
    model = quantise(boosted, 4, 4)
    np.testing.assert_array_equal(model.decide(model.sums(leaves)), model.outputs_of(codes))


def test_leaves_are_unsigned_and_use_their_bits():
    _, _, boosted = trained("4")
    values = np.concatenate([v for row in quantise(boosted, 6, 3).values for v in row])
    assert values.min() == 0
    assert values.max() == 7


def test_codes_are_scaled_to_the_training_range_and_clipped():
    codes = Codes.fitted(np.array([[0.0, 5.0], [2.0, 5.0]]), 2)
    found = codes(np.array([[-1.0, 5.0], [0.9, 4.0], [1.1, 6.0], [9.0, 5.0]]))
    np.testing.assert_array_equal(found, [[0, 0], [1, 0], [2, 3], [3, 0]])


@pytest.mark.parametrize("threshold", range(-1, 18))
def test_a_comparison_is_a_chain_of_gates(threshold):
    text = _at_least([f"x{bit}" for bit in range(4)], threshold).replace("1'd", "")
    for code in range(16):
        bits = {f"x{bit}": code >> bit & 1 for bit in range(4)}
        assert bool(eval(text, {}, bits)) == (code >= threshold)


def test_comparisons_are_shared_and_equal_sides_need_none():
    _, _, boosted = trained("2", rounds=30)
    fine, coarse = (lay_out(quantise(boosted, 30, bits)) for bits in (8, 1))
    assert len(set(fine.keys)) == len(fine.keys)
    assert len(coarse.keys) < len(fine.keys)


def test_sums_are_made_of_the_least_two():
    adders, total = added([(3, "a"), (15, "b"), (1, "c")], "s")
    assert [(a.left, a.right) for a in adders] == [((3, "a"), (1, "c")), ((15, "b"), (4, "s0"))]
    assert total == (19, "s1")
    assert added([]) == ([], (0, "1'd0"))


@pytest.mark.parametrize(
    ("node", "luts"),
    [
        (0, 0),
        (Branch(0, 1, 0), 0),
        (Branch(0, Branch(1, 1, 0), Branch(2, 1, 0)), 1),
        (Branch(0, *[Branch(9, Branch(1, 1, 0), Branch(2, 0, 1))] * 2), 2),
    ],
)
def test_a_function_of_up_to_six_inputs_is_one_lut(node, luts):
    assert _function(node)[0] == luts


def test_estimates_of_first_rounds_are_those_of_fewer_rounds():
    _, _, boosted = trained("regression")
    most = quantise(boosted, 6, 5)
    fewer = [estimate(quantise(boosted, count, 5)) for count in (2, 6)]
    assert estimates(most, [2, 6]) == fewer


def test_the_estimate_is_near_yosys():
    _, _, boosted = trained("4", rounds=5)
    model = quantise(boosted, 5, 3)
    found = synthesise({f"{NAME}.v": to_verilog(model)}, NAME)
    assert found.dsp == found.bram == 0
    assert 0.75 * found.lut < estimate(model) < 1.35 * found.lut


SMALL = Grid((2,), (0.3,), (4,), (2,), (3,), most_trees=12)


def parts(kind):
    X, y = rows_for(kind)
    return [Part(X[rows], y[rows]) for rows in (slice(0, 180), slice(180, 240), slice(240, 300))]


def test_the_best_under_a_budget_keeps_it_and_test_rows_have_no_say():
    train, validation, test = parts("2")
    wrong = Part(test.X, 1 - test.y)
    one, other = (
        best_under([5, 40], "classification", [(train, validation)], part, SMALL, 0)
        for part in (test, wrong)
    )
    assert one["budgets"]["5"] is None or one["budgets"]["5"]["lut"] <= 5
    chosen, same = one["budgets"]["40"], other["budgets"]["40"]
    assert chosen["lut"] <= 40
    assert chosen["checked_rows"] == 60
    assert chosen["test"] == pytest.approx(1 - same["test"])
    for key in ("rounds", "depth", "validation", "lut"):
        assert chosen[key] == same[key]


def test_scores():
    y = np.array([1.0, 3.0])
    assert score("regression", np.array([2.0, 4.0]), y) == 1.0
    assert score("classification", np.array(["a", "b"]), np.array(["a", "c"])) == 0.5


def test_candidates_are_all_combinations():
    train, validation, _ = parts("regression")
    grid = Grid((2, 3), (0.1, 0.3), (4,), (2,), (3, 4), most_trees=12)
    found = _candidates("regression", [(train, validation)], grid, 0)
    assert all(isinstance(c, Candidate) for c in found)
    assert {c.rounds for c in found} == set(grid.rounds(1))
    places = {(c.settings.depth, c.settings.rate, c.leaf_bits) for c in found}
    assert places == set(itertools.product((2, 3), (0.1, 0.3), (3, 4)))


def test_scores_of_several_validation_parts_are_averaged():
    train, validation, _ = parts("regression")
    pairs = [(train, validation), (validation, train)]
    one, other = (_candidates("regression", [pair], SMALL, 0) for pair in pairs)
    both = _candidates("regression", pairs, SMALL, 0)
    expected = [(a.score + b.score) / 2 for a, b in zip(one, other, strict=True)]
    np.testing.assert_allclose([c.score for c in both], expected)
    assert [c.estimate for c in both] == [c.estimate for c in one]
