"""The synthesised netlist in Icarus, with models of the device's primitives."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from scm_hw.sim.vectors import Vectors
from scm_hw.verify.cocotb_run import run_icarus
from scm_hw.verify.primitives import primitive_models
from scm_hw.verify.result import ProbeSource, SimResult

NETLIST = "netlist"


def run_netlist(
    netlist: Path,
    vectors: Vectors,
    latency: int,
    interval: int = 1,
    *,
    workdir: Path,
    seed: int = 0,
    timeout: float = 3600.0,
    top: str = "scm_core",
    family: str = "xc7",
    probes: ProbeSource | None = None,
    ready: bool = True,
) -> SimResult:
    """Every vector through the netlist, with the checks that its Verilog has passed.

    Of the core's signals, synthesis leaves some, or some bits of them: those can be probed.
    """
    workdir.mkdir(parents=True, exist_ok=True)
    models = workdir / "primitives.v"
    text = primitive_models(netlist.read_text(encoding="utf-8"), family)
    models.write_text(text, encoding="utf-8")
    result = run_icarus(
        [netlist, models],
        vectors,
        latency,
        interval,
        workdir=workdir,
        seed=seed,
        timeout=timeout,
        top=top,
        probes=probes,
        ready=ready,
    )
    return replace(result, simulator=NETLIST)
