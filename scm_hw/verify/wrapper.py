"""The AXI wrappers under cocotb, with bus models that stall at random."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from scm_hw.emit import wrapper_name
from scm_hw.errors import MismatchError, ToolError
from scm_hw.rtl.ports import CorePorts
from scm_hw.sim.files import OUTCOMES
from scm_hw.sim.vectors import Vectors
from scm_hw.tools import simulators
from scm_hw.tools.process import run_tool, telling_line

# Runs at full speed and with stalls, on each wrapper.
RUNS = {"axis": 4, "axil": 2}


def run_interface(
    interface: str,
    verilog: Sequence[Path],
    vectors: Vectors,
    ports: CorePorts,
    digest: str,
    simulator: str,
    *,
    workdir: Path,
    seed: int = 0,
    timeout: float = 1200.0,
) -> int:
    """Play vectors through a wrapped core; the number of results that were right, which is all.

    MismatchError where a result, a response, a register or the place of a `tlast` is wrong.
    """
    simulators.require(simulator)
    folder = workdir / f"{interface}_{simulator}"
    folder.mkdir(parents=True, exist_ok=True)
    vectors.save(folder / "vectors.txt")
    facts = asdict(ports) | {"digest": digest}
    argv = [sys.executable, "-m", "scm_hw.sim.runner", "--simulator", simulator]
    argv += ["--verilog", *(str(path.resolve()) for path in verilog)]
    argv += ["--top", wrapper_name(interface), "--axi", interface, "--ports", json.dumps(facts)]
    argv += ["--vectors", "vectors.txt", "--workdir", ".", "--seed", str(seed)]
    argv += ["--latency", str(ports.latency)]
    log = folder / "axi.log"
    code = run_tool(argv, name=simulator, cwd=folder, log=log, timeout=timeout)
    path = folder / OUTCOMES
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    outcomes = [json.loads(line) for line in lines]
    for outcome in outcomes:
        if outcome["failures"]:
            raise MismatchError(
                f"{wrapper_name(interface)} in {simulator} must give what the core gives, not "
                f"differ ({outcome['name']}: {outcome['failures'][0]})"
            )
    if code or len(outcomes) != RUNS[interface]:
        raise ToolError(
            f"{simulator} must finish its runs of {wrapper_name(interface)}, not end with code "
            f"{code} ({telling_line(log)})"
        )
    return sum(outcome["vectors"] for outcome in outcomes)
