"""What the signals inside a core should hold, to find the first stage that differs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from scm_hw.common.packing import unpack
from scm_hw.design import Design
from scm_hw.fold import FoldPlan, interpret_fold
from scm_hw.ir import ranges
from scm_hw.ir.interp import trace
from scm_hw.load.adaptive import DRIFT, ERROR
from scm_hw.load.records import COMPLETE
from scm_hw.rtl import OpProbe
from scm_hw.rtl.records import MACHINE
from scm_hw.sim.model import Mismatch
from scm_hw.sim.vectors import Probe


def expected_probes(design: Design, row: NDArray[np.int64]) -> list[Probe]:
    """What every signal inside the core should hold for one row of inputs."""
    if design.fold is not None:
        probes = _of_fold(design.fold, row)
        inside = "" if design.records is None else f"{MACHINE}."
        return [replace(probe, signal=inside + probe.signal) for probe in probes]
    if design.processor is not None:
        # It has no signal for an operation: each is computed where the others are.
        return []
    # A core's probes are known once it has been elaborated.
    assert design.verilog
    program = design.program
    probes = [probe for probe in design.core.probes if isinstance(probe, OpProbe)]
    # In the order of time, so that the first that differs is the cause.
    wanted = sorted(probes, key=lambda probe: (probe.cycle, probe.ref))
    values = trace(program, row[None, :], {probe.ref for probe in wanted})
    known = ranges(program)
    return [
        Probe(
            p.signal,
            p.cycle,
            int(values[p.ref][0]),
            f"cycle {p.cycle}, {program.ops[p.ref].name or p.signal}",
            known[p.ref].signed,
        )
        for p in wanted
    ]


def _of_fold(plan: FoldPlan, row: NDArray[np.int64]) -> list[Probe]:
    """Scores as the sample is taken, then, held until the next sample, bits layer by layer and
    scores."""
    values, lowered = interpret_fold(plan, row[None, :]), plan.machine.lowered
    scores = [lowered.program.ops[ref].name for ref in lowered.scores]
    found = [
        Probe(f"total{j}", 1, int(value), f"cycle 1, constants of {name or j}", True)
        for j, (name, value) in enumerate(zip(scores, values.start[0], strict=True))
    ]
    for number, bits in enumerate(values.hidden, start=1):
        word = sum(1 << place for place in np.flatnonzero(bits[0]).tolist())
        found.append(
            Probe(f"hidden{number}", plan.latency, word, f"layer{number}.node", each_bit=True)
        )
    found += [
        Probe(f"total{j}", plan.latency, int(value), f"readout of {name or j}", True)
        for j, (name, value) in enumerate(zip(scores, values.totals[0], strict=True))
    ]
    return found


def wrong_output(design: Design, mismatch: Mismatch) -> str | None:
    """The first output that differs, where no signal before it does; None if bits are undefined."""
    if mismatch.got is None:
        return None
    # Passes name their own operations, and a readout that is loaded is behind the program.
    ports, program = design.ports, design.meaning
    words = unpack((mismatch.got, mismatch.expected), ports.out_widths, ports.out_signed)
    got, expected = words.tolist()
    number = next(i for i, (a, b) in enumerate(zip(got, expected, strict=True)) if a != b)
    low, width = sum(ports.out_widths[:number]), ports.out_widths[number]
    if number >= len(program.outputs):
        flags = (COMPLETE,) if design.adaptive is None else (ERROR, DRIFT)
        name = flags[number - len(program.outputs)]
    else:
        name = program.ops[program.outputs[number]].name or f"output {number}"
    field = f"out_data[{low + width - 1}:{low}]"
    return f"{name} (signal {field}: {got[number]} for {expected[number]})"
