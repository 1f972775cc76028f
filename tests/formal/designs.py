"""Small cores to prove things of, each with its function as a Verilog expression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from scm_hw.fold import FoldPlan, fold_machine, parse_fold
from scm_hw.ir import Program, ranges
from scm_hw.load import lower, lower_model, quantise
from scm_hw.rtl import ScmCore, to_verilog
from scm_hw.rtl.fold import FoldedCore
from scm_hw.schedule import Ends, lay_out
from scm_hw.schedule.schedule import NOTHING_AROUND
from tests.hw.programs import packed_vectors, rows_for
from tests.support import optimise, random_model


@dataclass(frozen=True)
class Proven:
    """A core's Verilog and promises."""

    verilog: str
    in_width: int
    out_width: int
    latency: int
    interval: int
    function: str
    ready: bool = True


def unrolled(
    program: Program,
    function: str | None = None,
    clock_mhz: float = 100.0,
    ends: Ends = NOTHING_AROUND,
) -> Proven:
    """The core of a program; its function is tabulated unless it is given."""
    layout = lay_out(optimise(program), clock_mhz=clock_mhz, ends=ends)
    core = ScmCore(layout.program, layout.schedule)
    return _proven(program, core, function)


def folded(fold: str, handshake: str = "global", **options: Any) -> Proven:
    model = random_model(3, **options)
    lowered = lower_model(model, quantise(model, 3))
    plan = FoldPlan(
        fold_machine(lowered), parse_fold(fold, len(model.layers)), 10.0, handshake=handshake
    )
    return _proven(lowered.program, FoldedCore(plan), None)


def _proven(program: Program, core: ScmCore | FoldedCore, function: str | None) -> Proven:
    in_width, out_width = len(core.in_data), len(core.out_data)
    return Proven(
        verilog=to_verilog(core, "scm_core"),
        in_width=in_width,
        out_width=out_width,
        latency=core.latency,
        interval=core.initiation_interval,
        function=function or tabulated(program, in_width),
        ready=core.handshake != "none",
    )


def tabulated(program: Program, in_width: int) -> str:
    """All results, as a long constant and the part of it that a sample selects."""
    widths = _widths(program)
    vectors = packed_vectors(program, *widths, rows=rows_for(program))
    assert len(vectors) == 1 << in_width, "every word of inputs has to be a row"
    width = vectors.out_width
    table = sum(
        word << (sample * width)
        for sample, word in zip(vectors.inputs, vectors.outputs, strict=True)
    )
    bits = width << in_width
    return f"({bits}'h{table:x} >> (sample * {width}))"


def _widths(program: Program) -> tuple[list[int], list[int]]:
    found = ranges(program)
    return [found[r].width for r in program.inputs], [found[r].width for r in program.outputs]


def model_program(frac_bits: int = 3, **options: Any) -> Program:
    model = random_model(3, **options)
    return lower(model, quantise(model, frac_bits))
