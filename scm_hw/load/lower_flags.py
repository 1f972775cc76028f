"""The bits by which a machine says what its result is worth, as outputs behind the others."""

from __future__ import annotations

import math
from collections.abc import Sequence

from scm_hw.ir import ARGMAX, READOUT, AtLeast, Builder, Concat, Less, Ref, Select, Sum, Table
from scm_model import Model
from scm_model.fixed_point import FixedPoint
from scm_model.flags import MARGIN, NOVEL, OUTSIDE, UNSURE, Novelty, Unsure, outside_reach

__all__ = ["lower_flags"]

#: A table of one bit that says the opposite.
NOT = (1, 0)


def lower_flags(
    build: Builder,
    model: Model,
    fixed: FixedPoint,
    nodes: Sequence[Ref],
    codes: Sequence[Ref],
    scores: Sequence[Ref],
) -> tuple[Ref, ...]:
    """Margin and flags, in the order of :func:`scm_model.flags.flag_names`."""
    found: list[Ref] = []
    if model.flags is not None and model.flags.unsure is not None:
        with build.within(ARGMAX):
            found += _unsure(build, model.flags.unsure, fixed, scores)
    if model.flags is not None and model.flags.novelty is not None:
        with build.within(READOUT):
            found += _novel(build, model.flags.novelty, nodes)
            found += _outside(build, model, codes)
    return tuple(found)


def _unsure(
    build: Builder, unsure: Unsure, fixed: FixedPoint, scores: Sequence[Ref]
) -> tuple[Ref, Ref]:
    """The margin of the first score, and whether it is no larger than the threshold."""
    if len(scores) == 1:
        # Two classes share one score, and its distance from 0 is the margin.
        second = build.add(AtLeast(scores[0], 1, name="class"))
        away = build.add(Sum(tuple(scores), (-1,), name=f"{MARGIN}.other"))
        margin = build.add(Select(second, scores[0], away, name=MARGIN))
    else:
        best, next_best = _two_largest(build, scores)
        margin = build.add(Sum((best, next_best), (1, -1), name=MARGIN))
    # Margins are integers, so the first that is above the threshold is `most + 1`.
    most = math.floor(math.ldexp(unsure.threshold, fixed.grid_bits))
    sure = build.add(AtLeast(margin, most + 1, name=f"{UNSURE}.not"))
    return margin, build.add(Table(sure, NOT, name=UNSURE))


def _two_largest(build: Builder, scores: Sequence[Ref]) -> tuple[Ref, Ref]:
    """The largest of several scores and the one that follows it: a tree of matches, in each of
    which the better of the losing side and of the winner's own second stays."""
    entrants: list[tuple[Ref, Ref | None]] = [(ref, None) for ref in scores]
    while len(entrants) > 1:
        odd = entrants[-1:] if len(entrants) % 2 else []
        pairs = zip(entrants[0::2], entrants[1::2], strict=False)
        entrants = [_match(build, left, right) for left, right in pairs] + odd
    best, second = entrants[0]
    assert second is not None
    return best, second


def _match(
    build: Builder, left: tuple[Ref, Ref | None], right: tuple[Ref, Ref | None]
) -> tuple[Ref, Ref | None]:
    # As the search for the class has it, so that both share what they have in common.
    wins = build.add(Less(left[0], right[0], name="class.wins"))
    best = build.add(Select(wins, right[0], left[0], name="class.best"))
    loser = build.add(Select(wins, left[0], right[0], name=f"{MARGIN}.loser"))
    own = left[1]
    if left[1] is not None and right[1] is not None:
        own = build.add(Select(wins, right[1], left[1], name=f"{MARGIN}.own"))
    elif left[1] is not None:
        # The right one is alone: where it wins, the loser is the only second.
        own = build.add(Select(wins, loser, left[1], name=f"{MARGIN}.own"))
    if own is None:
        return best, loser
    more = build.add(Less(own, loser, name=f"{MARGIN}.more"))
    return best, build.add(Select(more, loser, own, name=f"{MARGIN}.second"))


def _novel(build: Builder, novelty: Novelty, nodes: Sequence[Ref]) -> tuple[Ref]:
    """Whether at least so many groups of nodes have a rare value."""
    rare = []
    for number, (group, values) in enumerate(
        zip(novelty.groups.tolist(), novelty.rare.tolist(), strict=True)
    ):
        bits = tuple(nodes[node] for node in group if node >= 0)
        name = f"{NOVEL}.group{number}"
        index = bits[0] if len(bits) == 1 else build.add(Concat(bits, (1,) * len(bits), name=name))
        contents = tuple(values >> value & 1 for value in range(1 << len(bits)))
        rare.append(build.add(Table(index, contents, name=f"{name}.rare")))
    count = build.add(Sum(tuple(rare), (1,) * len(rare), name=f"{NOVEL}.count"))
    return (build.add(AtLeast(count, novelty.least, name=NOVEL)),)


def _outside(build: Builder, model: Model, codes: Sequence[Ref]) -> tuple[Ref, ...]:
    """Whether any code lies outside of its training range; nothing where no port can tell."""
    ends = []
    for place in outside_reach(model):
        code, name = model.codes[place], model.features[place]
        if code.low > 0:
            inside = build.add(AtLeast(codes[place], code.low, name=f"{OUTSIDE}.{name}.above"))
            ends.append(build.add(Table(inside, NOT, name=f"{OUTSIDE}.{name}.low")))
        if code.high < (1 << code.bits) - 1:
            ends.append(
                build.add(AtLeast(codes[place], code.high + 1, name=f"{OUTSIDE}.{name}.high"))
            )
    if not ends:
        return ()
    count = build.add(Sum(tuple(ends), (1,) * len(ends), name=f"{OUTSIDE}.count"))
    return (build.add(AtLeast(count, 1, name=OUTSIDE)),)
