"""Records of signals as rows of taps, with the targets that belong to them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from scm_model.memory import Memory, records_of
from scm_train.errors import DataError

__all__ = ["Records", "divide", "folds", "segments"]

Floats = NDArray[np.float64]

#: Rows of a piece of a long record that runs free beside the others.
SEGMENT_ROWS = 400
#: Share of the rows that choose size and lags: whole records, or the end of the only ones.
VALIDATION_SHARE = 0.2
FEWEST_RECORDS = 5
#: Parts that choose in turn what is quickly fitted, and rows of which one part is enough.
FOLDS, ENOUGH_ROWS = 3, 20_000


@dataclass(frozen=True, eq=False)
class Records:
    """Samples of signals (n, s) in the order of time, the targets of each row, and where records
    begin. Rows without a target, at the end of a record, are not ``known``."""

    signals: Floats
    targets: NDArray
    first: NDArray[np.bool_]
    known: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.signals)

    @classmethod
    def ahead(cls, X: Floats, y: NDArray, first: NDArray[np.bool_], horizon: int) -> Records:
        """Rows whose target is that of ``horizon`` rows later, which the last rows don't have."""
        known = np.ones(len(X), dtype=bool)
        targets = np.roll(y, -horizon, axis=0)
        for rows in records_of(first):
            if rows.stop - rows.start <= horizon:
                raise DataError(
                    f"records must be longer than the horizon of {horizon} rows, not "
                    f"{rows.stop - rows.start}"
                )
            if horizon:
                known[rows.stop - horizon : rows.stop] = False
        return cls(X, targets, first, known)

    def taken(self, rows: NDArray[np.bool_]) -> Records:
        """Some of the rows; where one follows a row that is left out, a record begins."""
        begins = self.first | np.r_[True, ~rows[:-1]]
        return Records(self.signals[rows], self.targets[rows], begins[rows], self.known[rows])

    def taps(self, memory: Memory, outputs: Floats | None = None) -> tuple[Floats, NDArray]:
        """Rows of taps with a full history, and their targets; ``outputs`` are what came back."""
        fed = self._fed() if outputs is None and memory.feedback else outputs
        rows = memory.tap_rows(self.signals, self.first, fed)
        usable = self.scored(memory)
        return np.asarray(rows[usable], dtype=np.float64), self.targets[usable]

    def scored(self, memory: Memory) -> NDArray[np.bool_]:
        """The rows with a full history and a target."""
        return memory.complete(self.first) & self.known

    def _fed(self) -> Floats:
        """The measured targets as outputs, the last known one where there is none."""
        outputs = np.asarray(self.targets, dtype=np.float64).reshape(len(self), -1).copy()
        last = np.maximum.accumulate(np.where(self.known, np.arange(len(self)), 0))
        return outputs[last]

    @property
    def measured(self) -> Floats:
        """The targets (n, m), without gaps."""
        return self._fed()


def divide(records: Records, gap: int) -> tuple[Records, Records]:
    """Records to learn from and records to choose by, with a gap of rows between neighbours.

    Whole records are held back where there are enough of them, else the end of each.
    """
    every = records_of(records.first)
    held = np.zeros(len(records), dtype=bool)
    dropped = np.zeros(len(records), dtype=bool)
    if len(every) >= FEWEST_RECORDS:
        # Spread over all, and as many as have the share of the rows.
        step = max(2, round(1 / VALIDATION_SHARE))
        for rows in every[step // 2 :: step]:
            held[rows] = True
    else:
        for rows in every:
            length = rows.stop - rows.start
            begin = rows.stop - max(1, round(VALIDATION_SHARE * length))
            held[begin : rows.stop] = True
            dropped[max(rows.start, begin - gap) : begin] = True
    return records.taken(~held & ~dropped), records.taken(held)


def folds(records: Records, gap: int) -> list[tuple[Records, Records]]:
    """Several divisions, each with another part to choose by; of many rows, that of :func:`divide`.

    What a plant does changes with time, and one part of a record says little about the others.
    """
    every = records_of(records.first)
    if len(records) >= ENOUGH_ROWS:
        return [divide(records, gap)]
    step, found = max(2, round(1 / VALIDATION_SHARE)), []
    for fold in range(FOLDS):
        held, dropped = np.zeros((2, len(records)), dtype=bool)
        if len(every) >= FEWEST_RECORDS:
            for rows in every[(fold + 1) * step // (FOLDS + 1) :: step]:
                held[rows] = True
        else:
            for rows in every:
                length = rows.stop - rows.start
                share = max(1, round(VALIDATION_SHARE * length))
                begin = rows.start + round((length - share) * fold / (FOLDS - 1))
                held[begin : begin + share] = True
                dropped[max(rows.start, begin - gap) : begin] = True
                dropped[begin + share : min(begin + share + gap, rows.stop)] = True
        found.append((records.taken(~held & ~dropped), records.taken(held)))
    return found


def segments(records: Records, depth: int, rows: int = SEGMENT_ROWS) -> Records:
    """The same rows in shorter records, so that many can run free side by side."""
    first = records.first.copy()
    # Each piece begins with its history, which is not scored: at most an eighth of a piece.
    rows = max(rows, 8 * depth)
    for record in records_of(records.first):
        first[record.start : record.stop : rows] = True
    return replace(records, first=first)
