"""Nodes of plain bits with random signs: with sums in common, each by itself, and through da4ml.

    python -m bench.sharing [--nodes N ...] [--json FILE]

Nodes on 120 bits, every sign drawn at random: nothing to find but what signs have in common by
chance. LUTs by Yosys (`synth_xilinx -flatten -abc9`), readout and handshake included; cycles at 100
MHz. All three forms give equal integers on the same rows. With the extra `bench`, da4ml compiles
the same nodes.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from bench.elsewhere import at_hand, through_da4ml
from scm_hw.boards import get
from scm_hw.design import CORE, Design, Options, compile_model
from scm_hw.ir.interp import interpret
from scm_hw.load import read_model
from scm_hw.passes import optimise
from scm_hw.rtl import ScmCore, to_verilog
from scm_hw.schedule import Layout, lay_out
from scm_hw.target import XC7
from scm_hw.tools.synthesis import synthesise
from scm_train import IRVFLRegressor

BOARD = "nexys-a7"
BITS, SEED, ROWS = 120, 0, 2000
SIZES = (16, 48, 200)


def design_of(nodes: int) -> Design:
    rng = np.random.default_rng(SEED)
    rows = rng.integers(0, 2, (400, BITS)).astype(np.float64)
    # Both values of each bit, so that none is constant.
    rows[0], rows[1] = 0.0, 1.0
    learner = IRVFLRegressor(
        max_nodes=nodes, encoder="binary:1", input_bits=1, inputs_per_node=None, random_state=SEED
    )
    model = learner.fit(rows, rows @ rng.normal(size=BITS))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.npz"
        model.save(path)
        return compile_model(read_model(path), get(BOARD), Options(frac_bits=12))


def row_of(nodes: int) -> dict[str, Any]:
    """One size in all forms."""
    design = design_of(nodes)
    program = optimise(design.meaning, XC7)
    codes = np.random.default_rng(SEED).integers(0, 2, (ROWS, BITS))
    expected = interpret(design.meaning, codes)
    found: dict[str, Any] = {"nodes": nodes, "bits": BITS, "vectors": ROWS}
    for name, share in (("shared", True), ("apart", False)):
        layout = lay_out(program, clock_mhz=design.clock_mhz, grade=design.grade, share=share)
        if not np.array_equal(interpret(layout.program, codes), expected):
            raise AssertionError(f"nodes {name} must give the integers of the model")
        found[name] = _counted(layout)
    found["da4ml"] = through_da4ml(design) if at_hand() else None
    return found


def _counted(layout: Layout) -> dict[str, Any]:
    text = to_verilog(ScmCore(layout.program, layout.schedule), CORE)
    cells = synthesise({f"{CORE}.v": text}, CORE)
    return {
        "lut_estimate": layout.luts,
        "lut": cells.lut,
        "ff": cells.ff,
        "cycles": layout.schedule.latency,
    }


def show(rows: list[dict[str, Any]]) -> None:
    table = Table(title=f"nodes of {BITS} plain bits, random signs, 100 MHz")
    for column in ("nodes", "shared", "cycles", "apart", "cycles", "da4ml", "stages"):
        table.add_column(column, justify="right")
    for row in rows:
        cells = [f"{row['nodes']}"]
        for form in ("shared", "apart"):
            cells += [f"{row[form]['lut']:,}", str(row[form]["cycles"])]
        theirs = row["da4ml"]
        cells += [f"{theirs['lut']:,}", str(theirs["stages"])] if theirs else ["", ""]
        table.add_row(*cells)
    Console(width=110).print(table)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--nodes", type=int, nargs="+", default=list(SIZES), help="sizes to measure"
    )
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    args = parser.parse_args(argv)
    rows = [row_of(nodes) for nodes in args.nodes]
    show(rows)
    if args.json is not None:
        args.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
