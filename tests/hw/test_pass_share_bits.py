"""Nodes that add the same bits have their full adders in common."""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scm_hw import boards
from scm_hw.cli.explain import explain
from scm_hw.design import compile_model
from scm_hw.ir import AtLeast, Builder, Input, Program, Sum, Table, Xor, ranges, verify
from scm_hw.ir.interp import interpret
from scm_hw.passes import lower_sums, share_bits
from scm_hw.rtl import ScmCore, to_verilog
from scm_hw.schedule import lay_out
from scm_hw.target import XC7
from scm_hw.tools.synthesis import synthesise
from scm_hw.verify import run_amaranth, run_icarus, run_netlist, run_verilator
from tests.hw.programs import packed_vectors, rows_for
from tests.support import optimise, random_model

WEIGHTS = {
    "free": [-1, 1],
    "selective": [-1, 0, 1, 1],
    "equal": [1],
    "negative": [-1],
    "mixed": [-1, 1, 1, -1, 2, -3],
}


def plain_nodes(
    nodes: int, bits: int, seed: int = 0, weights: str = "free", *, tables: int = 0
) -> Program:
    """Nodes of bits, with tables of codes beside them, and a readout; some never switch."""
    random, build = Random(seed), Builder()
    inputs = [build.add(Input(i, 0, 1, name=f"b{i}")) for i in range(bits)]
    codes = [build.add(Input(bits + i, 0, 6, name=f"c{i}")) for i in range(tables)]
    found = []
    for node in range(nodes):
        terms = [(ref, random.choice(WEIGHTS[weights])) for ref in inputs]
        for code in codes:
            entries = tuple(random.randint(-4, 4) for _ in range(7))
            terms.append((build.add(Table(code, entries)), 1))
        terms = [(ref, weight) for ref, weight in terms if weight]
        total = build.add(Sum(*zip(*terms, strict=True), random.randint(-3, 3), name=f"n{node}"))
        middle = sum(weight for _, weight in terms) // 2
        bound = middle + random.choice([0, 0, 1, -1, random.randint(-bits - 9, bits + 9)])
        found.append(build.add(AtLeast(total, bound, name=f"n{node}.bit")))
    readout = tuple(random.randint(1, 500) for _ in found)
    y = build.add(Sum(tuple(found), readout, name="y"))
    return build.program((*inputs, *codes), (y, *found[:2]))


def checked(before: Program) -> Program:
    after = share_bits(before)
    verify(after)
    rows = rows_for(before, 120)
    expected = interpret(before, rows)
    np.testing.assert_array_equal(interpret(after, rows), expected)
    np.testing.assert_array_equal(interpret(lower_sums(after, tech=XC7), rows), expected)
    return after


def parities(program: Program) -> int:
    return sum(isinstance(op, Xor) for op in program.ops)


def node_terms(program: Program) -> list[int]:
    """The number of terms of each sum that is compared."""
    sums = [program.ops[op.value] for op in program.ops if isinstance(op, AtLeast)]
    return [len(op.operands) for op in sums if isinstance(op, Sum)]


@settings(derandomize=True, deadline=None, max_examples=60, database=None)
@given(
    st.integers(1, 26),
    st.integers(3, 34),
    st.integers(0, 2**31),
    st.sampled_from(sorted(WEIGHTS)),
    st.integers(0, 2),
)
def test_the_integers_stay(nodes: int, bits: int, seed: int, weights: str, tables: int) -> None:
    checked(plain_nodes(nodes, bits, seed, weights, tables=tables))


@pytest.mark.parametrize("bits", [12, 25, 26, 60])
def test_a_node_is_left_with_half_as_many_bits(bits: int) -> None:
    after = checked(plain_nodes(24, bits))
    assert max(node_terms(after)) <= (bits + 1) // 2 + 1
    # A bit less for each adder, and the last pair's.
    assert parities(after) == bits // 2


def test_bounds_of_every_parity() -> None:
    for seed in range(6):
        # So few bits that all of their values are tried.
        before = plain_nodes(16, 12, seed)
        after = checked(before)
        known = ranges(after)
        # Carries and the last parity all have weight 1: the sum has been halved.
        sums = [after.ops[op.value] for op in after.ops if isinstance(op, AtLeast)]
        assert all(abs(w) == 1 for op in sums if isinstance(op, Sum) for w in op.weights)
        assert all(known[r].high == 1 for op in sums if isinstance(op, Sum) for r in op.operands)


def test_what_would_not_pay_is_left_alone() -> None:
    for before in (plain_nodes(2, 40), plain_nodes(30, 11), plain_nodes(1, 60)):
        assert checked(before) is before


def test_sums_that_are_read_elsewhere_are_left_alone() -> None:
    before = plain_nodes(16, 20)
    sums = tuple(op.value for op in before.ops if isinstance(op, AtLeast))
    read = Program(before.ops, before.inputs, (*before.outputs, *sums))
    assert checked(read) is read


def test_bits_that_agree_share_their_carries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three columns of signs that are the same, up to the sign of the column, have one carry."""
    monkeypatch.setattr(sys.modules[share_bits.__module__], "NEIGHBOURS", 2)
    random, build = Random(1), Builder()
    inputs = [build.add(Input(i, 0, 1, name=f"b{i}")) for i in range(18)]
    columns = [[random.choice([-1, 1]) for _ in range(20)] for _ in range(6)]
    # Alike bits lie apart: they have to be looked for.
    flips = [random.choice([-1, 1]) for _ in inputs]
    nodes = []
    for node in range(20):
        weights = tuple(columns[i % 6][node] * flips[i] for i in range(18))
        total = build.add(Sum(tuple(inputs), weights))
        nodes.append(build.add(AtLeast(total, sum(weights) // 2)))
    after = checked(build.program(tuple(inputs), tuple(nodes)))
    carries = [op for op in after.ops if isinstance(op, Table)]
    # One for each of the six columns; their parities have four kinds of signs.
    assert len(carries) <= 6 + 2 * 4 + 2


def test_a_small_budget_shares_too(monkeypatch: pytest.MonkeyPatch) -> None:
    before = plain_nodes(20, 40)
    # The module itself: the package has the function by that name.
    monkeypatch.setattr(sys.modules[share_bits.__module__], "BUDGET", 0)
    after = checked(before)
    assert parities(after) == 20


def test_equal_programs_are_shared_alike() -> None:
    assert share_bits(plain_nodes(20, 50, 3)) == share_bits(plain_nodes(20, 50, 3))


def test_a_layout_shares_where_it_is_the_better_for_it() -> None:
    program = optimise(plain_nodes(24, 40))
    apart, shared = (lay_out(program, clock_mhz=100, share=share) for share in (False, True))
    assert shared.luts < 0.85 * apart.luts
    assert parities(shared.program) and not parities(apart.program)
    few = optimise(plain_nodes(3, 40))
    assert lay_out(few, clock_mhz=100) == lay_out(few, clock_mhz=100, share=False)


def core_of(program: Program) -> ScmCore:
    layout = lay_out(share_bits(optimise(program)), clock_mhz=100)
    assert parities(layout.program)
    assert any(isinstance(op, Sum) and len(op.operands) == 3 for op in layout.program.ops)
    return ScmCore(layout.program, layout.schedule)


def test_shared_cores_in_three_simulators(tmp_path: Path) -> None:
    program = plain_nodes(18, 26, 5)
    core = core_of(program)
    vectors = packed_vectors(program, core.in_widths, core.out_widths, 40)
    source = tmp_path / "scm_core.v"
    source.write_text(to_verilog(core, "scm_core"))
    results = [run_amaranth(lambda: core, vectors, core.latency)]
    for run in (run_icarus, run_verilator):
        results.append(run(source, vectors, core.latency, workdir=tmp_path / run.__name__))
    for result in results:
        assert result.failures == ()
        assert result.cycles == core.latency


def test_shared_netlists(tmp_path: Path) -> None:
    program = plain_nodes(11, 17, 2)
    core = core_of(program)
    vectors = packed_vectors(program, core.in_widths, core.out_widths, 60)
    netlist = tmp_path / "netlist.v"
    synthesise({"scm_core.v": to_verilog(core, "scm_core")}, netlist=netlist)
    result = run_netlist(netlist, vectors, core.latency, 1, workdir=tmp_path / "work")
    assert result.failures == ()


def test_a_build_explains_what_was_shared() -> None:
    options = {"features": 30, "encoder": "binary", "bits": 1, "input_bits": 1, "linear": False}
    design = compile_model(random_model(2, layers=(24,), **options), boards.get("arty-a7"))
    assert parities(design.program)
    steps = {step.name: step for step in explain(design)}
    before, shared = steps["lower_argmax"], steps["share_bits"]
    assert not shared.left_out
    assert shared.luts == design.estimate.lut < before.luts
    assert shared.operations > before.operations
