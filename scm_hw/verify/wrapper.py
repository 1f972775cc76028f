"""The AXI wrappers under cocotb, with bus models that stall at random."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from scm_hw.common.names import DEFAULT, Names
from scm_hw.errors import MismatchError, ToolError
from scm_hw.rtl.ports import CorePorts
from scm_hw.sim.files import WAVES
from scm_hw.sim.vectors import Vectors
from scm_hw.tools import simulators
from scm_hw.tools.process import telling_line
from scm_hw.verify.cocotb_run import CocotbRun, run_cocotb

# Runs at full speed and with stalls, on each wrapper.
RUNS = {"axis": 4, "axil": 2, "wishbone": 2}


def run_interface(
    interface: str,
    verilog: Sequence[Path],
    vectors: Vectors,
    ports: CorePorts,
    digest: str,
    simulator: str,
    *,
    workdir: Path,
    names: Names = DEFAULT,
    seed: int = 0,
    timeout: float = 1200.0,
) -> int:
    """Play vectors through a wrapped core; the number of results that were right, which is all.

    MismatchError where a result, a response, a register or the place of a `tlast` is wrong.
    """
    simulators.require(simulator)
    top = names.wrapper(interface)
    facts = asdict(ports) | {"digest": digest}

    def run(folder: Path, *more: str) -> CocotbRun:
        return run_cocotb(
            simulator,
            verilog,
            top,
            vectors,
            folder,
            latency=ports.latency,
            seed=seed,
            more=["--axi", interface, "--ports", json.dumps(facts), *more],
            timeout=timeout,
        )

    found = run(workdir / f"{interface}_{simulator}")
    outcomes = found.records
    for outcome in outcomes:
        if outcome["failures"]:
            failed = workdir / f"{interface}_{simulator}_failed"
            # Recording is slow, so only a run that is known to fail is recorded.
            run(failed, "--waves")
            raise MismatchError(
                f"{top} in {simulator} differs from the core "
                f"({outcome['name']}: {outcome['failures'][0]}); "
                f"see the waveform {failed / WAVES[simulator].format(top=top)}"
            )
    if found.code or len(outcomes) != RUNS[interface]:
        raise ToolError(
            f"can't simulate {top} in {simulator}: it ended with code "
            f"{found.code} ({telling_line(found.log)})"
        )
    return sum(outcome["vectors"] for outcome in outcomes)
