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
from scm_hw.errors import ToolError
from scm_hw.tools.icarus import compile_verilog, run_program
from scm_hw.tools.process import telling_line

__all__ = ["simulate"]

TIMEOUT = 1800.0


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
        log, program, limit = folder / "log.txt", folder / "run", TIMEOUT
        sources = ["testbench.v", "core.v"]
        compile_verilog(
            sources, program, top="testbench", cwd=folder, log=log, timeout=limit, options=()
        )
        code, output = run_program(program, cwd=folder, log=log, timeout=limit)
        if code:
            raise ToolError(f"can't run vvp: {telling_line(log)}")
        return np.array(output.split(), dtype=np.int64)
