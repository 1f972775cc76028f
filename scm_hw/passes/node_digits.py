"""A node of two or three levels is compared digit by digit, without a carry chain.

Three levels are two of them added up, a carry chain of five bits, and that sum and the third. Nodes
that have two levels in common, with signs that are the same or the opposite, share the sum.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from scm_hw.ir import SHARED, AtLeast, Op, Program, Ref, Sum, Table, ranges
from scm_hw.passes.digits import Word, digit_luts, sum_reaches
from scm_hw.passes.rewrite import Rewriter, rewrite
from scm_hw.target import Technology

# Wider words are compared by a carry chain as well.
MAX_WIDTH = 8


@dataclass(frozen=True)
class _Node:
    """The words of a comparison, by references of the old program, and what they have to reach."""

    words: tuple[Word, ...]
    bound: int


def node_digits(program: Program, tech: Technology) -> Program:
    """Replace comparisons of sums of two or three words wherever that takes fewer LUTs."""
    if not tech.wide_luts:
        return program
    nodes = _nodes(program, tech)
    pairs = _pairs([node for node in nodes.values() if len(node.words) == 3])

    def visit(build: Rewriter, op: Op, refs: tuple[Ref, ...]) -> Ref | None:
        node = nodes.get(build.old)
        if node is None:
            return None
        words, bound = _with_pair(build, node, pairs)
        return sum_reaches(build, words, bound, op.name, tech)

    return rewrite(program, visit) if nodes else program


def _nodes(program: Program, tech: Technology) -> dict[Ref, _Node]:
    known, uses = ranges(program), program.uses()
    found = {}
    for ref, op in program:
        source = program.ops[op.value] if isinstance(op, AtLeast) else None
        if not isinstance(op, AtLeast) or not isinstance(source, Sum) or uses[op.value] != 1:
            continue
        if not 2 <= len(source.operands) <= 3:
            continue
        terms = [
            _word(program, r, w, known[_index(program, r)].width)
            for r, w in zip(source.operands, source.weights, strict=True)
        ]
        words = [word for word, _ in terms if word is not None and word.width <= MAX_WIDTH]
        if len(words) < len(terms) or any(known[word.ref].low < 0 for word in words):
            continue
        if len({word.ref for word in words}) < len(words):
            continue
        bound = op.bound - source.constant - sum(constant for _, constant in terms)
        node = _Node(tuple(words), bound)
        if _pays(node, tech):
            found[ref] = node
    return found


def _index(program: Program, ref: Ref) -> Ref:
    op = program.ops[ref]
    return op.index if isinstance(op, Table) and not op.memory else ref


def _word(program: Program, ref: Ref, weight: int, width: int) -> tuple[Word | None, int]:
    """A term as a word and a constant: its level, or minus its level, beyond a constant."""
    op = program.ops[ref]
    if abs(weight) != 1:
        return None, 0
    if not isinstance(op, Table) or op.memory:
        return Word(ref, width, weight), 0
    first, *rest = op.contents
    for slope in (1, -1):
        if all(entry == first + slope * place for place, entry in enumerate(rest, start=1)):
            return Word(op.index, width, weight * slope), weight * first
    return None, 0


def _pays(node: _Node, tech: Technology) -> bool:
    """Against an addition for all words but the first, a LUT for each bit."""
    widths = sorted(word.width for word in node.words)
    words = node.words
    if len(words) == 3:
        # Any two of them, here the first.
        # It is only weighed, so it needs a width and no reference.
        joined = Word(-1, max(word.width for word in words[:2]) + 1, 1)
        words = (joined, words[2])
    luts = digit_luts(words, node.bound, tech)
    return luts is not None and luts < widths[-1] + 1


# Pairs


Pair = tuple[Ref, Ref, int]


def _pairs(nodes: Sequence[_Node]) -> list[Pair]:
    """Two words and their relative sign, those that most nodes have in common first."""
    left, found = list(nodes), []
    while left:
        count = Counter(pair for node in left for pair in _pairs_of(node))
        # Ties are settled by the pair itself: the result is the same in every run.
        best = min(count, key=lambda pair: (-count[pair], pair))
        found.append(best)
        left = [node for node in left if best not in _pairs_of(node)]
    return found


def _pairs_of(node: _Node) -> list[Pair]:
    ordered = sorted(node.words, key=lambda word: word.ref)
    return [(a.ref, b.ref, a.sign * b.sign) for a, b in combinations(ordered, 2)]


def _with_pair(build: Rewriter, node: _Node, pairs: list[Pair]) -> tuple[list[Word], int]:
    """The words in the new program, two of them as their sum where that is there."""
    mine = _pairs_of(node)
    pair = next((pair for pair in pairs if pair in mine), None)
    new = {word.ref: Word(build.new[word.ref], word.width, word.sign) for word in node.words}
    if pair is None:
        return list(new.values()), node.bound
    first, second, sign = pair
    a, b = new.pop(first), new.pop(second)
    ones = (1 << b.width) - 1
    with build.within(SHARED):
        other = b.ref
        if sign < 0:
            flipped = tuple(range(ones, -1, -1))[: build.ranges[b.ref].high + 1]
            other = build.table(b.ref, flipped, name="shared.rest")
        total = build.sum([(a.ref, 1), (other, 1)], name="shared.levels")
    # Subtracting the second word is adding its ones' complement, less all ones.
    constant = ones if sign < 0 else 0
    joined = Word(total, build.ranges[total].width, a.sign)
    return [joined, *new.values()], node.bound + a.sign * constant
