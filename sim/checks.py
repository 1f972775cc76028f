"""The cocotb test bench of `scm_core`; one cocotb test per scenario.

Set by the runner in the environment: SCM_VECTORS, the vector file; SCM_LATENCY and SCM_INTERVAL,
what the core promises; SCM_SEED; SCM_OUTCOMES, where to write what was found; and, to locate a
fault, SCM_PROBES, probes of the last vector as JSON.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cocotb
from cocotb.triggers import Timer

from scm_hw.sim.scenario import NAMES, PROGRESS, FaultSearch, Scenario, all_scenarios, played
from scm_hw.sim.vectors import Probe, Vectors

# Pins change just after the falling edge and are read just before the rising one, so that no
# simulator's order of events can matter.
HALF_CYCLE_NS = 5
# Progress is told every so often, and the clock looked at not too often.
TELL_SECONDS, LOOK_CYCLES = 0.5, 16


class Core:
    """The pins of the device under test, one clock cycle at a time."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut

    def drive(self, scenario: Scenario) -> None:
        pins = scenario.drive()
        self.dut.rst.value = int(pins.rst)
        self.dut.in_valid.value = int(pins.in_valid)
        self.dut.in_data.value = pins.in_data
        self.dut.out_ready.value = int(pins.out_ready)

    def sample(self, scenario: Scenario) -> None:
        dut = self.dut
        valid = resolved(dut.out_valid)
        # Undefined data is a fault only where it counts, and costs time to read.
        data = resolved(dut.out_data) if valid else None
        scenario.observe(bool(resolved(dut.in_ready)), bool(valid), data)

    async def low_phase(self) -> None:
        self.dut.clk.value = 0
        await Timer(HALF_CYCLE_NS, "ns")

    async def high_phase(self) -> None:
        self.dut.clk.value = 1
        await Timer(HALF_CYCLE_NS, "ns")


def resolved(handle: Any) -> int | None:
    """The signal's unsigned value, or None where a bit of it is neither 0 nor 1."""
    value = handle.value
    return int(value) if value.is_resolvable else None


async def play(dut: Any, scenario: Scenario, look: Callable[[int], None] | None = None) -> None:
    """Play to the end; `look` is called with the cycle's number when all signals have settled."""
    core = Core(dut)
    while not scenario.finished:
        core.drive(scenario)
        await core.low_phase()
        cycle = scenario.cycle
        core.sample(scenario)
        if look is not None:
            look(cycle)
        await core.high_phase()


def difference(dut: Any, probe: Probe) -> str | None:
    """What is wrong with the signal; nothing where the emitted Verilog doesn't have it."""
    handle = dut
    for part in probe.signal.split("."):
        try:
            handle = handle[part]
        except (AttributeError, KeyError, TypeError):
            return None
    return probe.difference(resolved(handle), len(handle))


def scenarios() -> list[Scenario]:
    vectors = Vectors.load(Path(os.environ["SCM_VECTORS"]))
    return all_scenarios(
        vectors,
        latency=int(os.environ["SCM_LATENCY"]),
        interval=int(os.environ["SCM_INTERVAL"]),
        seed=int(os.environ["SCM_SEED"]),
    )


def record(entry: dict[str, Any]) -> None:
    """Append a line to the outcomes: a crash in a later test leaves the earlier ones readable."""
    with open(os.environ["SCM_OUTCOMES"], "a", encoding="utf-8") as file:
        file.write(json.dumps(entry) + "\n")


@cocotb.test()
@cocotb.parametrize(name=NAMES)
async def stream(dut: Any, name: str) -> None:
    """Every scenario, from a reset of its own."""
    every = scenarios()
    scenario = every[NAMES.index(name)]
    told = time.monotonic()

    def look(cycle: int) -> None:
        nonlocal told
        if cycle % LOOK_CYCLES == 0 and time.monotonic() > told + TELL_SECONDS:
            told = time.monotonic()
            print(PROGRESS.format(*played(every, scenario)), flush=True)

    await play(dut, scenario, look)
    outcome = scenario.outcome()
    record(outcome.to_json())
    assert not outcome.failures, f"{outcome.name}: {'; '.join(outcome.failures)}"


@cocotb.test()
async def locate(dut: Any) -> None:
    """Which stage first holds a wrong value for the last vector."""
    probes = [Probe(**p) for p in json.loads(Path(os.environ["SCM_PROBES"]).read_text())]
    scenario = scenarios()[0]
    search = FaultSearch(scenario, probes, lambda probe: difference(dut, probe))
    await play(dut, scenario, search.look)
    record({"stage": search.stage})
