"""A self-checking test bench in Verilog-2001, for Vivado's simulator and Icarus alike."""

from __future__ import annotations

from scm_hw.common.names import DEFAULT, Names
from scm_hw.common.templates import render
from scm_hw.errors import OptionError
from scm_hw.sim.scenario import stalled_vectors
from scm_hw.sim.vectors import INPUTS, OUTPUTS, Vectors

_TEMPLATE = "tb_scm_core.v"
# The instance of the core in it.
DUT = "dut"
# The cycles whose switching is written down.
CLOCK_PS = 10_000
ACTIVITY_CYCLES = 400


def testbench_files(
    vectors: Vectors,
    latency: int,
    interval: int = 1,
    names: Names = DEFAULT,
    handshake: str = "global",
    *,
    reload: bool = False,
) -> dict[str, str]:
    """The test bench and its vectors, file name to text.

    It plays the vectors at full speed, and the first of them with stalls on both sides, into a sink
    that waits for out_valid, and with resets in mid-stream; its last line begins with PASS or FAIL.
    Without a handshake samples come with gaps, and the sink is always ready.
    The hex files are looked for in the current folder; +inputs= and +outputs= name others.
    """
    if latency < 1 or interval < 1:
        raise OptionError(
            f"latency and interval must be at least 1 cycle, not {latency!r} and {interval!r}; "
            "the core has registers"
        )
    bench = render(
        __package__,
        _TEMPLATE,
        core=names.core,
        in_width=vectors.in_width,
        out_width=vectors.out_width,
        count=len(vectors),
        stalled=min(len(vectors), stalled_vectors(latency, interval)),
        latency=latency,
        ready=handshake != "none",
        reload=reload,
        interval=interval,
        inputs=INPUTS,
        outputs=OUTPUTS,
        activity=ACTIVITY_CYCLES,
        records=vectors.records,
    )
    return {names.testbench_file: bench, **vectors.hex_files()}
