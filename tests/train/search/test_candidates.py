from __future__ import annotations

import numpy as np
import pytest

from scm_train.encode.encoders import fit_encoder
from scm_train.encode.rows import ScaledRows
from scm_train.errors import ParameterError
from scm_train.search.candidates import CandidateDraw
from scm_train.search.layer_inputs import first_inputs

ROWS = 200


def inputs(encoder: str = "thermometer:7", power: int = 1, input_bits: int | None = None):
    x = np.random.default_rng(0).random((ROWS, 5)) ** power
    bits = input_bits if encoder == "none" else 8
    return first_inputs(
        ScaledRows(x, np.zeros(5), np.ones(5), fit_encoder(encoder, x, input_bits=bits))
    )


def drawn(count: int = 4000, encoder: str = "thermometer:7", **parameters):
    return CandidateDraw(**parameters)(np.random.default_rng(1), inputs(encoder), ROWS, count)


def test_binary_weights_are_signs_in_equal_shares() -> None:
    weights = drawn().weights
    assert weights.dtype == np.int8
    assert set(np.unique(weights)) == {-1, 1}
    assert abs(weights.mean()) < 0.02


def test_real_weights_fill_the_unit_interval() -> None:
    weights = drawn(weights="real").weights
    assert weights.dtype == np.float64
    assert -1 <= weights.min() < -0.99
    assert 0.99 < weights.max() <= 1


def test_same_generator_gives_the_same_draw() -> None:
    for first, second in zip(
        vars(drawn(50, inputs_per_node=2)).values(),
        vars(drawn(50, inputs_per_node=2)).values(),
        strict=True,
    ):
        np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("k", [1, 3, 5, 9])
def test_selective_candidates_see_k_groups_and_no_more(k: int) -> None:
    batch = drawn(inputs_per_node=k)
    groups = inputs().groups
    assert (batch.mask.sum(axis=1) == min(k, 5)).all()
    np.testing.assert_array_equal(batch.weights != 0, batch.mask[:, groups])
    np.testing.assert_allclose(batch.mask.mean(axis=0), min(k, 5) / 5, atol=0.03)


def test_each_layer_may_have_a_number_of_its_own() -> None:
    draw = CandidateDraw(inputs_per_node=[2, (1, 3), None])
    seen = []
    for number in range(4):
        batch = draw.of_layer(number)(np.random.default_rng(1), inputs(), ROWS, 300)
        seen.append(None if batch.mask is None else set(batch.mask.sum(axis=1)))
    assert seen == [{2}, {1, 3}, None, None]


@pytest.mark.parametrize(
    ("mixture", "shares"),
    [((1, 2, 4), {1: 1 / 3, 2: 1 / 3, 4: 1 / 3}), ({1: 3, 3: 1}, {1: 0.75, 3: 0.25})],
)
def test_mixtures_of_sizes_come_in_their_shares(mixture, shares: dict[int, float]) -> None:
    sizes = drawn(inputs_per_node=mixture).mask.sum(axis=1)
    assert set(sizes) == set(shares)
    for size, share in shares.items():
        assert abs((sizes == size).mean() - share) < 0.03


@pytest.mark.parametrize(("pattern", "share"), [("free", 0), ("monotone", 1), (0.5, 0.5)])
def test_share_of_monotone_candidates(pattern, share: float) -> None:
    weights = drawn(sign_pattern=pattern).weights.reshape(4000, 5, 7)
    monotone = (weights == weights[:, :, :1]).all(axis=(1, 2))
    assert abs(monotone.mean() - share) < 0.03


def test_automatic_bias_is_near_the_sum_of_some_row_and_never_ties() -> None:
    skewed = inputs(power=6)
    batch = CandidateDraw()(np.random.default_rng(1), skewed, ROWS, 500)
    sums = skewed.sums(batch.weights, batch.biases, np.float64)(slice(0, ROWS))
    assert (np.abs(sums).min(axis=0) < 1).all()
    assert np.abs(sums - np.round(sums)).min() > 0


@pytest.mark.parametrize("input_bits", [3, None])
def test_bias_by_the_data_is_next_to_the_sum_of_some_row(input_bits: int | None) -> None:
    plain = inputs(encoder="none", power=6, input_bits=input_bits)
    draw = CandidateDraw(inputs_per_node=2, bias_range="data")
    batch = draw(np.random.default_rng(1), plain, ROWS, 500)
    sums = plain.sums(batch.weights, batch.biases, np.float64)(slice(0, ROWS))
    step = 1 / 16 if input_bits else 2.0**-23
    assert (np.abs(sums).min(axis=0) < step).all()
    assert np.abs(sums).min() > 0
    fired = (sums > 0).mean(axis=0)
    assert (fired < 0.2).any() and (fired > 0.8).any()


@pytest.mark.parametrize(
    ("bias_range", "encoder", "low", "high"),
    [("paper", "thermometer:7", -1, 1), ("auto", "none", -1, 1), ((2, 5), "none", 2, 5)],
)
def test_bias_intervals(bias_range, encoder: str, low: float, high: float) -> None:
    biases = drawn(encoder=encoder, bias_range=bias_range).biases
    assert low <= biases.min() < low + 0.02 * (high - low)
    assert high - 0.02 * (high - low) < biases.max() <= high


def test_pick_is_one_candidate() -> None:
    batch = drawn(9, inputs_per_node=2)
    one = batch.pick(4)
    assert len(one) == 1
    np.testing.assert_array_equal(one.weights[0], batch.weights[4])
    np.testing.assert_array_equal(one.mask[0], batch.mask[4])
    assert one.biases[0] == batch.biases[4]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"weights": "ternary"}, "weights must be 'binary' or 'real', not 'ternary'"),
        ({"inputs_per_node": 0}, "inputs_per_node must be None, a positive whole number"),
        ({"inputs_per_node": ()}, "inputs_per_node must be None, a positive whole number"),
        ({"inputs_per_node": {2: -1}}, "inputs_per_node must be None, a positive whole number"),
        ({"sign_pattern": "wild"}, "sign_pattern must be 'free', 'monotone' or the share"),
        ({"sign_pattern": 1.5}, "sign_pattern must be 'free', 'monotone' or the share"),
        ({"bias_range": (1, 1)}, "bias_range must be 'auto', 'data', 'middle', 'paper' or a pair"),
        ({"bias_range": "wide"}, "bias_range must be 'auto', 'data', 'middle', 'paper' or a pair"),
    ],
)
def test_refuses(parameters, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        CandidateDraw(**parameters)
