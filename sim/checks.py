"""The cocotb test bench of `scm_core`; one cocotb test per scenario.

Set by the runner in the environment: SCM_VECTORS, the vector file; SCM_LATENCY and SCM_INTERVAL,
what the core promises; SCM_SEED; SCM_OUTCOMES, where to write what was found; and, to locate a
fault, SCM_PROBES, probes of the last vector as JSON. SCM_FREE_RUNNING is set for a core without
ready.
"""

from __future__ import annotations

import functools
import json
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cocotb
from cocotb.triggers import Timer

from scm_hw.rtl.ports import LOAD_PINS
from scm_hw.sim.scenario import NAMES, PROGRESS, FaultSearch, Scenario, all_scenarios, played
from scm_hw.sim.vectors import Probe, Vectors

# Pins change just after the falling edge and are read just before the rising one, so that no
# simulator's order of events can matter.
HALF_CYCLE_NS = 5
# Seconds between lines of progress, and cycles between looks at the clock, which take time.
TELL_SECONDS, LOOK_CYCLES = 0.5, 16
BIT = re.compile(r"\[(\d+)\]$")


class Core:
    """The pins of the device under test, one clock cycle at a time."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.ready = has_ready()
        # Nothing is loaded: a readout that can be is the one that was built in.
        for pin, way, _, _ in LOAD_PINS:
            if way == "in" and hasattr(dut, pin):
                getattr(dut, pin).value = 0

    def drive(self, scenario: Scenario) -> None:
        pins = scenario.drive()
        self.dut.rst.value = int(pins.rst)
        self.dut.in_valid.value = int(pins.in_valid)
        self.dut.in_data.value = pins.in_data
        if self.ready:
            self.dut.out_ready.value = int(pins.out_ready)

    def sample(self, scenario: Scenario) -> None:
        dut = self.dut
        valid = resolved(dut.out_valid)
        # Undefined data is a fault only where it counts, and costs time to read.
        data = resolved(dut.out_data) if valid else None
        ready = bool(resolved(dut.in_ready)) if self.ready else True
        scenario.observe(ready, bool(valid), data)

    async def low_phase(self) -> None:
        self.dut.clk.value = 0
        await Timer(HALF_CYCLE_NS, "ns")

    async def high_phase(self) -> None:
        self.dut.clk.value = 1
        await Timer(HALF_CYCLE_NS, "ns")


def has_ready() -> bool:
    return "SCM_FREE_RUNNING" not in os.environ


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


def signal(dut: Any, path: str) -> Any:
    """The signal of that path in the core; None where the Verilog doesn't have it."""
    handle = dut
    for part in path.split("."):
        try:
            handle = handle[part]
        except (AttributeError, KeyError, TypeError):
            return None
    return handle


def difference(dut: Any, probe: Probe) -> str | None:
    """What is wrong with the signal; nothing where there is none."""
    handle = signal(dut, probe.signal)
    if handle is None:
        return net_difference(nets(dut).get(probe.signal, {}), probe)
    return probe.difference(resolved(handle), len(handle))


def net_difference(bits: dict[int, Any], probe: Probe) -> str | None:
    """The same in a netlist: bits that synthesis did without count as right."""
    known = {bit: value for bit, net in bits.items() if (value := resolved(net)) is not None}
    wrong = sum(1 << bit for bit, value in known.items() if value != probe.expected >> bit & 1)
    if not wrong:
        return None
    width = max(probe.expected.bit_length(), wrong.bit_length()) + 1
    return probe.difference((probe.expected ^ wrong) % (1 << width), width)


@functools.cache
def nets(dut: Any) -> dict[str, dict[int, Any]]:
    """The nets of a netlist, which is flat: a path is a name, with a bit's number at its end."""
    found: dict[str, dict[int, Any]] = {}
    for handle in dut:
        name = handle._name.strip("\\ ")
        bit = BIT.search(name)
        if len(handle) == 1:
            signal = name[: bit.start()] if bit else name
            found.setdefault(signal, {})[int(bit[1]) if bit else 0] = handle
    return found


def scenarios() -> list[Scenario]:
    vectors = Vectors.load(Path(os.environ["SCM_VECTORS"]))
    return all_scenarios(
        vectors,
        latency=int(os.environ["SCM_LATENCY"]),
        interval=int(os.environ["SCM_INTERVAL"]),
        seed=int(os.environ["SCM_SEED"]),
        ready=has_ready(),
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
