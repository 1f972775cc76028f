"""What each pass did, in operations and in the LUTs that it saves."""

from __future__ import annotations

from dataclasses import dataclass, replace

from scm_hw.design import Design, usable_dsps
from scm_hw.ir import Program, Table
from scm_hw.passes import PASSES, SHARED, block_tables, integer_thresholds, lower_argmax, share_sums
from scm_hw.schedule import lay_out


@dataclass(frozen=True)
class Step:
    """The program after a pass, and what it would cost if no other pass followed."""

    name: str
    operations: int
    luts: int
    cycles: int


def explain(design: Design) -> list[Step]:
    """The literal program, then the program after each pass in turn."""
    program = design.meaning
    steps = [_step("load", program, design)]
    for apply in PASSES:
        program = apply(program)
        steps.append(_step(apply.__name__, program, design))
    if any(isinstance(op, Table) and op.memory for op in design.program.ops):
        program = block_tables(program)
        steps.append(_step(block_tables.__name__, program, design))
    if (shared := share_sums(program)) != program:
        # It is taken only where the layouts are the better for it.
        step = _step(share_sums.__name__, program, design, share=True)
        taken = any(op.name.startswith(SHARED) for op in design.program.ops)
        steps.append(replace(step, operations=len((shared if taken else program).ops)))
    return steps


def _step(name: str, program: Program, design: Design, *, share: bool = False) -> Step:
    # Hardware has no real bounds and no argmax: these two lowerings can't be left out.
    needed = lower_argmax(integer_thresholds(program))
    layout = lay_out(
        needed,
        clock_mhz=design.clock_mhz,
        grade=design.grade,
        mode=design.options.pipeline,
        dsps=usable_dsps(design.board, design.options),
        share=share,
    )
    return Step(name, len(program.ops), layout.luts, layout.schedule.latency)
