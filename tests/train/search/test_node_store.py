from __future__ import annotations

import numpy as np
import pytest

from scm_train.search.node_store import NodeStore


@pytest.mark.parametrize("activation", ["sign", "step", "tanh"])
@pytest.mark.parametrize("rows", [slice(0, 37), slice(3, 20), slice(8, 9), slice(30, 37)])
def test_chunks_and_picks_return_what_was_stored(activation: str, rows: slice) -> None:
    rng = np.random.default_rng(0)
    h = rng.uniform(-1, 1, (37, 3))
    if activation != "tanh":
        h = np.where(h > 0, 1.0, -1.0 if activation == "sign" else 0.0)
    store = NodeStore(37, activation)
    for column in h.T:
        store.append(column)
    np.testing.assert_array_equal(store.chunk(rows), h[rows])
    picked = rng.integers(37, size=11)
    np.testing.assert_array_equal(store.take(picked), h[picked])


def test_the_newest_node_goes_first() -> None:
    store = NodeStore(4, "sign")
    store.append(np.array([1.0, 1, -1, -1]))
    store.append(np.array([-1.0, 1, -1, 1]))
    store.pop()
    np.testing.assert_array_equal(store.chunk(slice(0, 4))[:, 0], [1, 1, -1, -1])
    assert len(store) == 1


def test_bits_take_an_eighth_of_a_byte_each() -> None:
    store = NodeStore(80_000, "sign")
    store.append(np.ones(80_000))
    assert store._columns[0].nbytes == 10_000
