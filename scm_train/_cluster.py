"""All shards together: asked at the same time, their sums added in the order of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from scm_train._shards import Floats, Frame, Shard
from scm_train._training import _split
from scm_train.engine import Settings
from scm_train.linear import LinearPart, _lasso

__all__ = ["Cluster"]


class Cluster:
    """The shards in the order of their rows."""

    def __init__(
        self, client: Any, x: Any, y: Any, frame: Frame, fraction: float, rng: np.random.Generator
    ):
        sizes = list(x.chunks[0])
        held = _held(client, sizes, fraction, rng)
        xs, ys = x.to_delayed().ravel(), y.to_delayed().ravel()
        making = [
            client.submit(Shard, *client.compute([a, b]), mask, frame, actor=True, pure=False)
            for a, b, mask in zip(xs, ys, held, strict=True)
        ]
        self.shards = [future.result() for future in making]
        counts = np.array(self.ask("counts"))
        self.rows, self.held = (int(count) for count in counts.sum(axis=0))
        self.starts = np.concatenate([[0], np.cumsum(counts[:, 0])])
        self.outputs, self.features = len(frame.target_min), x.shape[1]
        self.groups = frame.encoder.groups if frame.encoder.coded else np.arange(x.shape[1])
        self.integer = frame.encoder.coded

    def ask(self, method: str, *arguments: Any) -> list[Any]:
        """The answers of all shards, which work on them at the same time."""
        asked = [getattr(shard, method)(*arguments) for shard in self.shards]
        return [answer.result() for answer in asked]

    def sums(self, method: str, *arguments: Any) -> list[Any]:
        """The answers of all shards added up, each part in the order of the rows."""
        parts = zip(*self.ask(method, *arguments), strict=True)
        return [np.sum(part, axis=0) for part in parts]

    def linear(self, settings: Settings) -> LinearPart:
        if not settings.linear:
            return LinearPart(np.zeros((self.features, self.outputs)), np.zeros(self.outputs))
        total, targets = self.sums("means")
        x_mean, t_mean = total / self.rows, targets / self.rows
        gram, cross = self.sums("centred_moments", x_mean, t_mean)
        weights = np.stack([_lasso(gram, c, settings.alpha, self.rows) for c in cross.T], axis=1)
        return LinearPart(weights, t_mean - x_mean @ weights)

    def take(self, indices: NDArray[np.integer]) -> Floats:
        """Inputs of the current layer on chosen training rows."""
        owner = np.searchsorted(self.starts, indices, side="right") - 1
        asked = [
            (which, self.shards[k].take(indices[which] - self.starts[k]))
            for k in np.unique(owner)
            for which in [np.flatnonzero(owner == k)]
        ]
        found = [(which, answer.result()) for which, answer in asked]
        out = np.empty((len(indices), found[0][1].shape[1]))
        for which, rows in found:
            out[which] = rows
        return out


def _held(client: Any, sizes: list[int], fraction: float, rng: np.random.Generator) -> list[Any]:
    """Which rows of each chunk are for validation, as futures: decided on a worker, and kept there.

    The generator goes on as if it had been asked here.
    """
    state = rng.bit_generator.state
    answer = client.submit(_split_there, sum(sizes), fraction, state, pure=False)
    rng.bit_generator.state = client.submit(_first, answer).result()
    split = client.submit(_second, answer)
    stops = np.cumsum(sizes)
    return [
        client.submit(_some_rows, split, int(stop - size), int(stop))
        for size, stop in zip(sizes, stops, strict=True)
    ]


def _split_there(rows: int, fraction: float, state: Any) -> tuple[Any, NDArray[np.bool_] | None]:
    rng = np.random.default_rng(0)
    rng.bit_generator.state = state
    _, held, _ = _split(rows, fraction, None, rng)
    mask = None
    if held is not None:
        mask = np.zeros(rows, dtype=bool)
        mask[held] = True
    return rng.bit_generator.state, mask


def _first(pair: tuple[Any, Any]) -> Any:
    return pair[0]


def _second(pair: tuple[Any, Any]) -> Any:
    return pair[1]


def _some_rows(mask: NDArray[np.bool_] | None, start: int, stop: int) -> NDArray[np.bool_] | None:
    return None if mask is None else mask[start:stop].copy()
