from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import get_ident

import numpy as np
from threadpoolctl import threadpool_info

from scm_train.chunks import ChunkMap, Scratch, chunk_map, row_chunks


def test_chunks_cover_the_rows_in_order() -> None:
    assert row_chunks(10, 4) == [slice(0, 4), slice(4, 8), slice(8, 10)]
    assert row_chunks(0, 4) == []


def test_results_come_in_the_order_of_the_rows() -> None:
    with chunk_map() as mapped:
        assert mapped(lambda rows: rows.start, 100, 7) == list(range(0, 100, 7))
    assert ChunkMap(None)(lambda rows: rows.start, 100, 7) == list(range(0, 100, 7))


def test_few_chunks_stay_in_the_calling_thread() -> None:
    with chunk_map() as mapped:
        assert set(mapped(lambda _: get_ident(), 3, 1)) == {get_ident()}


def test_linear_algebra_is_held_at_one_thread() -> None:
    with chunk_map():
        pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
        assert pools
        assert all(pool["num_threads"] == 1 for pool in pools)


def test_scratch_is_one_array_per_name_and_thread() -> None:
    scratch = Scratch()
    first = scratch("a", (3, 4), np.float32)
    assert np.shares_memory(first, scratch("a", (2, 2), np.float64))
    assert not np.shares_memory(first, scratch("b", (3, 4), np.float32))
    with ThreadPoolExecutor(1) as pool:
        assert not np.shares_memory(first, pool.submit(scratch, "a", (3, 4), np.float32).result())
    assert scratch("a", (5, 7), np.int16).shape == (5, 7)
