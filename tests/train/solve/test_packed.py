from __future__ import annotations

import numpy as np
import pytest

from scm_train.chunks import ChunkMap
from scm_train.encode.encoders import fit_encoder
from scm_train.encode.rows import ScaledRows
from scm_train.search.candidates import CandidateDraw
from scm_train.search.layer_inputs import first_inputs
from scm_train.search.responses import Batch, packed_outputs
from scm_train.solve import packed

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("rows", [1, 63, 64, 65, 1000, 3001])
def test_words_hold_the_bits(rows: int) -> None:
    bits = RNG.random((5, rows)) < 0.3
    words = packed.pack(bits)
    assert words.shape == (5, packed.words_of(rows))
    np.testing.assert_array_equal(packed.unpack(words, rows), bits)
    assert words[2, -1] >> np.uint64((rows - 1) % 64) == bits[2, -1]


@pytest.mark.parametrize("rows", [1, 64, 1000, 3001])
def test_compiled_loops_and_references_agree(rows: int) -> None:
    first, second = (packed.pack(RNG.random((n, rows)) < 0.4) for n in (5, 9))
    found = packed.overlaps(first, second)
    np.testing.assert_array_equal(found, packed.overlaps_reference(first, second))
    within = packed.overlaps_within(first)
    np.testing.assert_array_equal(within, packed.overlaps_reference(first, first))
    bits = [packed.unpack(words, rows).astype(int) for words in (first, second)]
    np.testing.assert_array_equal(found, bits[0] @ bits[1].T)
    values = RNG.integers(-(1 << 40), 1 << 40, (2, rows))
    sums = packed.sums(first, values)
    np.testing.assert_array_equal(sums, packed.sums_reference(first, values))
    np.testing.assert_array_equal(sums, bits[0] @ values.T)


@pytest.mark.parametrize("rows", [slice(0, 700), slice(128, 700), slice(64, 65)])
def test_residuals_are_the_same_to_the_last_bit(rows: slice) -> None:
    codes = RNG.integers(0, 256, (11, 700)).astype(np.uint8)
    tables = RNG.standard_normal((8, 3, 256))
    found = RNG.standard_normal((3, 700))
    start, wanted = found.copy(), found.copy()
    packed.subtract_sums(codes, tables, rows, found)
    packed.subtract_sums_reference(codes, tables, rows, wanted)
    np.testing.assert_array_equal(found, wanted)
    wanted = start - sum(table[:, code] for table, code in zip(tables, codes, strict=False))
    np.testing.assert_allclose(found[:, rows], wanted[:, rows], atol=1e-12)
    np.testing.assert_array_equal(np.delete(found, rows, axis=1), np.delete(start, rows, axis=1))


@pytest.mark.parametrize("activation", ["sign", "step"])
@pytest.mark.parametrize("per_node", [None, (1, 2), 3])
@pytest.mark.parametrize("encoder", ["none", "thermometer:15", "gray:4", "binary:10"])
def test_candidates_fire_where_their_sums_say(
    encoder: str, per_node: tuple[int, ...] | None, activation: str
) -> None:
    x = RNG.random((9000, 9))
    fitted = fit_encoder(encoder, x, input_bits=10)
    inputs = first_inputs(ScaledRows(x, np.zeros(9), np.ones(9), fitted))
    some = CandidateDraw(inputs_per_node=per_node)(np.random.default_rng(1), inputs, len(x), 30)
    words = packed_outputs(Batch(some, 1.0, inputs, activation), len(x), ChunkMap(None))
    sums = inputs.take(np.arange(len(x))) @ some.weights.T.astype(float) + some.biases
    fires = sums > 0 if activation == "sign" else sums >= 0
    np.testing.assert_array_equal(packed.unpack(words, len(x)), fires.T)
