"""The golden design: one small model, and what the compiler makes of it, kept in rtl_out/golden/.

    python -m tests.hw.golden

writes it anew from the kept model. Read the difference before you commit it: it is what a change of
the compiler does to every design.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from scm_hw import boards
from scm_hw.build import load_design
from scm_hw.common.folders import write_files
from scm_hw.design import Design, Options
from tests.support import REPOSITORY, model_arrays, write_model

FOLDER = REPOSITORY / "rtl_out" / "golden"
MODEL = FOLDER / "model.npz"
# Fast enough a clock for registers between the stages.
CLOCK_MHZ = 250.0


def golden_model() -> dict[str, np.ndarray]:
    """Three features of 8 bits in thermometers of 7, four nodes, one input in the linear part."""
    arrays = model_arrays(4, features=3, layers=(4,), bits=7, input_bits=8, rows=20)
    arrays["linear"][:] = 0
    arrays["linear"][1] = 0.375
    return arrays


def golden_design(model: Path = MODEL) -> Design:
    return load_design(model, boards.get("nexys-a7"), Options(clock_mhz=CLOCK_MHZ), "scm")


def golden_files(design: Design) -> dict[str, str]:
    """The texts that are kept: the integer program with its cycles, and the core."""
    cycles = " ".join("-" if cycle is None else str(cycle) for cycle in design.schedule.cycles)
    return {
        "program.txt": f"{design.program}\n\ncycles {cycles}\nlatency {design.schedule.latency}\n",
        "scm_core.v": design.verilog,
    }


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    if not MODEL.exists():
        write_model(MODEL, golden_model())
    write_files(FOLDER, golden_files(golden_design()))


if __name__ == "__main__":
    main()
