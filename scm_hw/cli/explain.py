"""What each pass did, in operations and in the LUTs that it saves."""

from __future__ import annotations

from dataclasses import dataclass

from scm_hw.design import Design, usable_dsps
from scm_hw.ir import Program
from scm_hw.passes import ALWAYS, LITERAL, PASSES, Choices, Passes, lower_argmax
from scm_hw.schedule import lay_out
from scm_hw.target import TECHNOLOGIES


@dataclass(frozen=True)
class Step:
    """The program after a pass, and what it would cost if no other pass followed.

    Passes that clock and room did not ask for are `left_out`: they change nothing.
    """

    name: str
    operations: int
    luts: int
    cycles: int
    left_out: bool = False


def explain(design: Design) -> list[Step]:
    """The literal program, then the program after each pass in turn."""
    steps: list[Step] = []
    for stage in design.stages:
        operations = len(stage.program.ops)
        if stage.name in _BEFORE_CHOICES or (stage.name == "block_tables" and not stage.left_out):
            luts, cycles = _laid_out(stage.program, design)
        elif stage.left_out:
            luts, cycles = steps[-1].luts, steps[-1].cycles
        else:
            # Only the lowering of sums is left: it is the design.
            luts, cycles = design.estimate.lut, design.latency
        steps.append(Step(stage.name, operations, luts, cycles, stage.left_out))
    return steps


def program_after(design: Design, name: str) -> Program:
    """The program after a pass; after the last one, what the core is built from."""
    if name == PASSES[-1].name:
        return design.program
    found = {stage.name: stage.program for stage in design.stages}
    if name in found:
        return found[name]
    # Folded: the passes have no part in it, but they can be run all the same.
    return Passes(design.meaning).run(Choices(TECHNOLOGIES[design.grade]), name)[-1].program


_BEFORE_CHOICES = (LITERAL, *(one.name for one in ALWAYS))


def _laid_out(program: Program, design: Design) -> tuple[int, int]:
    # Hardware has no argmax: this lowering can't be left out.
    layout = lay_out(
        lower_argmax(program),
        clock_mhz=design.clock_mhz,
        grade=design.grade,
        mode=design.options.pipeline,
        dsps=usable_dsps(design.board, design.options),
        share=False,
    )
    return layout.luts, layout.schedule.latency
