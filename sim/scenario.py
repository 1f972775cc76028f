"""Whole runs of the core's streams, independent of the simulator that plays them.

A player asks `drive()` for the pins of a cycle, lets the logic settle, and hands what the core
answers just before the clock edge to `observe()`, until `finished`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from random import Random
from typing import Any, NamedTuple

from scm_hw.sim.driver import Driver, Sink, always, random_gate
from scm_hw.sim.model import Mismatch, Scoreboard
from scm_hw.sim.monitor import Monitor
from scm_hw.sim.vectors import Probe, Vectors

# Vectors are many and stalled runs are slow: a few hundred samples cross every state of a pipeline.
STALLED_VECTORS = 300
# A core that gives nothing for this long, beyond its own latency, has lost a sample.
PATIENCE = 2000
RESET_CYCLES = 2
# Name, share of cycles in which a sample is offered, share in which a result is taken, and whether
# the sink waits for out_valid.
STALLS = (
    ("stalled_output", 1.0, 0.4, False),
    ("stalled_both_sides", 0.6, 0.6, False),
    ("ready_after_valid", 0.8, 0.7, True),
)
NAMES = ("full_speed", *(stall[0] for stall in STALLS), "reset_in_mid_stream")
# A line for whoever watches the simulator: vectors done, and all.
PROGRESS = "scm-progress {} {}"


class Pins(NamedTuple):
    """What the test bench drives in one cycle."""

    rst: bool
    in_valid: bool
    in_data: int
    out_ready: bool


@dataclass(frozen=True)
class Outcome:
    """What one run found. `failures` is empty for a good core."""

    name: str
    vectors: int
    mismatches: int
    first_mismatch: Mismatch | None
    latency: int | None
    interval: int | None
    failures: tuple[str, ...] = field(default=())

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Outcome:
        first = record["first_mismatch"]
        fields = record | {
            "first_mismatch": Mismatch(**first) if first else None,
            "failures": tuple(record["failures"]),
        }
        return cls(**fields)


class Scenario:
    """Plays `vectors` once, through `driver` and `sink`, with resets that begin at cycles `resets`.

    `latency` and `interval` are what the core promises; they are checked for every sample of a run
    that is `timed`, which needs a driver and a sink that never stall.
    """

    def __init__(
        self,
        name: str,
        vectors: Vectors,
        driver: Driver,
        sink: Sink,
        *,
        latency: int,
        interval: int,
        timed: bool = False,
        resets: Sequence[int] = (),
    ) -> None:
        self.name = name
        self.vectors = vectors
        self.driver = driver
        self.sink = sink
        self.latency = latency
        self.interval = interval
        self.timed = timed
        self.monitor = Monitor()
        self.scoreboard = Scoreboard(vectors.outputs)
        self.cycle = 0
        self._reset_cycles = {start + i for start in (0, *resets) for i in range(RESET_CYCLES)}
        self._quiet = 0
        self._pins = Pins(True, False, 0, False)

    @property
    def finished(self) -> bool:
        """All answered, and then long enough for a doubled word to show; or given up."""
        if self.driver.exhausted and not self.scoreboard.outstanding:
            return self._quiet > 2 * self.latency + self.interval
        return self._quiet > PATIENCE + 4 * (self.latency + self.interval)

    def drive(self) -> Pins:
        valid, data = self.driver.drive()
        self._pins = Pins(self.cycle in self._reset_cycles, valid, data, self.sink.drive())
        return self._pins

    def observe(self, in_ready: bool, out_valid: bool, out_data: int | None) -> None:
        """What the core shows just before the edge that ends the cycle."""
        if self._pins.rst:
            self.monitor.reset()
            self.scoreboard.reset(self.driver.restart(self.vectors.begins))
            self.sink.observe(False, False)
        else:
            self._transfer(in_ready, out_valid, out_data)
        self.cycle += 1

    def _transfer(self, in_ready: bool, out_valid: bool, out_data: int | None) -> None:
        self._quiet += 1
        ready = self._pins.out_ready
        # The result first: a sample taken in this cycle can't be what comes out in it.
        if self.monitor.observe(self.cycle, out_valid, ready, out_data):
            self.scoreboard.deliver(self.cycle, out_data)
            self._quiet = 0
        if self.driver.observe(in_ready):
            self.scoreboard.accept(self.cycle)
            self._quiet = 0
        self.sink.observe(out_valid, ready)

    def outcome(self) -> Outcome:
        board = self.scoreboard
        intervals = board.intervals()
        return Outcome(
            name=self.name,
            vectors=len(self.vectors),
            mismatches=len(board.mismatches),
            first_mismatch=board.mismatches[0] if board.mismatches else None,
            latency=max(board.latencies, default=None) if self.timed else None,
            interval=max(intervals, default=None) if self.timed else None,
            failures=tuple(self._failures()),
        )

    def _failures(self) -> Iterator[str]:
        board = self.scoreboard
        if board.mismatches:
            yield f"{len(board.mismatches)} wrong results; {board.mismatches[0]}"
        if board.unasked:
            yield f"{board.unasked} results that no sample asked for"
        if board.outstanding or not self.driver.exhausted:
            missing = board.outstanding + len(self.vectors) - self.driver.taken
            yield f"{missing} samples without a result after {self.cycle} cycles"
        yield from self.monitor.violations[:3]
        if self.timed:
            yield from _wrong("latency", self.latency, board.latencies)
            yield from _wrong("initiation interval", self.interval, board.intervals())


def _wrong(what: str, promised: int, measured: Sequence[int]) -> Iterator[str]:
    for index, value in enumerate(measured):
        if value != promised:
            yield f"{what} of vector {index} is {value} cycles, not {promised}"
            return


def stalled_vectors(latency: int, interval: int) -> int:
    """How many a run with stalls takes: enough for its resets to find the pipeline full."""
    return max(STALLED_VECTORS, 9 * (latency + interval) // interval)


def all_scenarios(
    vectors: Vectors, *, latency: int, interval: int, seed: int, ready: bool = True
) -> list[Scenario]:
    """One scenario per name in NAMES: full speed over all vectors, stalls, resets in mid-stream.

    A core without `ready` sees the same gaps between samples, and every result is taken at once.
    """
    timing: dict[str, Any] = {"latency": latency, "interval": interval}
    # While the pipeline fills, once it is full, and twice in quick succession.
    full = 3 * (latency + interval)
    resets = (RESET_CYCLES + 1 + latency // 2, full + 7, 2 * full + 9, 2 * full + 12)
    # An interval needs two samples, and a reset in mid-stream needs a stream.
    few = _repeated(vectors, 3 * full // interval).head(stalled_vectors(latency, interval))
    scenarios = [full_speed(_repeated(vectors, 2), seed=seed, **timing)]
    for name, offered, taken, patient in STALLS:
        # A stream of its own for each scenario, whatever others there are.
        random = Random(f"{seed} {name}")
        driver = Driver(few.inputs, few.in_width, random_gate(random, offered), random)
        sink = Sink(random_gate(random, taken), patient=patient) if ready else Sink(always)
        scenarios.append(Scenario(name, few, driver, sink, **timing))
    random = Random(f"{seed} reset")
    driver = Driver(few.inputs, few.in_width, random_gate(random, 0.9), random)
    sink = Sink(random_gate(random, 0.8) if ready else always)
    scenarios.append(Scenario("reset_in_mid_stream", few, driver, sink, resets=resets, **timing))
    return scenarios


def played(scenarios: Sequence[Scenario], now: Scenario) -> tuple[int, int]:
    """Vectors that have gone in, and those of all scenarios; they are played in their order."""
    before = sum(len(one.vectors) for one in scenarios[: scenarios.index(now)])
    return before + now.driver.taken, sum(len(one.vectors) for one in scenarios)


def full_speed(vectors: Vectors, *, latency: int, interval: int, seed: int) -> Scenario:
    """A sample offered and a result taken in every cycle, with latency and interval checked."""
    driver = Driver(vectors.inputs, vectors.in_width, always, Random(seed))
    return Scenario(
        "full_speed",
        vectors,
        driver,
        Sink(always),
        latency=latency,
        interval=interval,
        timed=True,
    )


class FaultSearch:
    """Looks at the probes of a scenario's last vector, cycle by cycle.

    `difference` says what is wrong with the signal of a probe. `stage` is the first that was wrong.
    """

    def __init__(
        self,
        scenario: Scenario,
        probes: Sequence[Probe],
        difference: Callable[[Probe], str | None],
    ) -> None:
        self.scenario = scenario
        self.probes = probes
        self.difference = difference
        self.stage: str | None = None

    def look(self, cycle: int) -> None:
        """To be called once all signals of a cycle have settled."""
        accepted = self.scenario.scoreboard.accept_cycles
        last = len(self.scenario.vectors) - 1
        if self.stage is None and len(accepted) > last:
            # Cycles follow one another, so that the first difference is at the smallest offset.
            due = (probe for probe in self.probes if probe.offset == cycle - accepted[last])
            self.stage = next(filter(None, map(self.difference, due)), None)


def _repeated(vectors: Vectors, count: int) -> Vectors:
    """The vectors as they are, or over and over until they are at least `count`."""
    times = -(-count // len(vectors))
    if times <= 1:
        return vectors
    return replace(vectors, inputs=vectors.inputs * times, outputs=vectors.outputs * times)
