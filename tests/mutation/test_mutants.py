"""Nearly every planted fault is found by the checks of a build; those that are not are none.

A fault that gets past a build's vectors is played all inputs that there are: if it gets past those
too, the core is the same in other words. `python -m pytest tests/mutation -m long -s` lists both.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scm_hw import boards
from scm_hw.common.folders import write_files
from scm_hw.design import CORE, Design, Options, compile_model
from scm_hw.emit import testbench_files as bench_files
from scm_hw.errors import MismatchError, ToolError
from scm_hw.sim.vectors import Vectors
from scm_hw.verify import run_icarus, run_testbench
from scm_hw.verify.check import select_vectors
from scm_hw.verify.rows import check_rows
from tests.hw.programs import packed_vectors, rows_for
from tests.mutation.mutants import KINDS, Mutant, mutants
from tests.support import random_model

# Of the faults that change what a core does.
CAUGHT = 0.98
UNROLLED: dict[str, Any] = {"features": 2, "layers": (8,), "bits": 7, "input_bits": 6}
DEEP: dict[str, Any] = {
    "features": 2,
    "layers": (4, 3),
    "bits": 3,
    "input_bits": 4,
    "task": "classification",
    "outputs": 3,
}


def designed(options: dict[str, Any], fold: str, clock: float) -> tuple[Design, Vectors]:
    """With the vectors that its build would play."""
    board = boards.by_part("xc7a100tcsg324-1", clock)
    model = random_model(7, **options)
    design = compile_model(model, board, Options(fold=fold))
    return design, select_vectors(design, check_rows(design, model.evaluation))


def caught(mutant: Mutant, design: Design, vectors: Vectors, folder: Path) -> bool:
    """Whether the test bench or Icarus under cocotb fails, as in a build they would."""
    plan = design.schedule
    files = bench_files(vectors, plan.latency, plan.initiation_interval)
    folder.mkdir(parents=True, exist_ok=True)
    write_files(folder, files | {f"{CORE}.v": mutant.verilog})
    try:
        run_testbench(folder, workdir=folder / "work", timeout=60)
        result = run_icarus(
            folder / f"{CORE}.v",
            vectors,
            plan.latency,
            plan.initiation_interval,
            workdir=folder / "work",
            timeout=60,
        )
    except (MismatchError, ToolError):
        return True
    return not result.ok


def every_input(design: Design) -> Vectors:
    """All that a core of twelve bits of input can be given."""
    widths = [[r.width for r in reaches] for reaches in (design.input_ranges, design.output_ranges)]
    vectors = packed_vectors(design.meaning, *widths, rows=rows_for(design.meaning))
    assert len(vectors) == 1 << vectors.in_width
    return vectors


def survivors(
    design: Design, vectors: Vectors, planted: list[Mutant], folder: Path
) -> tuple[list[Mutant], list[Mutant]]:
    """Faults that the build's vectors did not show, and which of them all inputs don't show."""
    left = [m for i, m in enumerate(planted) if not caught(m, design, vectors, folder / str(i))]
    everything = every_input(design)
    same = [m for m in left if not caught(m, design, everything, folder / "all")]
    for mutant in left:
        print(f"{'equivalent' if mutant in same else 'SURVIVED'}: {mutant}")
    return left, same


@pytest.mark.parametrize(
    ("options", "fold", "clock", "per_kind"),
    [
        pytest.param(UNROLLED, "none", 250.0, 8, id="unrolled"),
        pytest.param(UNROLLED, "none", 250.0, 60, id="unrolled-many", marks=pytest.mark.long),
        pytest.param(DEEP, "none", 200.0, 40, id="deep-classifier", marks=pytest.mark.long),
        # One that gets past the test bench takes cocotb ten seconds, and as long for all inputs.
        pytest.param(DEEP, "2x2", 100.0, 12, id="folded", marks=pytest.mark.long),
    ],
)
def test_faults_are_caught(
    options: dict[str, Any], fold: str, clock: float, per_kind: int, tmp_path: Path
) -> None:
    design, vectors = designed(options, fold, clock)
    planted = mutants(design.verilog, per_kind)
    assert {mutant.kind for mutant in planted} == KINDS.keys()
    left, same = survivors(design, vectors, planted, tmp_path)
    faults = len(planted) - len(same)
    print(f"{faults} faults, {len(left) - len(same)} survived, {len(same)} equivalent")
    survived = [str(mutant) for mutant in left if mutant not in same]
    assert len(survived) <= (1 - CAUGHT) * faults, "\n".join(survived)


def test_without_its_vectors_faults_survive(tmp_path: Path) -> None:
    """The tool itself: a check that looks at nothing lets faults through."""
    design, vectors = designed(UNROLLED, "none", 250.0)
    planted = [m for m in mutants(design.verilog, 4) if m.kind == "flipped bit"]
    one = vectors.head(1)
    assert any(not caught(m, design, one, tmp_path / str(i)) for i, m in enumerate(planted))
