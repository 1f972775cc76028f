"""What the signals inside a core should hold, to find the first stage that differs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scm_hw.design import Design
from scm_hw.ir import ranges
from scm_hw.ir.interp import trace
from scm_hw.sim.vectors import Probe


def expected_probes(design: Design, row: NDArray[np.int64]) -> list[Probe]:
    """What every signal inside the core should hold for one row of inputs."""
    # A core's probes are known once it has been elaborated.
    assert design.verilog
    program = design.program
    wanted = sorted(design.core.probes, key=lambda probe: (probe.cycle, probe.ref))
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
