"""The core itself in Amaranth's simulator, before there is any Verilog."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from amaranth.hdl import ClockDomain, Module
from amaranth.lib import wiring
from amaranth.sim import Simulator, SimulatorContext

from scm_hw.progress import advance
from scm_hw.sim.scenario import Scenario, all_scenarios, played
from scm_hw.sim.vectors import Vectors
from scm_hw.simulate._result import SimResult, summarise

CLOCK_PERIOD = 1e-8


def run_amaranth(
    core_factory: Callable[[], wiring.Component],
    vectors: Vectors,
    latency: int,
    interval: int = 1,
    *,
    seed: int = 0,
    waveform: Path | None = None,
) -> SimResult:
    """The vectors through a fresh core, with the checks of the other simulators.

    Amaranth's simulator is slow on wide logic: a few vectors are enough, since the emitted Verilog
    sees all of them. `waveform` names a VCD file to write.
    """
    scenarios = all_scenarios(vectors, latency=latency, interval=interval, seed=seed)
    _simulate(core_factory(), scenarios, waveform)
    version = importlib.metadata.version("amaranth")
    outcomes = [scenario.outcome() for scenario in scenarios]
    result = summarise("amaranth", version, len(vectors), outcomes)
    return replace(result, waveform=waveform)


def _simulate(core: wiring.Component, scenarios: list[Scenario], waveform: Path | None) -> None:
    module = Module()
    module.domains.sync = domain = ClockDomain()
    module.submodules.scm_core = core

    async def play(ctx: SimulatorContext) -> None:
        for scenario in scenarios:
            while not scenario.finished:
                pins = scenario.drive()
                ctx.set(domain.rst, pins.rst)
                ctx.set(core.in_valid, pins.in_valid)
                ctx.set(core.in_data, pins.in_data)
                ctx.set(core.out_ready, pins.out_ready)
                ready, valid = bool(ctx.get(core.in_ready)), bool(ctx.get(core.out_valid))
                scenario.observe(ready, valid, ctx.get(core.out_data.as_unsigned()))
                advance(*played(scenarios, scenario))
                await ctx.tick()

    simulator = Simulator(module)
    simulator.add_clock(CLOCK_PERIOD)
    simulator.add_testbench(play)
    with simulator.write_vcd(str(waveform)) if waveform is not None else nullcontext():
        simulator.run()
