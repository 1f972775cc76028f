"""All shards together: asked at the same time, their sums added in the order of the rows.

A worker that dies takes its shards along. Each is made again elsewhere: its rows are computed anew
from their graph, and all instructions that changed shards since are repeated in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scm_train.cluster.shards import HELD, REST, TRAINING, Floats, Frame, Shard
from scm_train.errors import DataError, ParameterError
from scm_train.training.split import split_rows

__all__ = ["Chunk", "Cluster", "Division"]

#: Seconds between looks at whether a worker that does not answer is still there.
PATIENCE = 0.5
#: Seconds to wait for a worker where there is none left.
NO_WORKER = 60.0
#: A shard that was lost this often is taken to be too large for its workers.
MOST_LOSSES = 5


@dataclass(frozen=True)
class Division:
    """Which rows are for what: a share to hold back, and how many to search for nodes on."""

    fraction: float
    search_rows: int | None


@dataclass(frozen=True, eq=False)
class Chunk:
    """Rows as they can be had again and again: their graph, and their place among all rows."""

    x: Any
    y: Any
    start: int
    stop: int
    #: All of them are for validation.
    held: bool = False


class _Lost(Exception):
    """A worker died with a shard on it."""


class Cluster:
    """The shards in the order of their rows; those of ``eval_set`` after all others."""

    #: What changes a shard; the rest only asks it.
    changes: tuple[str, ...] = (
        *("begin", "open_layer", "close_layer", "append", "pop", "keep"),
        *("propose", "subtract", "scale", "commit", "rewind"),
    )

    def __init__(
        self,
        client: Any,
        x: Any,
        y: Any,
        eval_set: tuple[Any, Any] | None,
        frame: Frame,
        division: Division,
        rng: np.random.Generator,
    ):
        self.client, self.frame = client, frame
        self._division, self._state, self._total = division, rng.bit_generator.state, len(x)
        self._chunks = _chunks(x, y, held=False)
        if eval_set is not None:
            self._chunks += _chunks(*eval_set, held=True)
        self._told: list[tuple[str, tuple[Any, ...]]] = []
        self._losses = [0] * len(self._chunks)
        rng.bit_generator.state, making = self._begun()
        self.shards = [self._made(k, future) for k, future in enumerate(making)]
        counts = np.array(self.ask("counts"))
        self.rows, self.held, self.rest = (int(count) for count in counts.sum(axis=0))
        # Number of the first training row of each shard, by which a row's shard is found.
        self.starts = np.concatenate([[0], np.cumsum(counts[:, TRAINING])])
        self.outputs, self.features = len(frame.target_min), x.shape[1]
        self.groups = frame.encoder.groups if frame.encoder.coded else np.arange(x.shape[1])
        self.unit = frame.encoder.unit

    def ask(self, method: str, *arguments: Any) -> list[Any]:
        """The answers of all shards, which work on them at the same time."""
        everywhere = range(len(self.shards))
        answers = self.answers([(k, method, arguments) for k in everywhere])
        # Recorded after all have answered: a shard that was lost meanwhile is first brought up to
        # the instructions before, and then asked again.
        if method in self.changes:
            self._told.append((method, arguments))
        return answers

    def sums(self, method: str, *arguments: Any) -> list[Any]:
        """The answers of all shards added up, each part in the order of the rows."""
        parts = zip(*self.ask(method, *arguments), strict=True)
        return [np.sum(part, axis=0) for part in parts]

    def take(self, indices: NDArray[np.integer]) -> Floats:
        """Inputs of the current layer on chosen training rows."""
        owner = np.searchsorted(self.starts, indices, side="right") - 1
        which = {int(k): np.flatnonzero(owner == k) for k in np.unique(owner)}
        found = self.answers(
            [(k, "take", (indices[own] - self.starts[k],)) for k, own in which.items()]
        )
        out = np.empty((len(indices), found[0].shape[1]))
        for own, rows in zip(which.values(), found, strict=True):
            out[own] = rows
        return out

    def forget(self) -> None:
        """Drop the recorded instructions: another machine begins, which needs none of them."""
        self._told = []

    def answers(self, questions: list[tuple[int, str, tuple[Any, ...]]]) -> list[Any]:
        """The answers of some shards, each to a question of its own that changes none."""
        # All questions are sent before the first answer is waited for: shards work at the same
        # time.
        asked = [self._asked(*question) for question in questions]
        return [self._answer(a, *q) for a, q in zip(asked, questions, strict=True)]

    def _asked(self, k: int, method: str, arguments: tuple[Any, ...]) -> Any:
        """The answer to come; None of a shard that is known to be lost."""
        try:
            return getattr(self.shards[k], method)(*arguments)
        except RuntimeError:
            return None

    def _answer(self, asked: Any, k: int, method: str, arguments: tuple[Any, ...]) -> Any:
        while True:
            try:
                return self._waited(k, asked)
            except _Lost:
                self._renew(k)
                asked = self._asked(k, method, arguments)

    def _waited(self, k: int, asked: Any) -> Any:
        while asked is not None:
            try:
                return asked.result(timeout=PATIENCE)
            except TimeoutError:
                # A question that was on its way to a worker as that died is never answered.
                if self.shards[k]._future.status != "finished":
                    break
            except OSError:
                break
        raise _Lost

    def _renew(self, k: int) -> None:
        """Make a shard anew, as all the others are now."""
        while True:
            self._losses[k] += 1
            if self._losses[k] > MOST_LOSSES:
                raise DataError(
                    f"can't train: rows {self._chunks[k].start:,} to {self._chunks[k].stop:,} were "
                    f"lost with their worker {MOST_LOSSES} times; make the chunks smaller, or "
                    "give the workers more memory"
                )
            self.shards[k] = self._made(k, self._submitted(k, self._roles(k)))
            try:
                self._waited(k, self._asked(k, "catch_up", (self._told,)))
            except _Lost:
                continue
            return

    def _begun(self) -> tuple[Any, list[Any]]:
        """The generator's state after the division of rows, and the shards to come."""
        answer = self._divided()
        state = self.client.submit(_first, answer).result()
        whole = self.client.submit(_second, answer)
        making = [
            self._submitted(
                k,
                None if one.held else self.client.submit(_some_rows, whole, one.start, one.stop),
            )
            for k, one in enumerate(self._chunks)
        ]
        return state, making

    def _divided(self) -> Any:
        """A future of the division, which is made on a worker and kept there."""
        about = (self._total, self._division, self._state)
        return self.client.submit(_divide, *about, pure=False)

    def _roles(self, k: int) -> Any:
        one = self._chunks[k]
        if one.held:
            return None
        whole = self.client.submit(_second, self._divided(), pure=False)
        return self.client.submit(_some_rows, whole, one.start, one.stop, pure=False)

    def _submitted(self, k: int, roles: Any) -> Any:
        one = self._chunks[k]
        rows = self.client.compute([one.x, one.y])
        return self.client.submit(*self._shard_of(one, rows, roles), actor=True, pure=False)

    def _shard_of(self, chunk: Chunk, rows: Sequence[Any], roles: Any) -> tuple[Any, ...]:
        """The class of a shard, and what it is made of."""
        return Shard, *rows, roles, HELD if chunk.held else TRAINING, self.frame

    def _made(self, k: int, future: Any) -> Any:
        """The shard of a future; begun again where its worker dies before it is there."""
        while True:
            try:
                self.client.wait_for_workers(1, timeout=NO_WORKER)
                return future.result()
            except TimeoutError:
                raise ParameterError(
                    f"can't train: the cluster has had no worker for {NO_WORKER:g} s; start "
                    "workers and fit again"
                ) from None
            except CancelledError:
                one = self._chunks[k]
                raise DataError(
                    f"can't train: rows {one.start:,} to {one.stop:,} were lost with a worker; "
                    "create the arrays from files or functions, which can be read again"
                ) from None
            except RuntimeError as error:
                if "Actor was lost" not in str(error) or self._losses[k] >= MOST_LOSSES:
                    raise
                self._losses[k] += 1
                future = self._submitted(k, self._roles(k))


def _chunks(x: Any, y: Any, *, held: bool) -> list[Chunk]:
    stops = np.cumsum(x.chunks[0]).tolist()
    starts = [0, *stops[:-1]]
    delayed = zip(x.to_delayed().ravel(), y.to_delayed().ravel(), starts, stops, strict=True)
    return [Chunk(*one, held=held) for one in delayed]


def _divide(rows: int, division: Division, state: Any) -> tuple[Any, NDArray[np.uint8] | None]:
    """The generator's state afterwards, and what each row is for; None: all for training."""
    rng = np.random.default_rng(0)
    # The division draws from the machine's own generator, whose state travels to a worker and back,
    # so that the draws after it are those of training in memory.
    rng.bit_generator.state = state
    _, held, rest = split_rows(rows, division.fraction, division.search_rows, rng)
    roles = None
    if held is not None or rest is not None:
        roles = np.full(rows, TRAINING, dtype=np.uint8)
        for role, own in ((HELD, held), (REST, rest)):
            if own is not None:
                roles[own] = role
    return rng.bit_generator.state, roles


def _first(pair: tuple[Any, Any]) -> Any:
    return pair[0]


def _second(pair: tuple[Any, Any]) -> Any:
    return pair[1]


def _some_rows(roles: NDArray[np.uint8] | None, start: int, stop: int) -> NDArray[np.uint8] | None:
    return None if roles is None else roles[start:stop].copy()
