"""Real biases become integer thresholds."""

from __future__ import annotations

import math

from scm_hw.ir import AtLeast, Exceeds, Op, Program, Ref
from scm_hw.passes.rewrite import Rewriter, rewrite


def integer_thresholds(program: Program) -> Program:
    """An integer exceeds a real bound exactly where it reaches the next integer above it."""
    return rewrite(program, _visit)


def _visit(build: Rewriter, op: Op, refs: tuple[Ref, ...]) -> Ref | None:
    if not isinstance(op, Exceeds):
        return None
    bound = math.floor(op.bound) + 1 if op.strict else math.ceil(op.bound)
    return build.add(AtLeast(refs[0], bound, name=op.name))
