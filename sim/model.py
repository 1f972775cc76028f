"""What the core must answer, in order, and when."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Mismatch:
    """One wrong answer: the vector's index, what came (None: undefined) and what should have."""

    index: int
    got: int | None
    expected: int

    def __str__(self) -> str:
        got = "undefined bits" if self.got is None else f"{self.got:#x}"
        return f"vector {self.index} gave {got} for {self.expected:#x}"


class Scoreboard:
    """Pairs every result with the oldest sample still in the core.

    A lost, doubled or reordered sample shows as a wrong answer, as an answer that nothing asked
    for, or as samples left over.
    """

    def __init__(self, expected: Sequence[int]) -> None:
        self.expected = expected
        self.accept_cycles: list[int] = []
        self.latencies: list[int] = []
        self.mismatches: list[Mismatch] = []
        self.unasked = 0
        self._next = self._passed = 0
        self._in_flight: deque[int] = deque()

    @property
    def outstanding(self) -> int:
        return len(self._in_flight)

    def accept(self, cycle: int) -> None:
        """The next sample went in."""
        self._in_flight.append(self._next)
        self._next += 1
        self.accept_cycles.append(cycle)

    def deliver(self, cycle: int, data: int | None) -> None:
        """A result came out."""
        if not self._in_flight:
            self.unasked += 1
            return
        index = self._in_flight.popleft()
        # Samples that were passed over have an index, and no cycle in which they went in.
        self.latencies.append(cycle - self.accept_cycles[index - self._passed])
        if data != self.expected[index]:
            self.mismatches.append(Mismatch(index, data, self.expected[index]))

    def reset(self, passed: int = 0) -> None:
        """Samples in the core are gone, and none of them may come out later.

        `passed` more are not offered at all.
        """
        self._in_flight.clear()
        self._next += passed
        self._passed += passed

    def intervals(self) -> list[int]:
        """Cycles between samples taken one after the other."""
        pairs = zip(self.accept_cycles, self.accept_cycles[1:], strict=False)
        return [later - earlier for earlier, later in pairs]
