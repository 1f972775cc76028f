"""One model in all sizes: folded from a single lane to all of them, and unrolled.

    python -m bench.folding [--quick] [--json FILE]

A machine of two layers, trained on the simulated servo, at five folds and unrolled. Every core is
simulated in Verilator on the same vectors, at full speed, with stalls and resets. The table has the
cycles that the plan predicts beside those measured, and the LUTs that the cost model expects beside
those of Yosys (`synth_xilinx -flatten -abc9`). A second one holds the cost model against Yosys on
other kinds of models. `--quick` leaves synthesis out.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from scm_hw.boards import get
from scm_hw.design import CORE, Design, Options, compile_model
from scm_hw.load import Model, read_model
from scm_hw.tools.synthesis import synthesise
from scm_hw.verify import run_verilator
from scm_hw.verify.rows import CheckRows
from scm_train import DeepSCNRegressor, IRVFLClassifier, datasets

BOARD = "nexys-a7"
SEED = 0
NODES = (24, 12)
# From one lane to a lane for each connection.
FOLDS = ("1x1", "2x4", "4x16", "12x39", "24x77,12x24")
VECTORS = 12


def trained(learner: Any, rows: int = 4000, dataset: str = "servo_sim") -> Model:
    """A learner's model after a visit to the model file."""
    data = datasets.load(dataset)
    rows = min(rows, data.train_rows)
    model = learner.fit(data.X[:rows], data.y[:rows])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.npz"
        model.save(path)
        return read_model(path)


def two_layers() -> Model:
    return trained(deep(NODES, "thermometer:7"))


def deep(nodes: tuple[int, ...], encoder: str) -> DeepSCNRegressor:
    return DeepSCNRegressor(
        max_nodes=nodes,
        layers=len(nodes),
        encoder=encoder,
        inputs_per_node=None,
        sign_pattern="free",
        candidates=10,
        lambdas=(1.0,),
        random_state=SEED,
    )


def random_rows(design: Design, count: int = VECTORS) -> NDArray[np.int64]:
    rng = np.random.default_rng(SEED)
    reach = design.input_ranges
    return np.stack([rng.integers(r.low, r.high, count, endpoint=True) for r in reach], axis=1)


def measure(design: Design, rows: NDArray[np.int64], synthesis: bool) -> dict[str, Any]:
    """One core: its cycles predicted and measured, its LUTs estimated and synthesised."""
    plan = design.schedule
    vectors = CheckRows(rows, design.interpret(rows), None, None, slice(0)).vectors(design)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = folder / f"{CORE}.v"
        source.write_text(design.verilog)
        result = run_verilator(
            source, vectors, plan.latency, plan.initiation_interval, workdir=folder / "simulation"
        )
    found = synthesise({f"{CORE}.v": design.verilog}, CORE) if synthesis else None
    guess = design.estimate
    return {
        "fold": "unrolled" if design.fold is None else design.options.fold,
        "lanes": None if design.fold is None else design.fold.lanes,
        "cycles_predicted": plan.latency,
        "cycles": result.cycles,
        "interval": result.interval,
        "vectors": result.vectors,
        "mismatches": result.mismatches,
        "failures": list(result.failures),
        "lut_estimate": guess.lut,
        "lut": None if found is None else found.lut_sites,
        "ff": None if found is None else found.ff,
        "dsp": None if found is None else found.dsp,
        "bram": None if found is None else found.bram,
    }


def sizes(
    model: Model, folds: Sequence[str] = FOLDS, *, synthesis: bool = True
) -> list[dict[str, Any]]:
    """The model at each fold, then unrolled; all on the same vectors."""
    rows: NDArray[np.int64] | None = None
    found = []
    for fold in (*folds, "none"):
        design = compile_model(model, get(BOARD), Options(fold=fold, frac_bits=16))
        rows = random_rows(design) if rows is None else rows
        found.append(measure(design, rows, synthesis))
    return found


def cost_model() -> list[dict[str, Any]]:
    """Estimates beside Yosys on a deep model, a classifier, and the paper's shape."""
    images = IRVFLClassifier(max_nodes=100, encoder="binary:1", input_bits=1, random_state=SEED)
    cases = {
        "60 nodes of 11 x 25 bits, 4x32": (trained(deep((60,), "thermometer:25:quantile")), "4x32"),
        "20-15-10-20-10, 8x16": (trained(deep((20, 15, 10, 20, 10), "thermometer:31")), "8x16"),
        "ten classes, 100 nodes, 8x32": (trained(images, 2000, "mnist"), "8x32"),
    }
    found = []
    for name, (model, fold) in cases.items():
        design = compile_model(model, get(BOARD), Options(fold=fold, frac_bits=16))
        counted = synthesise({f"{CORE}.v": design.verilog}, CORE)
        row = {"design": name, "lut_estimate": design.estimate.lut, "lut": counted.lut_sites}
        found.append(row | {"ff_estimate": design.estimate.ff, "ff": counted.ff})
    return found


def show(results: dict[str, Any]) -> None:
    console = Console(width=110)
    table = Table(title=f"{'-'.join(map(str, NODES))} nodes on 11 x 7 bits, xc7a100t-1, 100 MHz")
    columns = ("fold", "lanes", "cycles", "measured", "LUT", "estimate", "FF", "BRAM", "wrong")
    for column in columns:
        table.add_column(column, justify="left" if column == "fold" else "right")
    for row in results["sizes"]:
        keys = ("lanes", "cycles_predicted", "cycles", "lut", "lut_estimate", "ff", "bram")
        shown = ["" if row[key] is None else f"{row[key]:,}" for key in keys]
        table.add_row(row["fold"], *shown, f"{row['mismatches']} of {row['vectors']}")
    console.print(table)
    if not results["cost_model"]:
        return
    table = Table(title="the cost model of folded cores")
    for column in ("design", "LUT", "estimate", "FF", "estimate"):
        table.add_column(column, justify="left" if column == "design" else "right")
    for row in results["cost_model"]:
        keys = ("lut", "lut_estimate", "ff", "ff_estimate")
        table.add_row(row["design"], *(f"{row[key]:,}" for key in keys))
    console.print(table)


def folding(quick: bool = False) -> dict[str, Any]:
    """All of it, as what JSON can hold."""
    return {
        "sizes": sizes(two_layers(), synthesis=not quick),
        "cost_model": [] if quick else cost_model(),
    }


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="leave synthesis out")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    args = parser.parse_args(argv)
    results = folding(args.quick)
    show(results)
    if args.json is not None:
        args.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
