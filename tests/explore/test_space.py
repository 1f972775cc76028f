from __future__ import annotations

import json

import numpy as np
import pytest

from scm_explore.proposals import BATCH, next_batch
from scm_explore.space import MOST_LAYERS, Point, Space


def assert_inside(space: Space, point: Point) -> None:
    for name, values in space.choices.items():
        assert getattr(point, name) in values
    assert 1 <= len(point.nodes) <= MOST_LAYERS
    assert set(point.nodes) <= set(space.ladder)


@pytest.mark.parametrize(("features", "max_nodes"), [(1, 1), (2, 5), (11, 120)])
def test_points_stay_in_the_space(features: int, max_nodes: int) -> None:
    space, rng = Space(features, max_nodes), np.random.default_rng(0)
    assert max(space.ladder) == max_nodes and min(space.ladder) >= 1
    one, other = space.random(rng), space.random(rng)
    for _ in range(300):
        for point in (space.mutated(rng, one), space.crossed(rng, one, other), space.random(rng)):
            assert_inside(space, point)
            assert point.inputs_per_node is None or max(point.inputs_per_node) <= features
            one, other = point, one


def test_every_choice_is_drawn() -> None:
    space, rng = Space(11, 60), np.random.default_rng(0)
    points = [space.random(rng) for _ in range(500)]
    for name, values in space.choices.items():
        assert {getattr(point, name) for point in points} == set(values)
    assert {len(point.nodes) for point in points} == {1, 2, 3}


def test_points_survive_json() -> None:
    space, rng = Space(11, 60), np.random.default_rng(0)
    for point in [space.default(), *(space.random(rng) for _ in range(50))]:
        assert Point.from_json(json.loads(json.dumps(point.to_json()))) == point


def test_batches_follow_from_seed_and_front_alone() -> None:
    space = Space(11, 60)
    first = next_batch(space, 0, 0, [], [])
    assert first[0] == space.default()
    assert len(first) == len(set(first)) == BATCH
    second = next_batch(space, 0, 1, first[:3], first)
    assert second == next_batch(space, 0, 1, first[:3], list(reversed(first)))
    assert not set(first) & set(second)
    assert second != next_batch(space, 1, 1, first[:3], first)
    assert second != next_batch(space, 0, 2, first[:3], first)


def test_a_space_can_be_exhausted(monkeypatch: pytest.MonkeyPatch) -> None:
    space = Space(1, 1)
    for name in set(space.choices) - {"activation", "pipeline"}:
        monkeypatch.setitem(space.choices, name, space.choices[name][:1])
    tried: list[Point] = []
    for number in range(12):
        tried += next_batch(space, 0, number, [], tried)
    # The default, and three numbers of layers by two activations by three pipelines.
    assert len(tried) == len(set(tried)) == 19
