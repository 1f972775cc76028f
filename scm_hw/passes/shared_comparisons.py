"""Comparisons of one code with many constants have the look at its low bits in common.

A LUT6 compares the five highest bits with those of a constant, and takes the comparison of the
bits below from another LUT. That one matters only where the highest bits are equal. So it may serve
several constants with different highest bits: a few of these say which constant it is to look at. A
code of twelve bits with many thresholds takes little more than a LUT for each of them, not two.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import combinations

from scm_hw.ir import INTERFACE, AtLeast, Concat, Field, Input, Op, Program, Ref, ranges
from scm_hw.passes.rewrite import Rewriter, rewrite
from scm_hw.target import Technology


@dataclass(frozen=True)
class _Bound:
    """A constant by its `high` bits and those below, of which the lowest that is set is `end`."""

    high: int
    low: int
    end: int


@dataclass(frozen=True)
class _Group:
    """Constants whose low bits are looked at together: which one, the bits at `chosen` say."""

    bounds: tuple[_Bound, ...]
    chosen: tuple[int, ...]

    @property
    def end(self) -> int:
        return min(bound.end for bound in self.bounds)


def shared_comparisons(program: Program, tech: Technology) -> Program:
    """Let comparisons of the same input with different constants share LUTs."""
    # Smaller LUTs leave wide comparisons to carry chains.
    if not tech.wide_luts:
        return program
    # One input of the LUT is the outcome of the bits below.
    top = tech.lut_inputs - 1
    # In a machine of families with 685 thresholds this saves 107 of 2,015 LUTs.
    groups = _groups(program, top, tech.lut_inputs)
    known = ranges(program)

    def visit(build: Rewriter, op: Op, refs: tuple[Ref, ...]) -> Ref | None:
        group = groups.get(build.old)
        if group is None or not isinstance(op, AtLeast):
            return None
        (code,), place = refs, known[op.value].width - top
        with build.within(INTERFACE):
            name = build.ops[code].name
            below = _look(build, code, group, place, f"{name}.low")
            high = build.add(Field(code, place, top, name=f"{name}.high"))
        # High bits and outcome reach `2 * high + 1` where the high bits are above the bound's, or
        # equal to them with the low bits reached.
        both = build.add(Concat((below, high), (1, top), name=f"{op.name}.seen"))
        return build.add(AtLeast(both, 2 * (op.bound >> place) + 1, name=op.name))

    return rewrite(program, visit) if groups else program


def _groups(program: Program, top: int, inputs: int) -> dict[Ref, _Group]:
    """The group of each comparison that has company."""
    known = ranges(program)
    compared: dict[Ref, list[tuple[_Bound, Ref]]] = defaultdict(list)
    for ref, op in program:
        if isinstance(op, AtLeast) and isinstance(program.ops[op.value], Input):
            place = known[op.value].width - top
            # Bits below the lowest one that is set in the bound have no part in the comparison.
            end = (op.bound & -op.bound).bit_length() - 1
            # One LUT does, or the bits below are too many for another one.
            if 1 < place - end <= inputs and known[op.value].low >= 0:
                low = op.bound & (1 << place) - 1
                compared[op.value].append((_Bound(op.bound >> place, low, end), ref))
    found: dict[Ref, _Group] = {}
    for code, pairs in compared.items():
        place = known[code].width - top
        by_bound = {bound: ref for bound, ref in pairs}
        for group in _dealt([bound for bound, _ in pairs], place, inputs):
            if len(group.bounds) > 1:
                found |= {by_bound[bound]: group for bound in group.bounds}
    return found


def _dealt(bounds: list[_Bound], place: int, inputs: int) -> list[_Group]:
    """Those with most low bits first: the others find room beside them."""
    groups: list[_Group] = []
    for bound in sorted(bounds, key=lambda each: (each.end, each.high, each.low)):
        for number, group in enumerate(groups):
            wider = _joined((*group.bounds, bound), place, inputs)
            if wider is not None:
                groups[number] = wider
                break
        else:
            groups.append(_Group((bound,), ()))
    return groups


def _joined(bounds: tuple[_Bound, ...], place: int, inputs: int) -> _Group | None:
    """The bounds as a group, with as few bits to choose by as there can be; None without room."""
    room = inputs - (place - min(bound.end for bound in bounds))
    width = max(bound.high for bound in bounds).bit_length()
    for count in range(room + 1):
        for chosen in combinations(range(width), count):
            if _told_apart(bounds, chosen):
                return _Group(bounds, chosen)
    return None


def _told_apart(bounds: tuple[_Bound, ...], chosen: tuple[int, ...]) -> bool:
    """Whether bounds that differ below differ in a chosen bit as well."""
    lows: dict[int, int] = {}
    return all(lows.setdefault(_seen(b.high, chosen), b.low) == b.low for b in bounds)


def _seen(high: int, chosen: tuple[int, ...]) -> int:
    """The chosen bits side by side."""
    return sum((high >> bit & 1) << place for place, bit in enumerate(chosen))


def _look(build: Rewriter, code: Ref, group: _Group, place: int, name: str) -> Ref:
    """Whether the low bits of the code reach those of the bound that its high bits are equal to."""
    width = place - group.end
    parts = [build.add(Field(code, group.end, width, name=name))]
    parts += [build.add(Field(code, place + bit, 1, name=f"{name}.which")) for bit in group.chosen]
    lows = {_seen(bound.high, group.chosen): bound.low >> group.end for bound in group.bounds}
    if len(parts) == 1:
        return build.add(AtLeast(parts[0], lows[0], name=f"{name}.reached"))
    index = build.add(
        Concat(tuple(parts), (width, *(1 for _ in group.chosen)), name=f"{name}.seen")
    )
    # No bound has chosen bits that are missing from `lows`: the high bits differ from all of them
    # then, and any answer will do.
    contents = tuple(
        int(code_low >= lows.get(which, 1))
        for which in range(1 << len(group.chosen))
        for code_low in range(1 << width)
    )
    return build.table(index, contents[: build.ranges[index].high + 1], name=f"{name}.reached")
