from __future__ import annotations

import numpy as np
import pytest

from scm_train.encode.encoders import fit_encoder
from scm_train.encode.rows import ScaledRows
from scm_train.search.candidates import CandidateDraw
from scm_train.search.draw_ahead import Draws
from scm_train.search.layer_inputs import first_inputs

ROWS = 150


def inputs(encoder: str, features: int = 4):
    x = np.random.default_rng(0).random((ROWS, features))
    bits = None if encoder == "none" else 8
    fitted = fit_encoder(encoder, x, input_bits=bits)
    return first_inputs(ScaledRows(x, np.zeros(features), np.ones(features), fitted))


@pytest.mark.parametrize("encoder", ["thermometer:7", "gray:3", "none"])
@pytest.mark.parametrize(
    "parameters",
    [{}, {"weights": "real"}, {"inputs_per_node": (1, 2), "sign_pattern": 0.5}],
)
def test_draws_ahead_are_those_made_one_at_a_time(encoder: str, parameters: dict) -> None:
    draw = CandidateDraw(**parameters)
    first, second = inputs(encoder), inputs(encoder, features=3)
    rng = np.random.default_rng(3)
    draws = Draws(draw, np.random.default_rng(3))
    # Some draws ahead are dropped on the way to other inputs, and to other numbers of candidates.
    for layer, count in [(first, 9)] * 13 + [(second, 9)] * 4 + [(first, 5)] * 6 + [(first, 9)]:
        wanted = draw(rng, layer, ROWS, count)
        found = draws(layer, ROWS, count)
        np.testing.assert_array_equal(found.weights, wanted.weights)
        np.testing.assert_array_equal(found.biases, wanted.biases)
        assert (found.mask is None) == (wanted.mask is None)
        if wanted.mask is not None:
            np.testing.assert_array_equal(found.mask, wanted.mask)


def test_tables_of_a_draw_fire_as_its_weights_do() -> None:
    layer = inputs("thermometer:15")
    bits = layer.take(np.arange(ROWS))
    draws = Draws(CandidateDraw(), np.random.default_rng(4))
    for _ in range(20):
        batch = draws(layer, ROWS, 11)
        sums = bits @ batch.weights.T.astype(float)
        limits = np.random.default_rng(5).integers(-70, 70, 11)
        np.testing.assert_array_equal(
            batch.tables.fires(limits)(slice(20, 140)), sums[20:140] >= limits
        )
