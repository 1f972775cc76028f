"""The Verilog in Icarus, for the comparison with its meaning in NumPy."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.trees.netlist import lay_out
from bench.trees.quantised import Quantised
from bench.trees.verilog import LATENCY, NAME, TEMPLATES, output_bits
from scm_hw.common.packing import pack
from scm_hw.tools.process import run_tool, telling_line

__all__ = ["SimulationError", "simulate"]

TIMEOUT = 1800.0


class SimulationError(RuntimeError):
    """Icarus could not compile or run the Verilog."""


def simulate(verilog: str, model: Quantised, codes: NDArray[np.integer]) -> NDArray[np.int64]:
    """What the module puts out for each row of codes, one row per cycle."""
    in_width = model.features * model.feature_bits
    words = pack(np.asarray(codes, dtype=np.int64), [model.feature_bits] * model.features)
    bench = TEMPLATES.get_template("testbench.v.jinja").render(
        name=NAME,
        in_width=in_width,
        out_width=output_bits(model, lay_out(model)),
        rows=len(words),
        latency=LATENCY,
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "core.v").write_text(verilog)
        (folder / "testbench.v").write_text(bench)
        (folder / "rows.hex").write_text("".join(f"{word:x}\n" for word in words))
        log = folder / "log.txt"
        for argv in (["iverilog", "-o", "run", "testbench.v", "core.v"], ["vvp", "-n", "run"]):
            if run_tool(argv, name=argv[0], cwd=folder, log=log, timeout=TIMEOUT):
                raise SimulationError(f"{argv[0]} must succeed, not fail ({telling_line(log)})")
        return np.array(log.read_text().split(), dtype=np.int64)
