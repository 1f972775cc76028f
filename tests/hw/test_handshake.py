# amaranth: UnusedElaboratable=no
"""How cores wait: results in a queue, or no waiting at all; and registers at their inputs."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Module
from amaranth.sim import Simulator

from scm_hw import boards, emit
from scm_hw.__main__ import main
from scm_hw.boards.top import SelfTest
from scm_hw.common.names import DEFAULT
from scm_hw.design import Design, Options, compile_model
from scm_hw.errors import OptionError
from scm_hw.rtl.queue import Queued, ResultQueue
from scm_hw.sim.vectors import Vectors
from scm_hw.verify import (
    lint,
    run_amaranth,
    run_icarus,
    run_interface,
    run_testbench,
    run_verilator,
)
from scm_hw.verify.check import select_vectors
from scm_hw.verify.rows import check_rows
from tests.hw.commands import small_model
from tests.support import random_model

ARTY = boards.get("arty-a7")
SHAPE: dict[str, Any] = {"features": 3, "layers": (5,), "bits": 7, "outputs": 2}
DIGEST = "0123456789abcdef" * 4


@cache
def design(**options: Any) -> Design:
    chosen = {"frac_bits": 8, "clock_mhz": 100.0} | options
    return compile_model(random_model(2, **SHAPE), ARTY, Options(**chosen))


def vectors_of(found: Design, count: int = 40) -> Vectors:
    return select_vectors(found, check_rows(found, found.model.evaluation)).head(count)


CHOICES = [
    {"handshake": "skid"},
    {"handshake": "none"},
    {"handshake": "global", "input_register": True},
    {"handshake": "skid", "input_register": True, "clock_mhz": 200.0},
    {"handshake": "none", "input_register": True, "tables": "block"},
    {"handshake": "skid", "pipeline": "min-latency", "clock_mhz": 25.0},
]


@pytest.mark.parametrize("options", CHOICES, ids=str)
def test_every_vector_under_stalls_and_resets(options: dict[str, Any]) -> None:
    found = design(**options)
    plan = found.schedule
    ready = options["handshake"] != "none"
    result = run_amaranth(found.new_core, vectors_of(found), plan.latency, ready=ready)
    assert result.failures == ()
    assert (result.cycles, result.interval) == (plan.latency, 1)
    assert ("in_ready" in found.core.signature.members) == ready


def test_a_register_at_the_inputs_is_a_cycle_and_keeps_the_stages() -> None:
    plain, registered = design(), design(input_register=True)
    assert registered.schedule.latency == plain.schedule.latency + 1
    assert registered.schedule.stage_ns[1:] == plain.schedule.stage_ns
    assert registered.schedule.stage_ns[0] == pytest.approx(plain.schedule.tech.register)
    widths = sum(reach.width for reach in plain.input_ranges)
    assert registered.estimate.ff >= plain.estimate.ff + widths


@pytest.mark.parametrize("handshake", ["skid", "none"])
def test_no_register_of_the_pipeline_has_an_enable(handshake: str) -> None:
    """In Yosys' Verilog a register with an enable is assigned in a condition."""
    core = design(handshake=handshake).verilog.split("\nmodule ")[-1]
    assert "if (advance)" in design().verilog
    assert "advance" not in core


@pytest.mark.parametrize(
    ("handshake", "run"),
    [
        ("skid", run_verilator),
        ("none", run_icarus),
        # Verilator's main program is compiled anew for other ports.
        pytest.param("none", run_verilator, marks=pytest.mark.long),
    ],
)
def test_the_verilog_and_its_test_bench(handshake: str, run: Any, tmp_path: Path) -> None:
    found = design(handshake=handshake)
    vectors, latency = vectors_of(found), found.schedule.latency
    files = {"scm_core.v": found.verilog}
    files |= emit.testbench_files(vectors, latency, 1, DEFAULT, handshake)
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    core = tmp_path / "scm_core.v"
    lint([core], "scm_core")
    assert run_testbench(tmp_path, workdir=tmp_path / "bench") == (len(vectors), latency)
    result = run(core, vectors, latency, workdir=tmp_path, ready=handshake != "none")
    assert result.failures == ()
    assert (result.cycles, result.interval) == (latency, 1)


@pytest.mark.parametrize("interface", ["axis", "axil"])
@pytest.mark.parametrize("handshake", ["skid", "none"])
def test_behind_axi(interface: str, handshake: str, tmp_path: Path) -> None:
    found = design(handshake=handshake)
    files = {"scm_core.v": found.verilog}
    files |= emit.interface_files(interface, found.ports, DIGEST, ARTY)
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    top = DEFAULT.wrapper(interface)
    sources = [tmp_path / "scm_core.v", tmp_path / f"{top}.v"]
    lint(sources, top)
    run_interface(
        interface, sources, vectors_of(found), found.ports, DIGEST, "icarus", workdir=tmp_path
    )


def test_a_self_test_of_a_core_that_can_not_wait() -> None:
    found = design(handshake="none")
    core = found.new_core()
    passed, _ = self_tested(core, vectors_of(found), found.schedule.latency)
    assert passed
    vectors = vectors_of(found)
    wrong = replace(vectors, outputs=(vectors.outputs[0] ^ 1, *vectors.outputs[1:]))
    assert self_tested(found.new_core(), wrong, found.schedule.latency) == (False, True)


class WithReady(Queued):
    """The same with a core of Amaranth, which has no ready to read or drive."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.core = core = self.core
        m.submodules.queue = queue = ResultQueue(len(core.out_data), self.latency)
        m.d.comb += [
            queue.in_valid.eq(self.in_valid),
            self.in_ready.eq(queue.in_ready),
            core.in_valid.eq(queue.taken),
            core.in_data.eq(self.in_data),
            queue.done.eq(core.out_valid),
            queue.result.eq(core.out_data),
            self.out_valid.eq(queue.out_valid),
            queue.out_ready.eq(self.out_ready),
            self.out_data.eq(queue.out_data),
        ]
        return m


def self_tested(core: Any, vectors: Vectors, latency: int) -> tuple[bool, bool]:
    """Whether the board's lamps say that it passed, and that it failed."""
    test = SelfTest(WithReady(core, latency), vectors, blink_cycles=10)
    simulator = Simulator(test)
    simulator.add_clock(1e-8)
    found = []

    async def watch(ctx: Any) -> None:
        await ctx.tick().repeat(8 * len(vectors) + 100)
        found.extend([ctx.get(test.passed), ctx.get(test.failed)])

    simulator.add_testbench(watch)
    simulator.run()
    return bool(found[0]), bool(found[1])


# Folded cores


def test_a_folded_core_with_a_registered_ready() -> None:
    plain = design(fold="2x4")
    found = design(fold="2x4", handshake="skid")
    plan = found.schedule
    assert plan.latency == plain.schedule.latency
    assert plan.initiation_interval == plain.schedule.initiation_interval + 1
    vectors = vectors_of(found, 12)
    result = run_amaranth(found.new_core, vectors, plan.latency, plan.initiation_interval)
    assert result.failures == ()
    assert (result.cycles, result.interval) == (plan.latency, plan.initiation_interval)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"handshake": "none"}, "handshake must be global or skid for a folded core, .* not none"),
        ({"input_register": True}, "input register must be left out for a folded core"),
    ],
    ids=["none", "input register"],
)
def test_what_a_folded_core_can_not_have(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        design(fold="2x4", **options)


# Planted faults


def test_a_queue_that_is_too_short_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """With places for one result fewer than there are cycles, a stall loses some."""
    found = design(handshake="skid", clock_mhz=200.0)
    latency = found.schedule.latency
    waits = ResultQueue._wait

    def few_places(self: ResultQueue, m: Module) -> None:
        self.latency = 1
        waits(self, m)

    monkeypatch.setattr(ResultQueue, "_wait", few_places)
    result = run_amaranth(found.new_core, vectors_of(found, 12), latency)
    assert any("stalled" in failure for failure in result.failures)


def test_a_queue_of_too_little_credit_is_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    found = design(handshake="skid", clock_mhz=200.0)
    made = ResultQueue.__init__

    def stingy(self: ResultQueue, out_width: int, latency: int) -> None:
        made(self, out_width, latency - 1)

    monkeypatch.setattr(ResultQueue, "__init__", stingy)
    result = run_amaranth(found.new_core, vectors_of(found), found.schedule.latency)
    assert any("full_speed" in failure for failure in result.failures)


@pytest.mark.parametrize("top", ["uart", "self-test"])
def test_a_build_without_handshake(top: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = [
        "build",
        str(small_model(tmp_path / "model.npz")),
        "--out",
        str(out),
        "--top",
        top,
        "-q",
    ]
    words += ["--handshake", "none", "--input-register", "--no-synth", "--sim", "icarus"]
    assert main(words) == 0
    text = (out / "scm_top.v").read_text()
    assert ("queue" in text) == (top == "self-test")
