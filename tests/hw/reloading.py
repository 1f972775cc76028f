"""Machines with another readout, and a core that is loaded while samples go through it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from random import Random

import numpy as np
from amaranth.hdl import ClockDomain, Module
from amaranth.sim import Simulator, SimulatorContext

from scm_hw import boards
from scm_hw.common.packing import pack, unpack
from scm_hw.design import Design, Options, compile_model
from scm_hw.ir.interp import interpret
from scm_hw.load import Model
from scm_hw.load.upload import LoadStatus, Upload, make_upload

BOARD = boards.get("arty-a7")


def refitted(model: Model, seed: int, scale: float = 0.1) -> Model:
    """The same hidden layers and linear part with another readout."""
    rng = np.random.default_rng(seed)
    readout = rng.normal(0, scale, model.readout.shape)
    if model.families is not None:
        readout[: len(readout) - model.families.nodes] = 0
    return replace(model, readout=readout, intercept=rng.uniform(0.2, 0.8, model.outputs))


def reloadable(model: Model, **options: object) -> Design:
    return compile_model(model, BOARD, Options(reload="readout", **options))


def upload_for(design: Design, model: Model) -> Upload:
    """As a host makes it that knows the design alone; the model in the units of the ports."""
    fixed, plan = design.fixed, design.loadable.plan
    output_bits = fixed.grid_bits if fixed.grid_bits < fixed.product_bits else None
    return make_upload(
        model,
        frac_bits=fixed.frac_bits,
        output_bits=output_bits,
        widths=plan.widths,
        digest=plan.digest,
    )


@dataclass
class Run:
    """What a core was given and gave: results, and after how many of them each event was over."""

    results: list[int] = field(default_factory=list)
    taken: int = 0
    statuses: list[LoadStatus] = field(default_factory=list)


START, REVERT, RESET = "start", "revert", "reset"


def events_of(data: bytes) -> list[int | str]:
    return [START, *data]


def run(
    design: Design,
    samples: Sequence[int],
    events: Sequence[Sequence[int | str]],
    *,
    seed: int = 0,
    open_share: float = 0.7,
    pause: int = 12,
) -> Run:
    """Samples over and over under random stalls, beside groups of events on the loading pins.

    A status is read after each group, `pause` cycles later; the run ends that long after the last.
    """
    core, found, random = design.new_core(), Run(), Random(seed)
    module = Module()
    module.domains.sync = domain = ClockDomain()
    module.submodules.core = core

    def pins() -> Iterator[int | str | None]:
        for group in events:
            for event in group:
                while random.random() > open_share:
                    yield None
                yield event
            yield from [None] * pause
            found.statuses.append(LoadStatus(status))

    status, offered = 0, False

    async def play(ctx: SimulatorContext) -> None:
        nonlocal status, offered
        for event in pins():
            ctx.set(core.load_start, event == START)
            ctx.set(core.load_revert, event == REVERT)
            ctx.set(core.load_valid, isinstance(event, int))
            # What is there without valid is noise.
            ctx.set(core.load_data, event if isinstance(event, int) else random.getrandbits(8))
            ctx.set(domain.rst, event == RESET)
            offered = offered or random.random() < open_share
            ctx.set(core.in_valid, offered)
            ctx.set(core.in_data, samples[found.taken % len(samples)] if offered else 0)
            takes = random.random() < open_share
            ctx.set(core.out_ready, takes)
            if ctx.get(core.out_valid) and takes:
                found.results.append(ctx.get(core.out_data.as_unsigned()))
            if offered and ctx.get(core.in_ready):
                found.taken, offered = found.taken + 1, False
            await ctx.tick()
            status = ctx.get(core.load_status)

    simulator = Simulator(module)
    simulator.add_clock(1e-8)
    simulator.add_testbench(play)
    simulator.run()
    return found


def words(design: Design, inputs: np.ndarray) -> list[int]:
    return pack(inputs, list(design.ports.in_widths))


def results(design: Design, found: Run) -> np.ndarray:
    ports = design.ports
    return unpack(found.results, list(ports.out_widths), list(ports.out_signed))


def phases(got: np.ndarray, inputs: np.ndarray, programs: Sequence[object]) -> list[int]:
    """How many results are of each program in turn; AssertionError where one is of none in order.

    As many as possible are of the earlier ones.
    """
    expected = [interpret(program, inputs) for program in programs]
    counts, number = [0] * len(programs), 0
    for i, row in enumerate(got):
        while not np.array_equal(row, expected[number][i % len(inputs)]):
            number += 1
            assert number < len(programs), f"result {i} is of no model that is due"
        counts[number] += 1
    return counts
