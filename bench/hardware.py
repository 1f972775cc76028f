"""What the compiler makes of models of the paper's shape, in LUTs, cycles and seconds.

    python -m bench.hardware [--quick] [--json FILE] [--before FILE]

Everything is trained on the simulated servo (11 inputs, 12-bit codes) and synthesised by Yosys for
xc7 (`synth_xilinx -flatten -abc9`), the whole core with encoders and handshake. LUTs are cells with
inverters, sites what a packer makes of them. `--quick` leaves out the large models. `--before`
names results of an earlier version, to stand beside. So do figures of da4ml and alkaid published
for this shape; with the extra `bench`, da4ml also compiles the very nodes of the first line.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from bench import folding, sharing
from bench.elsewhere import at_hand, through_da4ml
from scm_hw.boards import get
from scm_hw.design import CORE, Design, Options, compile_model
from scm_hw.ir.interp import interpret
from scm_hw.load import read_model
from scm_hw.tools.synthesis import synthesise
from scm_train import SCMRegressor, SCNRegressor, datasets
from scm_train.__main__ import main as train

BOARD = "nexys-a7"
SEED = 0
GROWTH = (15, 60, 240, 960)
# More than any of these takes.
MOST_CYCLES = 12
# Published for this shape: LUTs and stages.
ELSEWHERE = {"da4ml 0.6": (10_955, 7), "alkaid": (11_933, 10)}

UNIFORM = "thermometer:31"
QUANTILE = "thermometer:25:quantile"


def design_of(
    nodes: int,
    encoder: str = UNIFORM,
    inputs_per_node: int | None = None,
    linear: bool = False,
    **options: Any,
) -> Design:
    """Train sign nodes on the simulated servo and compile them."""
    data = datasets.load("servo_sim")
    learner = SCMRegressor if linear else SCNRegressor
    model = learner(
        max_nodes=nodes,
        layers=1,
        encoder=encoder,
        inputs_per_node=inputs_per_node,
        sign_pattern="free",
        stop_step=nodes,
        candidates=20,
        random_state=SEED,
    ).fit(
        data.X[: data.train_rows],
        data.y[: data.train_rows],
        eval_set=(data.X[data.train_rows :], data.y[data.train_rows :]),
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.npz"
        model.save(path)
        return compile_model(read_model(path), get(BOARD), Options(frac_bits=16, **options))


def demonstration(**options: Any) -> Design:
    """The model of `scm-hw demo`."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.npz"
        words = ["fit", "--dataset", "servo_sim", "--max-nodes", "60", "--quiet", "--out"]
        train([*words, str(path)])
        return compile_model(read_model(path), get(BOARD), Options(**options))


def measure(design: Design, synthesis: bool = True) -> dict[str, Any]:
    """LUTs estimated and synthesised, cycles, the longest stage."""
    found = synthesise({f"{CORE}.v": design.verilog}, CORE) if synthesis else None
    return {
        "nodes": sum(layer.nodes for layer in design.model.layers),
        "lut_estimate": design.estimate.lut,
        "lut": None if found is None else found.lut,
        "lut_sites": None if found is None else found.lut_sites,
        "ff": None if found is None else found.ff,
        "carry4": None if found is None else found.carry4,
        "dsp": None if found is None else found.dsp,
        "bram": None if found is None else found.bram,
        "cycles": design.schedule.latency,
        "longest_stage_ns": round(max(design.schedule.stage_ns), 2),
    }


def paper_shape() -> dict[str, dict[str, Any]]:
    """The paper's shape, and what else the same sixty nodes can be."""
    dense: dict[str, Any] = {"nodes": 60}
    selective: dict[str, Any] = {"nodes": 60, "inputs_per_node": 2}
    in_luts: dict[str, Any] = {"linear": True, "multipliers": "lut"}
    cases: dict[str, dict[str, Any]] = {
        "60 nodes, 31 uniform thresholds": dense,
        "the same, min-latency": {**dense, "pipeline": "min-latency"},
        "the same, max-clock": {**dense, "pipeline": "max-clock"},
        "the same, tables in block RAM": {**dense, "tables": "block"},
        "the same, with the linear part, LUTs": {**dense, **in_luts},
        "the same, with the linear part, DSPs": {**dense, "linear": True},
        "60 nodes, 25 quantile thresholds": {**dense, "encoder": QUANTILE},
        "60 nodes of two features": selective,
        "two features, with the linear part, LUTs": {**selective, **in_luts},
        "two features, with the linear part, DSPs": {**selective, "linear": True},
        "two features, min-latency": {**selective, "pipeline": "min-latency"},
        "200 nodes of two features": {**selective, "nodes": 200},
    }
    found = {
        "demonstration": measure(demonstration()),
        "demonstration, min-latency": measure(demonstration(pipeline="min-latency")),
    }
    return found | {name: measure(design_of(**case)) for name, case in cases.items()}


def growth(sizes: Sequence[int]) -> list[dict[str, Any]]:
    """Dense nodes without synthesis: how LUTs and seconds grow with the number of nodes.

    The smallest layouts: `balanced` would trade LUTs for a cycle at one size and not at another.
    """
    rows = []
    for nodes in sizes:
        base = design_of(nodes, latency=MOST_CYCLES)
        start, busy = perf_counter(), _processor_seconds()
        design = compile_model(base.model, base.board, base.options)
        text = design.verilog
        seconds, busy = perf_counter() - start, _processor_seconds() - busy
        row = measure(design, synthesis=False)
        row |= {
            "seconds": round(seconds, 2),
            # Less disturbed by other work on the machine.
            "processor_seconds": round(busy, 2),
            "verilog_bytes": len(text),
            "lut_per_node": round(row["lut_estimate"] / row["nodes"], 1),
        }
        rows.append(row)
    return rows


def _processor_seconds() -> float:
    """Of this process and of what it has called."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def interpreter_speed(design: Design, rows: int = 200_000) -> float:
    """Rows a minute through the literal program."""
    rng = np.random.default_rng(0)
    inputs = np.stack(
        [rng.integers(r.low, r.high, rows, endpoint=True) for r in design.input_ranges], axis=1
    )
    start = perf_counter()
    interpret(design.meaning, inputs)
    return 60 * rows / (perf_counter() - start)


def show(results: dict[str, Any], before: dict[str, Any]) -> None:
    console = Console(width=130)
    table = Table(title="the paper's shape on xc7a100t-1, 100 MHz")
    columns = ("LUT before", "cycles before", "LUT", "sites", "estimate", "FF", "DSP", "BRAM")
    for column in ("design", *columns, "cycles", "longest stage"):
        table.add_column(column, justify="left" if column == "design" else "right")
    for name, row in results["paper_shape"].items():
        old = before.get("paper_shape", {}).get(name, {})
        table.add_row(
            name,
            f"{old['lut']:,}" if old else "",
            str(old.get("cycles", "")),
            f"{row['lut']:,}",
            f"{row['lut_sites']:,}",
            f"{row['lut_estimate']:,}",
            f"{row['ff']:,}",
            str(row["dsp"]),
            f"{row['bram']:g}",
            str(row["cycles"]),
            f"{row['longest_stage_ns']} ns",
        )
    for name, (luts, stages) in ELSEWHERE.items():
        published = ["", "", f"{luts:,}", *[""] * 5, str(stages), ""]
        table.add_row(f"{name}, as published", *published)
    if (same := results["da4ml"]) is not None:
        counts = [f"{same[kind]:,}" for kind in ("lut", "lut_sites")]
        row = ["", "", *counts, "", f"{same['ff']:,}", "", "", str(same["stages"]), ""]
        table.add_row("da4ml, these 60 nodes", *row)
    console.print(table)
    table = Table(title="growth, dense nodes, estimated")
    for column in ("nodes", "LUT", "LUT per node", "cycles", "compile", "processor", "Verilog"):
        table.add_column(column, justify="right")
    for row in results["growth"]:
        table.add_row(
            str(row["nodes"]),
            f"{row['lut_estimate']:,}",
            str(row["lut_per_node"]),
            str(row["cycles"]),
            f"{row['seconds']} s",
            f"{row['processor_seconds']} s",
            f"{row['verilog_bytes'] / 1e6:.1f} MB",
        )
    console.print(table)
    console.print(f"interpreter: {results['interp_rows_per_minute']:,.0f} rows a minute, 60 nodes")


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="leave out the large models")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--before", type=Path, help="figures of an earlier version")
    args = parser.parse_args(argv)
    before = {} if args.before is None else json.loads(args.before.read_text())
    results = {
        "paper_shape": paper_shape(),
        "growth": growth(GROWTH[:2] if args.quick else GROWTH),
        "da4ml": through_da4ml(design_of(60)) if at_hand() else None,
        "sharing": [sharing.row_of(n) for n in sharing.SIZES[: 1 if args.quick else None]],
        "folding": folding.folding(args.quick),
        "interp_rows_per_minute": interpreter_speed(design_of(60)),
        "before": {"paper_shape": before.get("paper_shape", {})},
        "elsewhere": {name: {"lut": lut, "stages": n} for name, (lut, n) in ELSEWHERE.items()},
    }
    show(results, before)
    sharing.show(results["sharing"])
    folding.show(results["folding"])
    if args.json is not None:
        args.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
