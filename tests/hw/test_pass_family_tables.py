"""All that a sum adds of the same few bits becomes one table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from scm_hw.boards import get
from scm_hw.design import Options, compile_model
from scm_hw.errors import CompilerError
from scm_hw.ir import (
    AtLeast,
    Builder,
    Concat,
    Field,
    Input,
    Op,
    Program,
    Ref,
    Sum,
    Table,
    verify,
)
from scm_hw.ir.interp import interpret, values_given
from scm_hw.load import Model, lower, quantise
from scm_hw.passes import family_tables as under_test
from scm_hw.passes import order
from scm_hw.passes.cuts import Cuts
from scm_hw.passes.family_tables import family_tables
from scm_hw.passes.order import Choices, Passes
from scm_hw.target import TECHNOLOGIES, XC7
from scm_hw.verify.check import simulate
from scm_hw.verify.rows import check_rows
from tests.hw.programs import random_program, random_sums, rows_for
from tests.hw.test_families import KINDS, family_model
from tests.support import random_model


def checked(program: Program, tech: Any = XC7) -> Program:
    after = family_tables(program, tech)
    verify(after)
    rows = rows_for(program)
    np.testing.assert_array_equal(interpret(after, rows), interpret(program, rows))
    return after


def of_kind(program: Program, kind: type[Op]) -> list[Any]:
    return [op for op in program.ops if isinstance(op, kind)]


def nodes_of(build: Builder, random: Random, bits: list[Ref], count: int) -> list[Ref]:
    """Random functions of the same bits."""
    index = build.add(Concat(tuple(bits), (1,) * len(bits)))
    size = 1 << len(bits)
    contents = [tuple(random.randint(0, 1) for _ in range(size - 2)) for _ in range(count)]
    return [
        build.add(Table(index, (0, *own, 1), name=f"node{k}")) for k, own in enumerate(contents)
    ]


def bits_of(build: Builder, count: int) -> list[Ref]:
    return [build.add(Input(i, 0, 1, name=f"b{i}")) for i in range(count)]


def summed(build: Builder, terms: list[Ref], random: Random) -> Ref:
    weights = tuple(random.choice([-9, -4, 3, 7, 13]) for _ in terms)
    return build.add(Sum(tuple(terms), weights, 5, name="output.y"))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("bits", range(2, 6))
def test_nodes_of_the_same_bits_are_one_table(seed: int, bits: int) -> None:
    random, build = Random(seed), Builder()
    seen = bits_of(build, bits)
    nodes = nodes_of(build, random, seen, 12)
    program = build.program(tuple(seen), (summed(build, nodes + seen[:1], random),))
    (table,) = of_kind(checked(program), Table)
    assert table.name == "output.y.family0"
    assert len(table.contents) == 1 << bits


def test_six_bits_pay_where_they_stand_for_many_nodes() -> None:
    for count, tables in ((3, 3), (24, 1)):
        random, build = Random(1), Builder()
        seen = bits_of(build, 6)
        program = build.program(
            tuple(seen), (summed(build, nodes_of(build, random, seen, count), random),)
        )
        assert len(of_kind(checked(program), Table)) == tables


def test_bits_alone_are_left_to_others() -> None:
    build = Builder()
    seen = bits_of(build, 7)
    program = build.program(tuple(seen), (summed(build, seen, Random(0)),))
    assert checked(program) is program


def test_nodes_of_fewer_bits_join_those_of_more() -> None:
    random, build = Random(2), Builder()
    seen = bits_of(build, 8)
    parts = [seen[:3], seen[1:4], seen[2:5], seen[5:]]
    nodes = [node for part in parts for node in nodes_of(build, random, part, 6)]
    after = checked(build.program(tuple(seen), (summed(build, nodes, random),)))
    assert sorted(len(op.contents) for op in of_kind(after, Table)) == [8, 32]


def test_a_node_that_others_read_stays_for_them() -> None:
    random, build = Random(3), Builder()
    seen = bits_of(build, 4)
    nodes = nodes_of(build, random, seen, 9)
    outputs = (summed(build, nodes, random), nodes[0])
    after = checked(build.program(tuple(seen), outputs))
    assert {op.name for op in of_kind(after, Table)} == {"output.y.family0", "node0"}


def test_a_level_that_does_not_use_all_addresses() -> None:
    """Two levels of three values are four bits; some addresses never occur."""
    random, build = Random(4), Builder()
    codes = [build.add(Input(i, 0, 2, name=f"x{i}")) for i in range(2)]
    index = build.add(Concat(tuple(codes), (2, 2)))
    tables = [
        build.add(Table(index, tuple(random.randint(0, 1) for _ in range(11)))) for _ in range(9)
    ]
    after = checked(build.program(tuple(codes), (summed(build, tables, random),)))
    assert len(of_kind(after, Table)) == 1


def test_sums_of_nodes_are_left_as_they_are() -> None:
    random, build = Random(5), Builder()
    seen = bits_of(build, 4)
    total = summed(build, nodes_of(build, random, seen, 9), random)
    node = build.add(AtLeast(total, 7))
    output = build.add(Sum((node, seen[0]), (3, 5)))
    program = build.program(tuple(seen), (output,))
    assert of_kind(checked(program), AtLeast)
    # The decision between two classes is an output.
    decision = build.program(tuple(seen), (node,))
    assert len(of_kind(checked(decision), Table)) == 1


def test_a_table_in_memory_and_a_code_stay() -> None:
    build = Builder()
    code = build.add(Input(0, 0, 15, name="x"))
    tables = [build.add(Table(code, tuple(range(k, k + 16)), memory=True)) for k in range(4)]
    product = build.add(Sum((*tables, code), (1, 2, 3, 4, 5)))
    program = build.program((code,), (product,))
    assert checked(program) is program


@pytest.mark.parametrize("grade", ["1", "ecp5-6", "ice40-up"])
def test_random_programs(grade: str) -> None:
    tech, found = TECHNOLOGIES[grade], 0
    for seed in range(60):
        for program in (random_sums(Random(seed)), random_program(Random(seed), 30)):
            found += checked(program, tech) != program
    assert found > 20


def test_values_follow_from_a_cut_alone() -> None:
    for seed in range(20):
        program = random_program(Random(seed), 30)
        cuts, rows = Cuts(program, 6), rows_for(program, 50)
        for ref in range(len(program.ops)):
            for cut in filter(None, cuts.of[ref]):
                refs = sorted({*cut, ref})
                whole = replace(program, outputs=tuple(refs))
                columns = dict(zip(refs, interpret(whole, rows).T, strict=True))
                given = {r: columns[r] for r in cut}
                np.testing.assert_array_equal(
                    values_given(program, given, [ref])[ref], columns[ref]
                )


# Models

MODELS: list[dict[str, Any]] = [
    {"encoder": "thermometer", "bits": 7, "inputs_per_node": 1, "layers": (30,)},
    {"encoder": "thermometer", "bits": 3, "inputs_per_node": 2, "layers": (30,), "outputs": 2},
    {"encoder": "none", "inputs_per_node": 2, "layers": (8, 30), "activation": ("sign", "step")},
    {"encoder": "binary", "bits": 3, "inputs_per_node": 1, "layers": (20, 20), "outputs": 3,
     "task": "classification"},
    {"encoder": "gray", "bits": 4, "inputs_per_node": 1, "layers": (20,), "mechanism": "table"},
    {"encoder": "thermometer", "spacing": "quantile", "bits": 7, "inputs_per_node": 2,
     "layers": (5, 30, 20), "activation": "step", "mechanism": "polynomial"},
]  # fmt: skip


def estimates(model: Model, options: Options, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """LUTs without the pass and with it."""
    found = []
    for kept in (order.PASSES[:0], ("family_tables",)):
        passes = tuple(p for p in order.PASSES if p.name != "family_tables" or p.name in kept)
        with monkeypatch.context() as patch:
            patch.setattr(order, "PASSES", passes)
            found.append(compile_model(model, get("arty-a7"), options).estimate.lut)
    return found


@pytest.mark.parametrize("number", range(len(MODELS)))
@pytest.mark.parametrize("tables", ["lut", "block"])
def test_models_get_smaller_and_stay_exact(
    number: int, tables: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = random_model(number, **MODELS[number])
    options = Options(tables=tables, multipliers="lut", frac_bits=9, fold="none")
    before, after = estimates(model, options, monkeypatch)
    assert after < before if tables == "lut" else after <= 1.02 * before
    design = compile_model(model, get("arty-a7"), options)
    rows = check_rows(design, model.evaluation)
    np.testing.assert_array_equal(interpret(design.program, rows.inputs), rows.outputs)
    if number % 2 == (tables == "block"):
        simulate(design, rows, "icarus", tmp_path).check()


@pytest.mark.parametrize(("outputs", "classes"), KINDS)
def test_families_of_equal_supports_are_one(
    outputs: int, classes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = family_model(7, outputs, classes)
    assert model.families is not None
    supports = model.families.supports
    supports[1:4] = supports[0] = [0, 1, 2, 3, -1]
    size = 16
    families = replace(model.families, supports=supports)
    rng = np.random.default_rng(0)
    entries = np.ldexp(rng.integers(-9, 9, (families.nodes, outputs)).astype(float), -6)
    readout = np.concatenate([np.zeros((model.layers[0].nodes, outputs)), entries])
    model = replace(model, layers=(model.layers[0], families), readout=readout)
    options = Options(multipliers="lut", fold="none")
    before, after = estimates(model, options, monkeypatch)
    assert after < before - size // 2


def test_a_program_without_sums_is_left_alone() -> None:
    build = Builder()
    code = build.add(Input(0, 0, 15, name="x"))
    program = build.program((code,), (build.add(Field(code, 1, 2)),))
    assert family_tables(program, XC7) is program


# Planted faults


def wrong_entries(family: Any) -> Any:
    """Some addresses may never occur."""
    odd = range(1, len(family.contents), 2)
    return replace(family, contents=tuple(v + (a in odd) for a, v in enumerate(family.contents)))


def lost_term(family: Any) -> Any:
    return replace(family, places=(*family.places, family.places[0] + 1))


def swapped_bits(family: Any) -> Any:
    return replace(family, sources=family.sources[::-1])


@pytest.mark.parametrize("fault", [wrong_entries, lost_term, swapped_bits])
def test_a_fault_in_the_pass_is_found_by_the_compiler(
    fault: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = random_model(2, **MODELS[2])
    program = lower(model, quantise(model, 9))
    Passes(program).run(Choices(XC7))
    right = under_test._Families._family
    monkeypatch.setattr(under_test._Families, "_family", lambda self, cut: fault(right(self, cut)))
    with pytest.raises(CompilerError, match=r"^pass family_tables must keep all outputs"):
        Passes(program).run(Choices(XC7))


def test_a_cut_that_leaves_a_bit_out_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A term whose values do not follow from the cut can't be tabulated at all."""
    random, build = Random(1), Builder()
    seen = bits_of(build, 4)
    program = build.program(tuple(seen), (summed(build, nodes_of(build, random, seen, 9), random),))
    right = Cuts._smallest
    monkeypatch.setattr(
        Cuts, "_smallest", lambda self, cuts: tuple(c - {seen[0]} or c for c in right(self, cuts))
    )
    with pytest.raises(AssertionError, match="input 'b0' was not supplied"):
        family_tables(program, XC7)
