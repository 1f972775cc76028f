"""The Pareto front: designs that no other design dominates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Objectives = tuple[float, float, float]
"""Held-out error, LUTs, latency: of each, less is better."""


def dominates(a: Sequence[float], b: Sequence[float]) -> bool:
    """Whether `a` is as good as `b` in everything, and not equal to it."""
    return a != b and all(x <= y for x, y in zip(a, b, strict=True))


def pareto_front(found: Mapping[int, Objectives]) -> list[int]:
    """Numbers of the points on the front, best error first; of equal points the lowest number."""
    front: list[int] = []
    # In this order nothing that comes later dominates what came before.
    for number in sorted(found, key=lambda n: (found[n], n)):
        mine = found[number]
        if not any(dominates(found[k], mine) or found[k] == mine for k in front):
            front.append(number)
    return front
