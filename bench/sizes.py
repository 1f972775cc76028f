"""Models of all sizes, each on a large and on a small board.

    python -m bench.sizes [--json FILE] [MODEL ...]

Two classifiers of images, the paper's 117-24-31 nodes on 36 x 25 bits, and ten layers like those of
its Rastrigin machine. The compiler chooses between unrolled and folded by itself. Every core is
simulated in Verilator on the same vectors, at full speed, with stalls and resets; LUTs are those of
the cost model. Supervised where that gives as many nodes as the shape asks for; the ten layers and
the classifiers take their nodes as they are drawn.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.folding import SEED, deep, measure, random_rows, trained
from scm_hw.boards import get
from scm_hw.design import Options, compile_model
from scm_hw.load import Model
from scm_train import DIRVFL1Regressor, IRVFLClassifier

BOARDS = ("arty-a7", "arty-a7-35")
TEN_LAYERS = (17, 13, 10, 472, 287, 288, 54, 52, 44, 9)


def images(nodes: int) -> Model:
    learner = IRVFLClassifier(
        max_nodes=nodes, encoder="binary:1", input_bits=1, inputs_per_node=None, random_state=SEED
    )
    return trained(learner, 10_000, "mnist")


def thicknesses() -> Model:
    return trained(deep((117, 24, 31), "thermometer:25"), 4000, "rolling_thickness_sim")


def ten_layers() -> Model:
    learner = DIRVFL1Regressor(
        max_nodes=TEN_LAYERS,
        layers=len(TEN_LAYERS),
        encoder="thermometer:31",
        inputs_per_node=None,
        random_state=SEED,
    )
    return trained(learner, 40_000, "rastrigin")


MODELS: dict[str, Callable[[], Model]] = {
    "mnist-200": partial(images, 200),
    "mnist-1000": partial(images, 1000),
    "117-24-31": thicknesses,
    "ten-layers": ten_layers,
}


def on_board(name: str, model: Model, board: str) -> dict[str, Any]:
    """One model on one board, with the time it takes to compile, Verilog included."""
    start = perf_counter()
    design = compile_model(model, get(board), Options())
    text = design.verilog
    seconds = perf_counter() - start
    found = measure(design, random_rows(design), synthesis=False)
    fold = "unrolled" if design.fold is None else ",".join(map(str, design.fold.folds))
    return {
        "model": name,
        "nodes": [layer.nodes for layer in model.layers],
        "board": board,
        **found,
        "fold": fold,
        "compile_seconds": round(seconds, 1),
        "verilog_bytes": len(text),
    }


def show(rows: Sequence[dict[str, Any]]) -> None:
    table = Table(title="models of all sizes, 100 MHz; LUTs by estimate")
    columns = ("model", "board", "lanes", "cycles", "measured", "LUT", "compile", "wrong")
    for column in columns:
        table.add_column(column, justify="left" if column in columns[:2] else "right")
    for row in rows:
        lanes = "unrolled" if row["lanes"] is None else f"{row['lanes']:,}"
        counts = [f"{row[key]:,}" for key in ("cycles_predicted", "cycles", "lut_estimate")]
        wrong = f"{row['mismatches']} of {row['vectors']}"
        seconds = f"{row['compile_seconds']} s"
        table.add_row(row["model"], row["board"], lanes, *counts, seconds, wrong)
    Console(width=110).print(table)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"of {', '.join(MODELS)}")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    args = parser.parse_args(argv)
    if unknown := [name for name in args.models if name not in MODELS]:
        parser.error(f"model must be one of {', '.join(MODELS)}, not {unknown[0]!r}")
    rows = []
    for name in args.models or MODELS:
        model = MODELS[name]()
        rows += [on_board(name, model, board) for board in BOARDS]
        show(rows[-len(BOARDS) :])
    show(rows)
    if args.json is not None:
        args.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
