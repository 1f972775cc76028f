"""Which points are tried, batch by batch.

A batch depends on the seed and on the finished batches before it, not on the order in which their
points were done: any number of workers, and any interruption, leads to the same points.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scm_explore.space import Point, Space

BATCH = 16
# Of a batch after the first: changed points of the front, crossed ones, and the rest at random.
MUTATED, CROSSED = 9, 4
ATTEMPTS = 200


def next_batch(
    space: Space, seed: int, number: int, front: Sequence[Point], tried: Sequence[Point]
) -> list[Point]:
    """Points of batch `number` (from 0), none of them tried before; fewer where no more are found.

    `front` is that of the batches before.
    """
    # A generator of its own for each batch: a search that is resumed need not draw the ones before.
    rng = np.random.default_rng([seed, number])
    known, batch = set(tried), []
    for place in range(BATCH):
        for _ in range(ATTEMPTS):
            point = space.default() if not (number or place) else _drawn(space, rng, front, place)
            if point not in known:
                known.add(point)
                batch.append(point)
                break
    return batch


def _drawn(space: Space, rng: np.random.Generator, front: Sequence[Point], place: int) -> Point:
    if place >= MUTATED + CROSSED or not front:
        return space.random(rng)
    one, other = (front[int(i)] for i in rng.integers(len(front), size=2))
    if place < MUTATED:
        return space.mutated(rng, one)
    return space.crossed(rng, one, other)
