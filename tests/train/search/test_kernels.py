from __future__ import annotations

import numpy as np
import pytest

from scm_train import SCNClassifier, SCNRegressor
from scm_train.encode.encoders import fit_encoder
from scm_train.encode.rows import ScaledRows
from scm_train.search.candidates import CandidateDraw
from scm_train.search.draw_ahead import Draws
from scm_train.search.kernels import _fired, _fired_dots, _outputs, loops
from scm_train.search.layer_inputs import LevelInputs


def test_numba_is_there() -> None:
    """Without it the tests below would compare NumPy with itself."""
    assert loops is not None


def test_tanh_is_as_good_as_float32_can_tell() -> None:
    z = np.concatenate([np.linspace(-12, 12, 100_001), 10.0 ** np.arange(-30, 31)])
    z = z.astype(np.float32)
    wanted = np.tanh(z.astype(np.float64))
    assert loops is not None
    loops.tanh(z)
    some = wanted != 0
    assert np.abs(z[some] / wanted[some] - 1).max() < 4e-7
    assert (z[~some] == 0).all()


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("rows", [1, 8, 64, 201, 206])
def test_compiled_and_plain_loop_agree(dtype: type, rows: int) -> None:
    rng = np.random.default_rng(rows)
    sizes, count = (1, 5, 40, 300), 13
    tables = tuple(rng.integers(0, 60, (size, 3 + count + 2)).astype(dtype) for size in sizes)
    levels = tuple(rng.integers(0, size, rows).astype(np.uint16) for size in sizes)
    needed = rng.integers(80, 160, count).astype(dtype)
    probes = rng.standard_normal((2, rows))
    found, wanted = np.zeros((2, 2, count))
    loops.fired_dots(tables, 3, levels, needed, probes, found)
    # A sum beyond the tables' type wraps around without a word.
    with np.errstate(over="ignore"):
        _fired_dots(tables, 3, levels, needed, probes, wanted)
    np.testing.assert_array_equal(found, wanted)
    fires, plain = np.zeros((2, rows, count), dtype=bool)
    loops.fired(tables, 3, levels, needed, fires)
    with np.errstate(over="ignore"):
        _fired(tables, 3, levels, needed, plain)
    np.testing.assert_array_equal(fires, plain)
    np.testing.assert_allclose(probes @ fires, found, rtol=0, atol=1e-12)
    outputs, wanted = np.zeros((2, rows))
    loops.outputs(tables, 5, levels, int(needed[2]), -1.0, outputs)
    with np.errstate(over="ignore"):
        _outputs(tables, 5, levels, int(needed[2]), -1.0, wanted)
    np.testing.assert_array_equal(outputs, wanted)
    np.testing.assert_array_equal(outputs, np.where(fires[:, 2], 1.0, -1.0))


@pytest.mark.parametrize("encoder", ["thermometer:31", "thermometer:9", "binary:5", "gray:4"])
def test_tables_of_matches(encoder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled, as a matrix product, and bit by bit; few rows, so that some levels never occur."""
    rng = np.random.default_rng(3)
    x = rng.random((70, 5)) ** 3
    fitted = fit_encoder(encoder, x, input_bits=10)
    inputs = LevelInputs(ScaledRows(x, np.zeros(5), np.ones(5), fitted))
    weights = rng.choice([-1, 1], (37, len(inputs.groups))).astype(np.int8)
    compiled = inputs.tables(weights)
    rows = np.arange(len(x))
    sums = [compiled.part(slice(k, k + 1)).sums_at(rows[:, None])[:, 0] for k in range(37)]
    np.testing.assert_array_equal(np.transpose(sums), fitted.encode(x, np.int64) @ weights.T)
    # Beyond the candidates their columns are of any content.
    tables = [table[:, :37].copy() for table in compiled.tables]
    monkeypatch.setattr("scm_train.search.kernels.loops", None)
    for found, wanted in zip(tables, inputs.tables(weights).tables, strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(("features", "bits"), [(1, 7), (3, 15), (4, 31), (4, 300)])
def test_sums_over_the_rows_that_fire(features: int, bits: int) -> None:
    rng = np.random.default_rng(features)
    x = rng.random((1500, features))
    encoder = fit_encoder(f"thermometer:{bits}", x, input_bits=12)
    inputs = LevelInputs(ScaledRows(x, np.zeros(features), np.ones(features), encoder))
    batch = Draws(CandidateDraw(), rng)(inputs, len(x), 21)
    limits = rng.integers(-bits, bits, 21)
    # Halves of whole numbers have exact sums in any order.
    probes = 0.5 * rng.integers(-9, 9, (2, 997))
    chunk = slice(300, 1297)
    found = batch.tables.dots(limits)(chunk, probes)
    np.testing.assert_array_equal(found, probes @ batch.tables.fires(limits)(chunk))


@pytest.mark.parametrize("activation", ["sign", "step"])
@pytest.mark.parametrize("estimator", [SCNRegressor, SCNClassifier])
def test_models_are_the_same_without_numba(
    monkeypatch: pytest.MonkeyPatch, estimator: type, activation: str
) -> None:
    rng = np.random.default_rng(7)
    x = rng.random((600, 4))
    y = np.sin(6 * x[:, 0]) + x[:, 1] * x[:, 2]
    if estimator is SCNClassifier:
        y = np.digitize(y, [0.2, 0.9])
    settings = {"max_nodes": 25, "candidates": 30, "activation": activation, "random_state": 1}
    settings |= {"criterion": "paper", "inputs_per_node": None, "sign_pattern": "free"}

    def fitted():
        machine = estimator(**settings).fit(x, y).machine_
        return machine.layers[0].weights, machine.layers[0].biases, machine.readout

    compiled = fitted()
    monkeypatch.setattr("scm_train.search.kernels.loops", None)
    for found, wanted in zip(fitted(), compiled, strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_more_tables_than_the_loop_takes_are_left_to_numpy() -> None:
    rng = np.random.default_rng(8)
    x = rng.random((400, 7))
    encoder = fit_encoder("thermometer:31", x, input_bits=10)
    inputs = LevelInputs(ScaledRows(x, np.zeros(7), np.ones(7), encoder))
    batch = Draws(CandidateDraw(), rng)(inputs, len(x), 5)
    assert len(batch.tables.tables) > 4
    assert batch.tables.dots(np.zeros(5, dtype=np.int64)) is None
