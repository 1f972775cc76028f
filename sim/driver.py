"""Who offers samples and who takes results: the two ends of the core's streams."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

Gate = Callable[[], bool]
"""Asked once per cycle; whether its side moves in that cycle."""


def always() -> bool:
    return True


def random_gate(random: Random, probability: float) -> Gate:
    """Open in about that share of the cycles."""
    return lambda: random.random() < probability


class Driver:
    """Offers `samples` in order, and once it offers one, goes on until it is taken."""

    def __init__(self, samples: Sequence[int], width: int, gate: Gate, random: Random) -> None:
        self.samples = samples
        self.width = width
        self.gate = gate
        self.random = random
        self.taken = 0
        self._valid = False

    @property
    def exhausted(self) -> bool:
        return self.taken == len(self.samples)

    def drive(self) -> tuple[bool, int]:
        """`in_valid` and `in_data` of the coming cycle; noise where nothing is offered."""
        if not self.exhausted and (self._valid or self.gate()):
            self._valid = True
            return True, self.samples[self.taken]
        # Noise and not 0: a core that takes data without in_valid is to answer wrongly.
        return False, self.random.getrandbits(self.width)

    def restart(self, can_begin: Callable[[int], bool]) -> int:
        """After a reset, go on with the next sample that can begin; how many are passed over."""
        passed = 0
        # A reset comes before the first sample in any case.
        while self.taken > 0 and not self.exhausted and not can_begin(self.taken):
            self.taken += 1
            passed += 1
        self._valid = self._valid and not passed
        return passed

    def observe(self, ready: bool) -> bool:
        """Whether the sample was taken in this cycle."""
        if not (self._valid and ready):
            return False
        self._valid = False
        self.taken += 1
        return True


class Sink:
    """Takes results when its gate is open; a `patient` one waits until it has seen `out_valid`.

    A core whose `out_valid` waits for `out_ready` never gets a word past a patient sink.
    """

    def __init__(self, gate: Gate, *, patient: bool = False) -> None:
        self.gate = gate
        self.patient = patient
        self._seen = False

    def drive(self) -> bool:
        """`out_ready` of the coming cycle."""
        return self.gate() and (self._seen or not self.patient)

    def observe(self, valid: bool, ready: bool) -> None:
        self._seen = valid and not ready
