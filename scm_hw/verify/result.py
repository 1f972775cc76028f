"""What a simulation found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from scm_hw.errors import MismatchError
from scm_hw.sim.model import Mismatch
from scm_hw.sim.scenario import Outcome
from scm_hw.sim.vectors import Probe

ProbeSource = Callable[[int], Sequence[Probe]]
"""The probes of the vector with that index."""


@dataclass(frozen=True)
class SimResult:
    """One simulator's verdict.

    `cycles` and `interval` are measured at full speed (the worst of all samples; None where nothing
    came out). `failures` says in words what was wrong, and is empty for a good core. `stage` is the
    first stage that differs, with what its signal holds, where probes found one.
    """

    simulator: str
    version: str
    vectors: int
    mismatches: int
    cycles: int | None
    interval: int | None
    failures: tuple[str, ...] = ()
    first_mismatch: Mismatch | None = None
    stage: str | None = None
    waveform: Path | None = None

    @property
    def ok(self) -> bool:
        return not self.failures

    def check(self) -> None:
        """Raise MismatchError unless every output, latency and stall was right."""
        if not self.ok:
            raise MismatchError(self.verdict)

    @property
    def verdict(self) -> str:
        """What was wrong first, and where to look."""
        stage = f"; the first stage that differs is {self.stage}" if self.stage else ""
        waveform = f"; see the waveform {self.waveform}" if self.waveform else ""
        return (
            f"{self.simulator} differs from the interpreter ({self.failures[0]}){stage}{waveform}"
        )


def summarise(simulator: str, version: str, vectors: int, outcomes: Sequence[Outcome]) -> SimResult:
    """The verdict over all scenarios; the first of them ran at full speed over all vectors."""
    full = outcomes[0]
    first = next((o.first_mismatch for o in outcomes if o.first_mismatch), None)
    if first is not None:
        # A scenario may have gone through the vectors more than once.
        first = replace(first, index=first.index % vectors)
    return SimResult(
        simulator=simulator,
        version=version,
        vectors=vectors,
        mismatches=sum(outcome.mismatches for outcome in outcomes),
        cycles=full.latency,
        interval=full.interval,
        failures=tuple(f"{o.name}: {text}" for o in outcomes for text in o.failures),
        first_mismatch=first,
    )
