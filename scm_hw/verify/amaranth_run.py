"""The core itself in Amaranth's simulator, before there is any Verilog."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from amaranth.hdl import ClockDomain, Module
from amaranth.lib import wiring
from amaranth.sim import Simulator, SimulatorContext

from scm_hw.common.progress import advance
from scm_hw.sim.scenario import FaultSearch, Scenario, all_scenarios, played
from scm_hw.sim.vectors import Probe, Vectors
from scm_hw.verify.result import ProbeSource, SimResult, summarise

CLOCK_PERIOD = 1e-8


def run_amaranth(
    core_factory: Callable[[], wiring.Component],
    vectors: Vectors,
    latency: int,
    interval: int = 1,
    *,
    seed: int = 0,
    waveform: Path | None = None,
    failed: Path | None = None,
    probes: ProbeSource | None = None,
    ready: bool = True,
) -> SimResult:
    """The vectors through a fresh core, with the checks of the other simulators.

    Amaranth's simulator is slow on wide logic: a few vectors are enough, since the emitted Verilog
    sees all of them. `waveform` names a VCD file to write. A core that fails is run again, up to
    its first bad vector, for a waveform in `failed` and, where `probes` are given, the first stage
    that differs. `ready` says whether the core has a handshake.
    """
    timing: dict[str, Any] = {"latency": latency, "interval": interval, "ready": ready}
    scenarios = all_scenarios(vectors, **timing, seed=seed)
    _simulate(core_factory(), scenarios, waveform)
    version = importlib.metadata.version("amaranth")
    outcomes = [scenario.outcome() for scenario in scenarios]
    result = replace(summarise("amaranth", version, len(vectors), outcomes), waveform=waveform)
    first = result.first_mismatch
    if result.ok or failed is None:
        return result
    if not outcomes[0].mismatches or first is None:
        # Wrong cycles, or wrong under stalls or resets only: the first run that fails shows it.
        index = next(i for i, outcome in enumerate(outcomes) if outcome.failures)
        # Scenarios keep state, so a second run needs new ones; the seed makes them equal.
        again = all_scenarios(vectors, **timing, seed=seed)
        _simulate(core_factory(), [again[index]], failed)
        return replace(result, waveform=failed)
    head = vectors.head(first.index + 1)
    again = all_scenarios(head, **timing, seed=seed)
    wanted = probes(first.index) if probes is not None else ()
    stage = _simulate(core_factory(), again[:1], failed, wanted)
    return replace(result, stage=stage, waveform=failed)


def _simulate(
    core: wiring.Component,
    scenarios: list[Scenario],
    waveform: Path | None,
    probes: Sequence[Probe] = (),
) -> str | None:
    """Play the scenarios; the first stage that holds something else than its probe."""
    module = Module()
    # A domain of our own, so that scenarios can set its reset.
    module.domains.sync = domain = ClockDomain()
    module.submodules.scm_core = core
    stage = None

    async def play(ctx: SimulatorContext) -> None:
        nonlocal stage
        waits = "in_ready" in core.signature.members
        signals = {(p.signal, p.cycle): p.value for p in core.probes} if probes else {}

        def difference(probe: Probe) -> str | None:
            signal = signals[probe.signal, probe.offset]
            return probe.difference(ctx.get(signal.as_unsigned()), len(signal))

        for scenario in scenarios:
            search = FaultSearch(scenario, probes, difference)
            while not scenario.finished:
                pins = scenario.drive()
                ctx.set(domain.rst, pins.rst)
                ctx.set(core.in_valid, pins.in_valid)
                ctx.set(core.in_data, pins.in_data)
                if waits:
                    ctx.set(core.out_ready, pins.out_ready)
                cycle = scenario.cycle
                ready = bool(ctx.get(core.in_ready)) if waits else True
                valid = bool(ctx.get(core.out_valid))
                scenario.observe(ready, valid, ctx.get(core.out_data.as_unsigned()))
                search.look(cycle)
                advance(*played(scenarios, scenario))
                await ctx.tick()
            stage = stage or search.stage

    simulator = Simulator(module)
    simulator.add_clock(CLOCK_PERIOD)
    simulator.add_testbench(play)
    with simulator.write_vcd(str(waveform)) if waveform is not None else nullcontext():
        simulator.run()
    return stage
