"""The core in Amaranth's simulator: values, latency, stalls, resets and probes."""

from __future__ import annotations

import re
from random import Random
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import ClockDomain, Module, Signal
from amaranth.sim import Simulator, SimulatorContext

from scm_hw.ir import (
    AtLeast,
    Builder,
    Concat,
    Constant,
    Field,
    Input,
    Less,
    Product,
    Program,
    Select,
    Sum,
    Table,
    Xor,
    node_part,
)
from scm_hw.ir.interp import interpret, trace
from scm_hw.rtl import ScmCore, to_verilog
from scm_hw.schedule import Schedule, schedule
from scm_hw.verify import run_amaranth
from tests.hw.programs import packed_vectors, rows_for
from tests.support import compiled, random_model

KINDS: list[dict[str, Any]] = [
    {"layers": (6,), "bits": 7},
    {"layers": (6,), "bits": 5, "spacing": "quantile", "activation": "step"},
    {"layers": (4, 3), "encoder": "binary", "bits": 4, "mechanism": "external"},
    {"layers": (5,), "encoder": "gray", "bits": 4, "task": "classification", "outputs": 3},
    {"layers": (4, 3, 2), "encoder": "none", "outputs": 2, "inputs_per_node": 2},
    {"layers": (4,), "mechanism": "polynomial", "features": 2, "input_bits": 5, "bits": 3},
    {"layers": (4,), "mechanism": "table", "features": 2, "bits": 3},
    {"layers": (), "outputs": 2},
    {"layers": (3,), "features": 1, "bits": 1, "input_bits": 1},
    {"layers": (5,), "task": "classification", "outputs": 5, "mechanism": "external", "bits": 3},
]


def check(program: Program, plan: Schedule, count: int = 24) -> ScmCore:
    """All scenarios of the simulators: full speed, stalls on both sides, resets in mid-stream."""
    core = ScmCore(program, plan)
    vectors = packed_vectors(program, core.in_widths, core.out_widths, count)
    result = run_amaranth(lambda: core, vectors, plan.latency)
    assert result.failures == ()
    assert (result.cycles, result.interval) == (plan.latency, 1)
    return core


@pytest.mark.parametrize("clock_mhz", [40, 150])
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_models_of_each_kind(kind: dict[str, Any], clock_mhz: float) -> None:
    if clock_mhz > 100 and kind.get("mechanism") in ("polynomial", "table"):
        # A multiplier without registers of its own takes longer than that.
        clock_mhz = 90
    layout = compiled(random_model(3, **kind), clock_mhz=clock_mhz)
    check(layout.program, layout.schedule)


def every_operation() -> Program:
    """A pipeline with an operation of every kind, read at once, later, and in the end."""
    build = Builder()
    code = build.add(Input(0, 0, 7, name="code"))
    word = build.add(Input(1, -4, 3, name="word"))
    offset = build.add(Input(2, 5, 6, name="offset"))
    table = build.add(Table(code, (3, -1, 4, 1, -5, 9, 2, 6)))
    product = build.add(Product(table, word))
    total = build.add(Sum((product, code), (1, -2)))
    bit = build.add(AtLeast(total, 3))
    less = build.add(Less(word, table))
    parity = build.add(Xor((bit, less)))
    chosen = build.add(Select(parity, total, word))
    joined = build.add(Concat((parity, code), (1, 3)))
    field = build.add(Field(joined, 1, 2))
    shifted = build.add(Sum((field,), (4,)))
    absorbing = build.add(Sum((shifted, build.add(Table(code, (0, 5, 1, 6, 2, 7, 3, 8)))), (1, 1)))
    fixed = build.add(Constant(-6))
    outputs = (chosen, joined, absorbing, fixed, offset, code, field, shifted)
    return build.program((code, word, offset), outputs)


@pytest.mark.parametrize("clock_mhz", [20, 110, 140])
def test_every_operation_at_every_depth(clock_mhz: float) -> None:
    program = every_operation()
    plan = schedule(program, clock_mhz=clock_mhz)
    assert (plan.latency > 1) == (clock_mhz > 20)
    check(program, plan, count=64)


def test_ports_are_as_wide_as_their_ranges() -> None:
    program = every_operation()
    plan = schedule(program, clock_mhz=100)
    core = check(program, plan)
    assert (core.in_widths, len(core.in_data)) == ([3, 3, 3], 9)
    assert core.out_widths[3:] == [4, 3, 3, 2, 4]
    assert len(core.out_data) == sum(core.out_widths)
    assert (core.program, core.schedule) == (program, plan)
    assert (core.latency, core.initiation_interval) == (plan.latency, 1)


def recorded_signals(monkeypatch: pytest.MonkeyPatch) -> dict[str, Signal]:
    """The signals that cores make from now on, by name."""
    found: dict[str, Signal] = {}

    def record(*args: Any, **options: Any) -> Signal:
        signal = Signal(*args, **options)
        found[signal.name] = signal
        return signal

    monkeypatch.setattr("scm_hw.rtl.core.Signal", record)
    return found


@pytest.mark.parametrize("kind", [KINDS[0], KINDS[3], KINDS[4]], ids=str)
def test_probes_tell_true_values(kind: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """A probe's signal holds its operation's value, `cycle` edges after the sample went in."""
    layout = compiled(random_model(1, **kind), clock_mhz=120)
    core = ScmCore(layout.program, layout.schedule)
    signals = recorded_signals(monkeypatch)
    simulator = Simulator(core)
    rows = rows_for(layout.program, 12)[:12]
    expected = trace(layout.program, rows, {probe.ref for probe in core.probes})
    words = packed_vectors(layout.program, core.in_widths, core.out_widths, rows=rows).inputs
    seen = 0

    async def play(ctx: SimulatorContext) -> None:
        nonlocal seen
        ctx.set(core.out_ready, 1)
        ctx.set(core.in_valid, 1)
        for edge in range(len(rows) + core.latency):
            ctx.set(core.in_data, words[min(edge, len(rows) - 1)])
            for probe in core.probes:
                sample = edge - probe.cycle
                if 0 <= sample < len(rows):
                    value = int(expected[probe.ref][sample])
                    signal = signals[probe.signal.split(".")[-1]]
                    assert ctx.get(signal) == value, (probe, sample)
                    seen += 1
            await ctx.tick()

    simulator.add_clock(1e-8)
    simulator.add_testbench(play)
    simulator.run()
    assert seen == len(rows) * len(core.probes) > 0
    assert {probe.cycle for probe in core.probes} == set(range(core.latency))


def test_reset_empties_the_core() -> None:
    """After a reset nothing comes out that went in before it, and the next result is right."""
    layout = compiled(random_model(0, layers=(5,)), clock_mhz=150)
    core = ScmCore(layout.program, layout.schedule)
    rows = rows_for(layout.program, 10)[:10]
    words = packed_vectors(layout.program, core.in_widths, core.out_widths, rows=rows)
    module = Module()
    module.domains.sync = domain = ClockDomain()
    module.submodules.core = core
    random = Random(0)

    async def play(ctx: SimulatorContext) -> None:
        for attempt in range(8):
            ctx.set(core.out_ready, 0)
            ctx.set(core.in_valid, 1)
            ctx.set(core.in_data, words.inputs[random.randrange(10)])
            await ctx.tick().repeat(attempt + 1)
            ctx.set(core.in_valid, 0)
            ctx.set(domain.rst, 1)
            await ctx.tick()
            ctx.set(domain.rst, 0)
            assert not ctx.get(core.out_valid)
            ctx.set(core.out_ready, 1)
            ctx.set(core.in_valid, 1)
            ctx.set(core.in_data, words.inputs[attempt])
            for _ in range(core.latency):
                assert not ctx.get(core.out_valid)
                assert ctx.get(core.in_ready)
                await ctx.tick()
                ctx.set(core.in_valid, 0)
            assert ctx.get(core.out_valid)
            assert ctx.get(core.out_data.as_unsigned()) == words.outputs[attempt]
            await ctx.tick()
            assert not ctx.get(core.out_valid)

    simulator = Simulator(module)
    simulator.add_clock(1e-8)
    simulator.add_testbench(play)
    simulator.run()


def test_a_result_does_not_wait_to_be_asked_for() -> None:
    """Until a result waits, samples go in and move on, whatever `out_ready` says."""
    program = every_operation()
    core = ScmCore(program, schedule(program, clock_mhz=140))

    async def play(ctx: SimulatorContext) -> None:
        ctx.set(core.in_valid, 1)
        for _ in range(core.latency):
            assert ctx.get(core.in_ready) and not ctx.get(core.out_valid)
            await ctx.tick()
        for _ in range(3):
            assert ctx.get(core.out_valid) and not ctx.get(core.in_ready)
            await ctx.tick()

    simulator = Simulator(core)
    simulator.add_clock(1e-8)
    simulator.add_testbench(play)
    simulator.run()
    assert core.latency > 1


def test_a_negative_linear_weight_beside_tables() -> None:
    """The first operand of an addition may be the one that is taken off."""
    model = random_model(0, layers=(5,), features=1, bits=7, input_bits=6)
    model.linear[:] = -0.5
    layout = compiled(model, clock_mhz=100, frac_bits=8)
    check(layout.program, layout.schedule, count=64)


def test_packing_is_the_first_field_lowest() -> None:
    build = Builder()
    ends = ((0, 3), (-4, 3), (0, 7))
    refs = tuple(build.add(Input(i, *pair, name=f"x{i}")) for i, pair in enumerate(ends))
    program = build.program(refs, refs[::-1])
    rows = np.array([[1, -1, 2], [3, -4, 5]])
    np.testing.assert_array_equal(interpret(program, rows), rows[:, ::-1])
    core = check(program, schedule(program, clock_mhz=100))
    vectors = packed_vectors(program, core.in_widths, core.out_widths, rows=rows)
    assert vectors.inputs == (0b010_111_01, 0b101_100_11)
    assert vectors.outputs == (0b01_111_010, 0b11_100_101)


def test_every_port_has_the_name_of_its_signal() -> None:
    """Also of bits that two nodes look up together, which stand side by side in each."""
    build = Builder()
    codes = [build.add(Input(i, 0, 7, name=f"x{i}")) for i in range(2)]
    bits = [
        build.add(AtLeast(c, 3, name=f"layer1.node{i}", part=node_part(1, i)))
        for i, c in enumerate(codes)
    ]
    pair = build.add(Concat(tuple(bits), (1, 1), part=node_part(2, 0)))
    outputs = []
    for i, contents in enumerate([(0, 1, 1, 0), (1, 0, 0, 0)]):
        table = build.add(Table(pair, contents, part=node_part(2, i)))
        outputs.append(build.add(Xor((table, bits[i]), part=node_part(2, i))))
    program = build.program(tuple(codes), tuple(outputs))
    core = check(program, schedule(program, clock_mhz=100))
    text = to_verilog(core, "scm_core")
    (ports,) = re.findall(r"module scm_core_layer2_node1\((.*)\);", text)
    assert {"layer1_node0_2_c0", "layer1_node1_3_c0"} < set(ports.split(", "))
    assert "port$" not in text


def test_nodes_of_one_operation_share_the_module_of_their_layer() -> None:
    """Every tool goes through all modules for each of them."""
    build = Builder()
    code = build.add(Input(0, 0, 15, name="x0"))
    first = [
        build.add(AtLeast(code, 3 * i + 1, name=f"layer1.node{i}", part=node_part(1, i)))
        for i in range(5)
    ]
    tables = []
    for i in range(3):
        index = build.add(Concat(tuple(first[i : i + 3]), (1, 1, 1), part=node_part(2, i)))
        tables.append(build.add(Table(index, (0, 1, 1, 0, 1, 0, 0, 1), part=node_part(2, i))))
    program = build.program((code,), (*tables, first[4]))
    core = check(program, schedule(program, clock_mhz=100))
    modules = re.findall(r"^module (\w+)", to_verilog(core, "scm_core"), re.MULTILINE)
    assert sorted(modules) == ["scm_core", "scm_core_layer1", "scm_core_layer2"]
