"""Tables in block RAM: the same integers a cycle later, in fewer LUTs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scm_hw.ir import Field, Input, Program, Sum, Table, verify
from scm_hw.ir.interp import interpret
from scm_hw.load import lower, quantise
from scm_hw.passes import block_tables
from scm_hw.passes.block_tables import MIN_READERS
from scm_hw.rtl import ScmCore, to_verilog
from scm_hw.schedule import Layout, estimate, lay_out
from scm_hw.tools.synthesis import synthesise
from scm_hw.verify import run_amaranth, run_icarus, run_verilator
from tests.hw.programs import packed_vectors, rows_for
from tests.support import optimise, random_model

DENSE: list[dict[str, Any]] = [
    {"layers": (9,), "features": 5, "bits": 31},
    {"layers": (8, 7), "features": 4, "bits": 7, "outputs": 2},
    {"layers": (7,), "features": 3, "bits": 9, "spacing": "quantile", "activation": "step"},
    {"layers": (8,), "features": 4, "bits": 7, "task": "classification", "outputs": 3},
    {"layers": (9,), "features": 4, "encoder": "gray", "bits": 5, "mechanism": "external"},
]


def optimised(seed: int = 3, **options: Any) -> Program:
    model = random_model(seed, **options)
    return optimise(lower(model, quantise(model, 8)))


def memories(program: Program) -> list[Table]:
    return [op for op in program.ops if isinstance(op, Table) and op.memory]


def in_block_ram(clock_mhz: float = 100, **options: Any) -> Layout:
    return lay_out(block_tables(optimised(**options)), clock_mhz=clock_mhz)


@pytest.mark.parametrize("options", DENSE, ids=str)
def test_outputs_stay_what_they_are(options: dict[str, Any]) -> None:
    before = optimised(**options)
    after = block_tables(before)
    verify(after)
    assert memories(after)
    rows = rows_for(before)
    assert np.array_equal(interpret(before, rows), interpret(after, rows))


def tables_of_two_levels(repeats: int) -> Program:
    """Sums that each look the two levels up in several tables, as a readout does nodes' bits."""
    ops: list[Any] = [Input(0, 0, 31), Input(1, 0, 31), Field(0, 1, 4), Field(1, 1, 4)]
    sums = []
    for number in range(MIN_READERS):
        terms = []
        for place in range(repeats):
            for level in (2, 3):
                contents = tuple((v * (3 + number) + place * 7) % 11 for v in range(16))
                terms.append(len(ops))
                ops.append(Table(level, contents))
        sums.append(len(ops))
        weights = tuple(range(1 + number, 1 + number + len(terms)))
        ops.append(Sum(tuple(terms), weights, number))
    return Program(tuple(ops), (0, 1), tuple(sums))


@pytest.mark.parametrize("repeats", [1, 2, 3])
def test_a_sum_may_have_several_tables_of_one_level(repeats: int) -> None:
    before = tables_of_two_levels(repeats)
    verify(before)
    after = block_tables(before)
    verify(after)
    assert len(memories(after)) == MIN_READERS
    rows = rows_for(before)
    np.testing.assert_array_equal(interpret(after, rows), interpret(before, rows))


def test_a_node_that_sees_one_of_two_levels_has_a_table_of_its_own() -> None:
    """Levels are looked up in pairs, but not every node needs both."""
    before = optimised(0, layers=(12,), features=4, bits=7, inputs_per_node=3)
    after = block_tables(before)
    assert memories(after)
    sums = [op for op in after.ops if isinstance(op, Sum)]
    tables = [[after.ops[ref] for ref in op.operands] for op in sums]
    assert any({True, False} <= {t.memory for t in own if isinstance(t, Table)} for own in tables)
    rows = rows_for(before)
    assert np.array_equal(interpret(before, rows), interpret(after, rows))


@pytest.mark.parametrize("options", DENSE, ids=str)
def test_the_core_reads_its_memories_at_clock_edges(options: dict[str, Any]) -> None:
    """With stalls and resets in mid-stream, which a memory has to stand still for."""
    layout = in_block_ram(**options)
    core = ScmCore(layout.program, layout.schedule)
    vectors = packed_vectors(layout.program, core.in_widths, core.out_widths)
    result = run_amaranth(lambda: core, vectors, layout.schedule.latency)
    assert result.failures == ()
    assert (result.cycles, result.interval) == (layout.schedule.latency, 1)


@pytest.mark.parametrize("run", [run_icarus, run_verilator])
def test_verilog(run: Any, tmp_path: Path) -> None:
    layout = in_block_ram(clock_mhz=150, **DENSE[0])
    core = ScmCore(layout.program, layout.schedule)
    vectors = packed_vectors(layout.program, core.in_widths, core.out_widths, 60)
    path = tmp_path / "scm_core.v"
    path.write_text(to_verilog(core, "scm_core"))
    result = run(path, vectors, layout.schedule.latency, 1, workdir=tmp_path / "work")
    assert result.failures == ()


def test_few_readers_are_not_worth_a_memory() -> None:
    program = optimised(layers=(5,), features=4)
    assert block_tables(program) == program


def test_two_features_at_a_time_and_the_odd_one_stays() -> None:
    after = block_tables(optimised(layers=(9,), features=5, bits=31))
    assert len({table.index for table in memories(after)}) == 2
    assert all(len(table.contents) == 32 * 32 for table in memories(after))


@pytest.mark.long
def test_yosys_finds_the_block_rams(tmp_path: Path) -> None:
    layout = in_block_ram(**DENSE[0])
    text = to_verilog(ScmCore(layout.program, layout.schedule), "scm_core")
    found = synthesise({"scm_core.v": text}, cache_dir=tmp_path)
    guess = estimate(layout.program, layout.schedule)
    assert found.bram == guess.bram > 0
    in_luts = lay_out(optimised(**DENSE[0]), clock_mhz=100)
    assert found.lut < in_luts.cost.lut
    assert layout.schedule.latency == in_luts.schedule.latency + 1
