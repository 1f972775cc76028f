"""Popcounts, sums, readouts, tables, thresholds and argmax are what they mean, for all inputs."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from scm_hw.ir import Argmax, AtLeast, Input, Op, Program, Sum, Table
from tests.formal.designs import unrolled
from tests.formal.prover import proves
from tests.formal.rules import function_rule


def bits(count: int) -> list[Op]:
    return [Input(i, 0, 1, name=f"b{i}") for i in range(count)]


def program(ops: list[Op], inputs: int) -> Program:
    return Program(tuple(ops), tuple(range(inputs)), (len(ops) - 1,))


def summed(weights: list[int], constant: int) -> str:
    """A sum as Verilog has it, wide enough not to overflow."""
    terms = (f" + (sample[{i}] ? 16'd{w % (1 << 16)} : 16'd0)" for i, w in enumerate(weights))
    return f"(16'd{constant % (1 << 16)}{''.join(terms)})"


def swapped(values: list[int]) -> list[int]:
    """With two neighbours that differ in each other's place."""
    first = next(i for i, pair in enumerate(pairwise(values)) if pair[0] != pair[1])
    values = values.copy()
    values[first], values[first + 1] = values[first + 1], values[first]
    return values


def popcount(fault: bool) -> tuple[Program, str]:
    """Matches of sixteen signs."""
    signs = [1, -1, -1, 1] * 4
    found = swapped(signs) if fault else signs
    ops = [*bits(16), Sum(tuple(range(16)), tuple(found), 3)]
    return program(ops, 16), summed(signs, 3)


def node(fault: bool) -> tuple[Program, str]:
    """A popcount against its threshold; at fault, off by one."""
    weights = [1, -1, 1, 1, -1, 1, 1, -1, 1, 1, 1, -1, 1]
    ops = [*bits(13), Sum(tuple(range(13)), tuple(weights)), AtLeast(13, 2 + fault)]
    return program(ops, 13), f"$signed({summed(weights, 0)}) >= 2"


def readout(fault: bool) -> tuple[Program, str]:
    """Weights of ten node bits, added up."""
    random = Random(2)
    weights = [random.randint(-500, 500) for _ in range(10)]
    found = swapped(weights) if fault else weights
    ops = [*bits(10), Sum(tuple(range(10)), tuple(found), -77)]
    return program(ops, 10), summed(weights, -77)


def table(fault: bool) -> tuple[Program, str]:
    """Two tables of a level each, added up."""
    random = Random(3)
    contents = [[random.randint(-20, 20) for _ in range(32)] for _ in range(2)]
    found = [swapped(contents[0]) if fault else contents[0], contents[1]]
    ops: list[Op] = [Input(i, 0, 31, name=f"x{i}") for i in range(2)]
    ops += [Table(i, tuple(entries)) for i, entries in enumerate(found)]
    ops.append(Sum((2, 3), (1, 1)))
    looked_up = (
        f"(256'h{sum((entry % 256) << (8 * i) for i, entry in enumerate(entries)):x}"
        f" >> (8 * sample[{5 * k + 4}:{5 * k}]))"
        for k, entries in enumerate(contents)
    )
    return program(ops, 2), " + ".join(looked_up)


def compressor(fault: bool) -> tuple[Program, str]:
    """Five words of two bits, with weights of either sign, in one sum."""
    weights = [1, -2, 3, 5, -3]
    found = swapped(weights) if fault else weights
    ops: list[Op] = [Input(i, 0, 3, name=f"x{i}") for i in range(5)]
    ops.append(Sum(tuple(range(5)), tuple(found), -9))
    terms = (f" + 16'd{w % (1 << 16)} * sample[{2 * i + 1}:{2 * i}]" for i, w in enumerate(weights))
    return program(ops, 5), f"(16'd{-9 % (1 << 16)}{''.join(terms)})"


def argmax(fault: bool) -> tuple[Program, str]:
    """The largest of four scores, the first of those that are equal."""
    ops: list[Op] = [Input(i, -16, 15, name=f"s{i}") for i in range(4)]
    ops.append(Argmax((1, 0, 2, 3) if fault else (0, 1, 2, 3)))
    score = [f"$signed(sample[{5 * i + 4}:{5 * i}])" for i in range(4)]
    wins = [
        " && ".join(f"{score[i]} {'>' if j < i else '>='} {score[j]}" for j in range(4) if j != i)
        for i in range(3)
    ]
    return program(ops, 4), f"({wins[0]}) ? 0 : ({wins[1]}) ? 1 : ({wins[2]}) ? 2 : 3"


PARTS = (popcount, node, readout, table, compressor, argmax)


def holds(part: Callable[[bool], tuple[Program, str]], fault: bool, folder: Path) -> bool:
    found, function = part(fault)
    core = unrolled(found, function)
    rules = function_rule(core.in_width, core.out_width, core.latency, core.function)
    sources = {"core.v": core.verilog, "rules.sv": rules}
    return proves(folder, sources, "rules", core.latency + 3)


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.__name__)
def test_parts_are_what_they_mean(
    part: Callable[[bool], tuple[Program, str]], tmp_path: Path
) -> None:
    assert holds(part, False, tmp_path / "good")
    assert not holds(part, True, tmp_path / "fault")
