from __future__ import annotations

import numpy as np

from scm_explore.front import pareto_front


def test_the_front_is_what_nothing_dominates() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        # Few values, so that many are equal in one respect or in all.
        points = {n: tuple(map(float, rng.integers(0, 5, 3))) for n in range(30)}
        front = pareto_front(points)
        for number, mine in points.items():
            better = [
                n
                for n, p in points.items()
                if all(np.array(p) <= mine) and (p != mine or n < number)
            ]
            assert (number in front) == (not better)


def test_it_does_not_depend_on_the_order_in_which_points_were_found() -> None:
    points = {n: (float(n % 3), float(n % 5), float(-n % 7)) for n in range(40)}
    backwards = dict(reversed(points.items()))
    assert pareto_front(points) == pareto_front(backwards)


def test_no_points_no_front() -> None:
    assert pareto_front({}) == []
