from __future__ import annotations

import numpy as np
import pytest

from scm_train.encode.encoders import fit_encoder
from scm_train.encode.rows import ScaledRows
from scm_train.search.candidates import CandidateDraw
from scm_train.search.layer_inputs import (
    DirectInputs,
    LevelInputs,
    exact_in_float32,
    first_inputs,
)


def rows_of(x: np.ndarray, encoder: str, fitted_on: np.ndarray | None = None) -> ScaledRows:
    fitted = fit_encoder(encoder, x if fitted_on is None else fitted_on, input_bits=10)
    return ScaledRows(x, np.zeros(x.shape[1]), np.ones(x.shape[1]), fitted)


@pytest.mark.parametrize(
    "encoder", ["thermometer:63", "thermometer:31:quantile", "thermometer:5", "binary:4", "gray:3"]
)
@pytest.mark.parametrize("inputs_per_node", [None, 1, (1, 2, 6)])
@pytest.mark.parametrize("rows", [1, 7, 900])
def test_sums_by_levels_equal_sums_by_bits(encoder: str, inputs_per_node, rows: int) -> None:
    rng = np.random.default_rng(rows)
    x = rng.random((rows, 6))
    x[:, 2] = x[:, 2] > 0.5
    source = rows_of(x, encoder, rng.random((500, 6)))
    levels, direct = LevelInputs(source), DirectInputs(source)
    batch = CandidateDraw(inputs_per_node=inputs_per_node)(rng, direct, rows, 40)
    biases = rng.integers(-9, 9, 40)
    part = slice(rows // 3, rows)
    wanted = direct.take(np.arange(rows))[part] @ batch.weights.T.astype(float) + biases
    for inputs in (levels, direct):
        for dtype in (np.float32, np.float64):
            found = inputs.sums(batch.weights, biases, dtype)(part)
            np.testing.assert_array_equal(found, wanted)
        for limits in (-biases, biases - 400, biases + 400):
            found = inputs.fires(batch.weights, limits)(part)
            np.testing.assert_array_equal(found, wanted - biases >= limits)
    picked = rng.integers(rows, size=9)
    np.testing.assert_array_equal(levels.take(picked), direct.take(picked))


def test_features_that_go_together_share_a_block() -> None:
    rng = np.random.default_rng(3)
    x = rng.random((6000, 4))
    x[:, 2] = np.clip(x[:, 0] + 0.02 * rng.standard_normal(6000), 0, 1)
    inputs = LevelInputs(rows_of(x, "thermometer:40"))
    blocks = {tuple(sorted(block.numbers)): block.size for block, _ in inputs._blocks}
    assert (0, 2) in blocks
    assert blocks[0, 2] < 400
    assert sum(len(numbers) for numbers in blocks) == 4
    picked = rng.integers(6000, size=50)
    direct = DirectInputs(rows_of(x, "thermometer:40"))
    np.testing.assert_array_equal(inputs.take(picked), direct.take(picked))


def test_any_number_of_features_shares_a_table() -> None:
    """As of images, where hundreds of constant inputs have one level each."""
    rng = np.random.default_rng(0)
    x = np.where(np.arange(300) < 200, 0.0, rng.integers(0, 2, (50, 300)))
    source = rows_of(x, "thermometer:1")
    everything = np.arange(len(x))
    np.testing.assert_array_equal(
        first_inputs(source).take(everything), DirectInputs(source).take(everything)
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_inputs_too_large_to_keep_give_the_same_sums(
    monkeypatch: pytest.MonkeyPatch, dtype: type
) -> None:
    rng = np.random.default_rng(1)
    source = rows_of(rng.random((40, 3)), "none")
    weights, biases = rng.uniform(-1, 1, (5, 3)), rng.uniform(-1, 1, 5)
    kept = DirectInputs(source).sums(weights, biases, dtype)(slice(10, 30))
    monkeypatch.setattr("scm_train.search.layer_inputs.CACHE_ENTRIES", 0)
    np.testing.assert_array_equal(
        DirectInputs(source).sums(weights, biases, dtype)(slice(10, 30)), kept
    )


@pytest.mark.parametrize("seen", [1, 3, 200])
def test_sums_of_quantised_inputs_are_exact_in_single_precision(seen: int) -> None:
    rng = np.random.default_rng(seen)
    direct = DirectInputs(rows_of(rng.random((80, 200)), "none"))
    assert direct.unit == 2048
    batch = CandidateDraw(inputs_per_node=seen, bias_range="data")(rng, direct, 80, 30)
    assert exact_in_float32(direct, batch.weights)
    wanted = direct.take(np.arange(80)) @ batch.weights.T.astype(float)
    found = direct.sums(batch.weights, np.zeros(30), np.float32)(slice(0, 80))
    np.testing.assert_array_equal(found, wanted)
    limits = (wanted[rng.integers(80, size=30), np.arange(30)] * 2048).astype(np.int64)
    for nudge in (-1, 0, 1):
        fires = direct.fires(batch.weights, limits + nudge)(slice(9, 80))
        np.testing.assert_array_equal(fires, wanted[9:] * 2048 >= limits + nudge)


def test_sums_beyond_single_precision_are_not_taken_for_exact() -> None:
    wide = DirectInputs(rows_of(np.zeros((2, 5)), "none"))
    assert not exact_in_float32(wide, np.ones((1, 5)))
    assert exact_in_float32(wide, np.ones((1, 4095), dtype=np.int8))
    assert not exact_in_float32(wide, np.ones((1, 4096), dtype=np.int8))
    wide.unit = 0
    assert not exact_in_float32(wide, np.ones((1, 5), dtype=np.int8))
