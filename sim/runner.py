"""Builds a core's Verilog for a simulator and runs the cocotb test bench on it, once.

    python -m scm_hw.sim.runner --simulator icarus --verilog rtl_out/name/scm_core.v \
        --vectors rtl_out/name --latency 5 --workdir sim_build

Ends with 0 where every scenario passed. What was found is in `outcomes.jsonl` in the work folder.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from cocotb_tools.check_results import get_results
from cocotb_tools.runner import Runner, get_runner

from scm_hw.errors import ToolError
from scm_hw.sim.files import OUTCOMES, WAVES
from scm_hw.sim.objects import RuntimeObjects
from scm_hw.tools import simulators

TEST_MODULE = "scm_hw.sim.checks"
AXI_MODULE = "scm_hw.sim.axi_checks"
BUILD_ARGS = {"icarus": [], "verilator": ["-Wno-fatal", "-Wno-lint", "-Wno-style"]}


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m scm_hw.sim.runner", description=__doc__)
    parser.add_argument("--simulator", choices=sorted(WAVES), default="icarus")
    parser.add_argument("--verilog", nargs="+", type=Path, required=True, help="source files")
    parser.add_argument("--top", default="scm_core", help="top module")
    parser.add_argument(
        "--vectors", type=Path, required=True, help="vector file, or a build's folder"
    )
    parser.add_argument("--latency", type=int, required=True, help="cycles that the core promises")
    parser.add_argument("--interval", type=int, default=1, help="cycles between samples")
    parser.add_argument("--free-running", action="store_true", help="the core has no ready")
    parser.add_argument("--seed", type=int, default=0, help="of the random stalls")
    parser.add_argument("--probes", type=Path, help="probes of the last vector, JSON")
    parser.add_argument(
        "--axi", choices=["axis", "axil", "wishbone"], help="the top is that wrapper"
    )
    parser.add_argument("--ports", help="fields of the wrapped core, JSON")
    parser.add_argument("--waves", action="store_true", help="record a waveform")
    parser.add_argument("--workdir", type=Path, default=Path("sim_build"))
    return parser


def environment(options: argparse.Namespace) -> dict[str, str]:
    """What `checks` reads."""
    settings = {
        "SCM_VECTORS": str(options.vectors.resolve()),
        "SCM_LATENCY": str(options.latency),
        "SCM_INTERVAL": str(options.interval),
        "SCM_SEED": str(options.seed),
        "SCM_OUTCOMES": str(options.workdir / OUTCOMES),
        # The checks say themselves what failed; to rewrite them takes longer than most runs.
        "COCOTB_REWRITE_ASSERTION_FILES": "",
    }
    if options.probes:
        settings["SCM_PROBES"] = str(options.probes.resolve())
    if options.free_running:
        settings["SCM_FREE_RUNNING"] = "1"
    if options.axi:
        settings["SCM_PORTS"] = options.ports
    return settings


def tests(options: argparse.Namespace) -> str:
    """A regular expression on test names: all of a wrapper, the search for a fault, or all."""
    if options.axi:
        return rf"\.{options.axi}_"
    return r"\.locate$" if options.probes else r"\.stream"


def build(options: argparse.Namespace) -> Runner:
    runner = get_runner(options.simulator)
    objects = runtime_objects(options) if options.simulator == "verilator" else []
    for own in objects:
        own.restore()
    sources = [path.resolve() for path in options.verilog]
    build_args = BUILD_ARGS[options.simulator]
    if options.simulator == "verilator" and not (options.waves or options.probes):
        sources.append(ports_alone(options))
        build_args = [*build_args, "--no-public-flat-rw"]
    runner.build(
        sources=sources,
        hdl_toplevel=options.top,
        build_dir=options.workdir,
        build_args=build_args,
        # Amaranth's Verilog has no timescale, and Icarus takes none for one second.
        timescale=("1ns", "1ps"),
        waves=options.waves,
        always=True,
    )
    for own in objects:
        own.keep()
    return runner


def ports_alone(options: argparse.Namespace) -> Path:
    """What Verilator is to show of a design: the ports of its top, where no more is looked at.

    cocotb has it show every signal, which makes three times as much C++ of a core.
    """
    text = "".join(path.read_text(encoding="utf-8") for path in options.verilog)
    header = re.search(rf"^module {re.escape(options.top)}\(([^)]*)\);", text, re.MULTILINE)
    if header is None:
        raise ToolError(
            f"can't simulate in verilator: it finds no module {options.top}; check --top"
        )
    shown = f'public_flat_rw -module "{options.top}" -var'
    # A header may have directions and widths before the names.
    ports = [f'{shown} "{port.split()[-1]}"' for port in header[1].split(",")]
    path: Path = options.workdir / "ports.vlt"
    path.write_text("\n".join(["`verilator_config", *ports, ""]), encoding="utf-8")
    return path


def runtime_objects(options: argparse.Namespace) -> list[RuntimeObjects]:
    """Verilator's library, and cocotb's main program.

    That one knows the size of the design's class, which depends on the number of its ports: all
    cores with the same handshake have as many, and all of a wrapper.
    """
    folder, waves = options.workdir, options.waves
    top = options.axi or ("free_running" if options.free_running else "core")
    if options.axi:
        ports = json.loads(options.ports)
        top += "_rows" * (ports["tdata"] is not None) + "_crossed" * ports["crossing"]
    return [
        RuntimeObjects(folder, waves=waves, kind="cocotb"),
        RuntimeObjects(folder, waves=waves, kind=top, files="verilator.o"),
    ]


def main(argv: Sequence[str] | None = None) -> int:
    options = arguments().parse_args(argv)
    options.workdir = options.workdir.resolve()
    options.workdir.mkdir(parents=True, exist_ok=True)
    # Outcomes are appended; those of an earlier run must not count.
    (options.workdir / OUTCOMES).unlink(missing_ok=True)
    os.environ.update(simulators.require(options.simulator))
    results = build(options).test(
        test_module=AXI_MODULE if options.axi else TEST_MODULE,
        hdl_toplevel=options.top,
        hdl_toplevel_lang="verilog",
        build_dir=options.workdir,
        test_dir=options.workdir,
        results_xml=str(options.workdir / "results.xml"),
        extra_env=environment(options),
        test_filter=tests(options),
        waves=options.waves,
        seed=options.seed,
    )
    _, failed = get_results(results)
    # An exit status has 8 bits, of which 256 failures would leave 0.
    return min(failed, 1)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ToolError as error:
        sys.exit(f"error: {error}")
