"""A self-checking test bench in Verilog-2001, for Vivado's simulator and Icarus alike."""

from __future__ import annotations

from scm_hw.common.templates import render
from scm_hw.errors import OptionError
from scm_hw.sim.scenario import stalled_vectors
from scm_hw.sim.vectors import INPUTS, OUTPUTS, Vectors

TESTBENCH = "tb_scm_core.v"
# The core in it, by its instances; and the cycles whose switching is written down.
DUT = ("tb_scm_core", "dut")
CLOCK_PS = 10_000
ACTIVITY_CYCLES = 400


def testbench_files(vectors: Vectors, latency: int, interval: int = 1) -> dict[str, str]:
    """The test bench and its vectors, file name to text.

    It plays the vectors at full speed, and the first of them with stalls on both sides, into a sink
    that waits for out_valid, and with resets in mid-stream; its last line begins with PASS or FAIL.
    The hex files are looked for in the current folder; +inputs= and +outputs= name others.
    """
    if latency < 1 or interval < 1:
        raise OptionError(
            f"latency and interval must be at least 1 cycle, not {latency!r} and {interval!r}; "
            "the core has registers"
        )
    bench = render(
        __package__,
        TESTBENCH,
        in_width=vectors.in_width,
        out_width=vectors.out_width,
        count=len(vectors),
        stalled=min(len(vectors), stalled_vectors(latency, interval)),
        latency=latency,
        interval=interval,
        inputs=INPUTS,
        outputs=OUTPUTS,
        activity=ACTIVITY_CYCLES,
    )
    return {TESTBENCH: bench, **vectors.hex_files()}
