"""The past that a machine sees: signals, their taps, and its own earlier outputs.

A machine with memory takes one sample of each signal at a time, in the order of time, in records.
Its features are *taps*: the sample of a signal ``lag`` rows ago, or its own output ``lag`` rows ago
(feedback). What lies before the start of a record is a constant of each source, its rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scm_model.errors import DataError
from scm_model.scaling import Floats

__all__ = ["MAX_LAG", "Memory", "Tap", "check_first", "lagged", "positions", "records_of", "starts"]

#: Deeper histories are no shift registers any more.
MAX_LAG = 1024


class Tap(NamedTuple):
    """One feature of a machine: which source it is of, and how many rows ago.

    Sources are the signals in their order, behind them the machine's outputs, and behind these the
    bits of the first layer's nodes. The lag of an output is 1 or more, that of a bit 1.
    """

    source: int
    lag: int


@dataclass(frozen=True, eq=False)
class Memory:
    """Which taps of which signals are the features of a machine.

    ``horizon`` is how many rows ahead of the newest sample the targets are; ``rest`` (signals, then
    outputs) is what counts as the past before a record, in raw units. Bits are clear before a
    record. ``washout`` rows of a record, if that is more than the largest lag, pass before the
    machine is scored.
    """

    signals: tuple[str, ...]
    taps: tuple[Tap, ...]
    rest: Floats
    horizon: int = 0
    washout: int = 0

    @property
    def depth(self) -> int:
        """Rows of a record before the history is full."""
        return max(self.washout, *(tap.lag for tap in self.taps))

    @property
    def sources(self) -> int:
        """Signals and outputs; sources from here on are bits of nodes."""
        return len(self.rest)

    @property
    def feedback(self) -> bool:
        """Whether a feature is an output of the machine itself."""
        return any(len(self.signals) <= tap.source < self.sources for tap in self.taps)

    @property
    def recurrent(self) -> bool:
        """Whether a feature is the bit of a node of the machine itself."""
        return any(tap.source >= self.sources for tap in self.taps)

    @property
    def fed_back(self) -> list[tuple[int, int, int]]:
        """The features that are outputs: place among the features, output, lag."""
        count = len(self.signals)
        return [
            (i, s - count, lag) for i, (s, lag) in enumerate(self.taps) if count <= s < self.sources
        ]

    @property
    def bits(self) -> list[tuple[int, int]]:
        """The features that are bits: place among the features, node of the first layer."""
        return [(i, s - self.sources) for i, (s, _) in enumerate(self.taps) if s >= self.sources]

    @property
    def newest(self) -> list[int]:
        """For each signal, the place of one of its taps among the features."""
        places = {tap.source: place for place, tap in reversed([*enumerate(self.taps)])}
        return [places[source] for source in range(len(self.signals))]

    def names(self, targets: Sequence[str]) -> tuple[str, ...]:
        """The features by name: ``speed[t]``, ``speed[t-1]``; of outputs ``y[t-1]``."""
        nodes = max((tap.source for tap in self.taps), default=0) - self.sources + 1
        sources = (
            *self.signals,
            *(f"output {name}" for name in targets),
            *(f"node {node}" for node in range(nodes)),
        )
        return tuple(_tap_name(sources[tap.source], tap.lag) for tap in self.taps)

    def complete(self, first: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The rows whose history lies within their record."""
        return positions(first) >= self.depth

    def tap_rows(
        self, X: NDArray[Any], first: NDArray[np.bool_], outputs: Floats | None = None
    ) -> NDArray[Any]:
        """The features (n, taps) of signals (n, s), with the outputs (n, m) of all rows.

        Without ``outputs`` the taps of outputs are at rest; the bits of nodes are clear.
        """
        place = positions(first)
        rows = np.empty((len(X), len(self.taps)), dtype=np.result_type(X.dtype, np.float32))
        for column, (source, lag) in enumerate(self.taps):
            if source >= self.sources:
                rows[:, column] = 0
                continue
            own, rest = source - len(self.signals), self.rest[source]
            if own < 0:
                rows[:, column] = lagged(X[:, source], place, lag, rest)
            elif outputs is None:
                rows[:, column] = rest
            else:
                rows[:, column] = lagged(outputs[:, own], place, lag, rest)
        return rows

    def free_run(
        self,
        X: NDArray[Any],
        first: NDArray[np.bool_],
        step: Callable[[NDArray[Any]], Floats],
        known: Floats | None = None,
    ) -> Floats:
        """The outputs (n, m) by ``step`` (taps to outputs), which see the outputs before them.

        Records advance together, a row of each at a time. Where ``known`` (n, m) is given it stands
        for the outputs of the first ``depth`` rows of each record.
        """
        rows = self.tap_rows(X, first).astype(np.float64)
        begin = np.flatnonzero(first)
        length = np.diff(np.append(begin, len(first)))
        found = np.empty((len(X), len(self.rest) - len(self.signals)))
        fed_back, depth = self.fed_back, self.depth
        for k in range(int(length.max(initial=0))):
            # Row k of all records that are long enough; all that it can see of outputs is in rows
            # before.
            now = begin[length > k] + k
            for column, output, lag in fed_back:
                # Further back the record had not begun, and the rest is in its place already.
                if lag <= k:
                    rows[now, column] = found[now - lag, output]
            if known is not None and k < depth:
                found[now] = known[now]
            else:
                found[now] = step(rows[now])
        return found


def lagged(values: NDArray[Any], place: NDArray[np.intp], lag: int, rest: float) -> NDArray[Any]:
    """The values ``lag`` rows ago within each record, and ``rest`` before its start."""
    if lag == 0:
        return values
    shifted = np.empty_like(values)
    shifted[lag:] = values[:-lag] if lag < len(values) else values[:0]
    shifted[place < lag] = rest
    return shifted


def positions(first: NDArray[np.bool_]) -> NDArray[np.intp]:
    """How many rows of its record are before each row."""
    rows = np.arange(len(first))
    return rows - np.maximum.accumulate(np.where(first, rows, 0))


def starts(groups: ArrayLike | None, rows: int) -> NDArray[np.bool_]:
    """True at the first row of each record; ``groups`` says which record each row is of.

    The rows of a record stand together, in the order of time. None: all rows are one record.
    """
    first = np.zeros(rows, dtype=np.bool_)
    first[:1] = True
    if groups is None:
        return first
    named = np.asarray(groups)
    if named.shape != (rows,):
        raise DataError(f"groups must be one for each of {rows} rows, not of shape {named.shape}")
    first[1:] = named[1:] != named[:-1]
    begun = named[first].tolist()
    if len(set(begun)) < len(begun):
        again = next(name for i, name in enumerate(begun) if name in begun[:i])
        raise DataError(
            f"groups must have the rows of a record together, not of {again!r} in two places; "
            "sort the rows by record and time"
        )
    return first


def check_first(first: ArrayLike | None, rows: int) -> NDArray[np.bool_]:
    """The starts of records as truth values, the first row among them; None: one record."""
    if first is None:
        return starts(None, rows)
    checked = np.array(first, dtype=np.bool_)
    if checked.shape != (rows,):
        raise DataError(f"first must be one for each of {rows} rows, not of shape {checked.shape}")
    checked[:1] = True
    return checked


def records_of(first: NDArray[np.bool_]) -> list[slice]:
    """The rows of each record."""
    begin = [*np.flatnonzero(first).tolist(), len(first)]
    return [slice(a, b) for a, b in pairwise(begin)]


def _tap_name(name: str, lag: int) -> str:
    return f"{name}[t-{lag}]" if lag else f"{name}[t]"
