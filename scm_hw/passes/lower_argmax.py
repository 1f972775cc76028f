"""An argmax becomes a tournament of comparisons."""

from __future__ import annotations

from scm_hw.ir import Argmax, Less, Op, Program, Ref, Select
from scm_hw.passes.rewrite import Rewriter, rewrite


def lower_argmax(program: Program) -> Program:
    """Neighbours meet, the left one wins ties, so the first of several equal values stays first."""
    return rewrite(program, _visit)


def _visit(build: Rewriter, op: Op, refs: tuple[Ref, ...]) -> Ref | None:
    if not isinstance(op, Argmax):
        return None
    entrants = [(ref, build.constant(position)) for position, ref in enumerate(refs)]
    # A tree, since its depth is the logarithm of the classes; a chain would be one comparison
    # for each class, one after the other.
    while len(entrants) > 1:
        odd = entrants[-1:] if len(entrants) % 2 else []
        pairs = zip(entrants[0::2], entrants[1::2], strict=False)
        entrants = [_match(build, left, right, op.name) for left, right in pairs] + odd
    return entrants[0][1]


def _match(
    build: Rewriter, left: tuple[Ref, Ref], right: tuple[Ref, Ref], name: str
) -> tuple[Ref, Ref]:
    # Strictly less: where both are equal the left one, with the lower position, stays.
    wins = build.add(Less(left[0], right[0], name=f"{name}.wins"))
    value = build.add(Select(wins, right[0], left[0], name=f"{name}.best"))
    return value, build.add(Select(wins, right[1], left[1], name=f"{name}.position"))
