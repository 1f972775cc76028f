from __future__ import annotations

from threading import get_ident

from threadpoolctl import threadpool_info

from scm_train.chunks import ChunkMap, chunk_map, row_chunks


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
