"""Models that are too large for the smaller part unrolled, or for both, each on two boards.

    python -m bench.large [--only NAME] [--json FILE]

Trained sign machines of the shapes in `SHAPES`, compiled with `--fold auto` for an XC7A100T and an
XC7A35T. Every core is simulated at full speed, with stalls and with resets, in Verilator and, on
fewer vectors, in Icarus. Cycles are those measured, LUTs the cost model's.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.folding import random_rows, trained
from scm_hw.boards import get
from scm_hw.design import CORE, Design, Options, compile_model
from scm_hw.interp import interpret
from scm_hw.load import Model
from scm_hw.rows import CheckRows
from scm_hw.simulate import run_icarus, run_verilator
from scm_train import SCMClassifier, SCMRegressor

BOARDS = ("arty-a7", "arty-a7-35")
SEED = 0
VECTORS, ICARUS_VECTORS = 40, 4


def classifier(nodes: int) -> Model:
    learner = SCMClassifier(
        max_nodes=nodes,
        layers=1,
        encoder="thermometer:1",
        inputs_per_node=None,
        sign_pattern="free",
        candidates=2,
        stop_step=nodes,
        random_state=SEED,
    )
    return trained(learner, 1000, "mnist")


def regressor(nodes: tuple[int, ...], encoder: str, dataset: str) -> Model:
    learner = SCMRegressor(
        max_nodes=nodes,
        layers=len(nodes),
        encoder=encoder,
        inputs_per_node=None,
        sign_pattern="free",
        candidates=2,
        stop_step=max(nodes),
        lambdas=(1.0,),
        random_state=SEED,
    )
    return trained(learner, 1500, dataset)


RASTRIGIN = (17, 13, 10, 472, 287, 288, 54, 52, 44, 9)
SHAPES: dict[str, Callable[[], Model]] = {
    "mnist, 200 nodes": lambda: classifier(200),
    "mnist, 1000 nodes": lambda: classifier(1000),
    "rolling thickness, 117-24-31": lambda: regressor(
        (117, 24, 31), "thermometer:25", "rolling_thickness_sim"
    ),
    "rastrigin, ten layers": lambda: regressor(RASTRIGIN, "thermometer:10", "rastrigin"),
}


def measure(design: Design) -> dict[str, Any]:
    """Cycles, LUTs and wrong results of one core."""
    found: dict[str, Any] = {}
    start = perf_counter()
    rows = random_rows(design, VECTORS)
    vectors = CheckRows(rows, interpret(design.meaning, rows), None, None).vectors(design)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / f"{CORE}.v"
        source.write_text(design.verilog)
        plan = design.schedule
        for run, count in ((run_verilator, VECTORS), (run_icarus, ICARUS_VECTORS)):
            some = vectors.head(count)
            interval = plan.initiation_interval
            result = run(source, some, plan.latency, interval, workdir=Path(folder))
            found[result.simulator] = {
                "vectors": count,
                "mismatches": result.mismatches,
                "failures": list(result.failures),
                "cycles": result.cycles,
                "seconds": round(perf_counter() - start, 1),
            }
            start = perf_counter()
    return found


def row_of(name: str, model: Model, board: str) -> dict[str, Any]:
    start = perf_counter()
    design = compile_model(model, get(board), Options())
    seconds = perf_counter() - start
    folds = ["unrolled"] if design.fold is None else map(str, design.fold.folds)
    return {
        "model": name,
        "nodes": [layer.nodes for layer in design.model.layers],
        "board": board,
        "fold": ", ".join(dict.fromkeys(folds)),
        "cycles_predicted": design.schedule.latency,
        "interval": design.schedule.initiation_interval,
        "lut_estimate": design.estimate.lut,
        "bram_estimate": design.estimate.bram,
        "compile_seconds": round(seconds, 1),
        "verilog_bytes": len(design.verilog),
        "simulated": measure(design),
    }


def show(rows: list[dict[str, Any]]) -> None:
    table = Table(title="large models, 100 MHz")
    columns = ("model", "board", "fold", "cycles", "measured", "LUT, estimate", "BRAM", "wrong")
    for column in columns:
        left = column in ("model", "board", "fold")
        table.add_column(column, justify="left" if left else "right")
    for row in rows:
        runs = row["simulated"].values()
        measured = "/".join(dict.fromkeys(str(run["cycles"]) for run in runs))
        wrong = sum(run["mismatches"] for run in runs)
        tried = sum(run["vectors"] for run in runs)
        table.add_row(
            row["model"],
            row["board"],
            row["fold"],
            f"{row['cycles_predicted']:,}",
            measured,
            f"{row['lut_estimate']:,}",
            f"{row['bram_estimate']:g}",
            f"{wrong} of {tried}",
        )
    Console(width=130).print(table)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=SHAPES, help="one of the models")
    parser.add_argument("--json", type=Path, help="write the figures to this file, beside others'")
    args = parser.parse_args(argv)
    wanted = [args.only] if args.only else list(SHAPES)
    rows = json.loads(args.json.read_text()) if args.json and args.json.exists() else []
    rows = [row for row in rows if row["model"] not in wanted]
    for name in wanted:
        model = SHAPES[name]()
        for board in BOARDS:
            rows.append(row_of(name, model, board))
            if args.json is not None:
                args.json.write_text(json.dumps(rows, indent=2) + "\n")
    rows.sort(key=lambda row: list(SHAPES).index(row["model"]))
    show(rows)


if __name__ == "__main__":
    main()
