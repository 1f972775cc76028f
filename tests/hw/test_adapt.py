"""A readout that learns in hardware: the integers of its meaning, under stalls and resets."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from amaranth.hdl import Fragment
from amaranth.sim import Simulator
from numpy.testing import assert_array_equal

from scm_hw.build import BuildOptions, build
from scm_hw.common.packing import unpack
from scm_hw.component import Core
from scm_hw.design import Design, Options
from scm_hw.emit.identity import describe
from scm_hw.errors import OptionError, UnsupportedModelError
from scm_hw.ir.interp import interpret
from scm_hw.load import Model
from scm_hw.load.adaptive import without_learning
from scm_hw.rtl.uart.description import Description
from scm_hw.software import build_c
from scm_hw.verify import run_amaranth, run_icarus, run_verilator
from scm_hw.verify.check import simulate
from scm_hw.verify.rows import check_rows
from scm_model import write_model
from scm_model.adaptation import UPDATE_DELAY, AdaptSettings
from scm_model.drift import Drift
from tests.hw.adapting import BOARD, learns, samples, stream, vectors_of
from tests.hw.test_families import family_model
from tests.hw.test_records import machine as machine_with_memory
from tests.support import random_model

KINDS = {
    "nodes": {},
    "two layers": {"outputs": 2, "layers": (6, 5), "mechanism": "polynomial"},
    "step nodes": {"activation": "step", "encoder": "gray"},
    "codes": {"encoder": "none", "mechanism": "table"},
    "families": {},
}
SETTINGS = {
    "default": AdaptSettings(),
    "all": AdaptSettings(step=4, leak=6, most_age=5),
    "every age": AdaptSettings(step=7, most_age=7),
}


@cache
def machine(kind: str) -> Model:
    if kind == "families":
        return family_model(2, outputs=2)
    return random_model(3, rows=20, **KINDS[kind])


@cache
def designed(kind: str, settings: str = "default", handshake: str = "global") -> Design:
    """With changes that saturate and a drift flag that rises within a few samples, or none would
    be seen to."""
    design = learns(machine(kind), SETTINGS[settings], handshake=handshake)
    own = design.adaptive.adaptation
    one = 1 << own.grid_bits
    sooner = replace(own, width=max(own.width - 8, 7), drift=Drift(one // 2, 4 * one))
    return replace(design, adaptive=replace(design.adaptive, adaptation=sooner))


def verdict(design: Design, rows: np.ndarray):
    """Amaranth's simulation at full speed, with stalls, and with resets in mid-stream."""
    return run_amaranth(
        design.new_core,
        vectors_of(design, rows),
        design.latency,
        design.initiation_interval,
        ready=True,
    )


@pytest.mark.parametrize(
    ("kind", "settings", "handshake"),
    [
        ("nodes", "default", "global"),
        ("nodes", "all", "skid"),
        ("two layers", "every age", "global"),
        ("codes", "default", "skid"),
        ("families", "all", "global"),
    ],
)
def test_the_core_is_exact_under_stalls_and_resets(kind: str, settings: str, handshake: str):
    design = designed(kind, settings, handshake)
    rows = stream(design, 150)
    verdict(design, rows).check()
    # It did learn.
    fixed = interpret(design.meaning, design.adaptive.split(rows)[0])
    outputs = design.adaptive.adaptation.outputs
    assert (design.interpret(rows)[:, :outputs] != fixed).any(axis=1).mean() > 0.3


@pytest.mark.parametrize(
    "options",
    [
        {"output_units": True, "input_format": ("x1=adc:10:-5:5",), "input_register": True},
        {"output_bits": 9, "latency": 9},
    ],
    ids=str,
)
def test_units_precision_and_registers_of_a_design(options: dict) -> None:
    design = learns(machine("nodes"), **options)
    verdict(design, stream(design, 90)).check()


@cache
def answered(kind: str) -> tuple[Design, np.ndarray, np.ndarray]:
    """A stream, and what the core itself gives for it."""
    design = designed(kind, "all")
    rows = stream(design, 250)
    core, words = design.new_core(), vectors_of(design, rows).inputs
    found: list[int] = []

    async def play(ctx) -> None:
        ctx.set(core.out_ready, 1)
        for word in (*words, *[0] * design.latency):
            ctx.set(core.in_valid, len(found) + design.latency < len(words) or word != 0)
            ctx.set(core.in_data, word)
            if ctx.get(core.out_valid):
                found.append(ctx.get(core.out_data.as_unsigned()))
            await ctx.tick()

    simulator = Simulator(core)
    simulator.add_clock(1e-8)
    simulator.add_testbench(play)
    simulator.run()
    ports = design.ports
    return design, rows, unpack(found[: len(rows)], ports.out_widths, ports.out_signed)


FAULTS = ("drop_bits", "guard_bits", "leak", "width", "age", "drift", "restart", "freeze", "learn")


@pytest.mark.parametrize("kind", ["nodes", "families"])
@pytest.mark.parametrize("fault", FAULTS)
def test_another_meaning_is_told_from_that_of_the_core(kind: str, fault: str) -> None:
    """A fault in the arithmetic, the memories or the controls; all of them are found."""
    design, rows, found = answered(kind)
    assert_array_equal(found, design.interpret(rows))
    own = design.adaptive.adaptation
    meant = {
        "drop_bits": {"drop_bits": own.drop_bits + 1},
        "guard_bits": {"guard_bits": own.guard_bits - 1},
        "leak": {"leak": own.leak - 1},
        "width": {"width": own.width + 1},
        "drift": {"drift": Drift(own.drift.reference // 2, own.drift.threshold)},
    }.get(fault, {})
    told = rows.copy()
    place = {"age": -4, "learn": -3, "freeze": -2, "restart": -1}.get(fault)
    if place is not None:
        told[1:, place] = np.maximum(told[1:, place] - 1, 0)
    expected = replace(design.adaptive, adaptation=replace(own, **meant)).interpret(told)
    assert (expected != found).any()


def test_a_core_whose_errors_come_a_sample_late_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    design = designed("nodes")
    monkeypatch.setattr("scm_hw.rtl.adapt.learner.LAG", UPDATE_DELAY - 2)
    assert not verdict(design, stream(design, 80)).ok


@pytest.mark.parametrize("kind", ["nodes", "families"])
def test_without_targets_it_is_the_trained_machine(kind: str) -> None:
    design = designed(kind)
    machine_rows = samples(design, 60)
    found = design.interpret(without_learning(design.adaptive, machine_rows))
    outputs = design.adaptive.adaptation.outputs
    assert_array_equal(found[:, :outputs], interpret(design.meaning, machine_rows))
    assert not found[:, outputs:].any()


@pytest.mark.parametrize(
    ("kind", "simulator"), [("step nodes", "verilator"), ("families", "icarus")]
)
def test_the_verilog_is_exact(kind: str, simulator: str, tmp_path: Path) -> None:
    design = designed(kind, "all")
    simulate(design, check_rows(design, design.model.evaluation), simulator, tmp_path).check()


@pytest.mark.long
@pytest.mark.parametrize("kind", ["nodes", "families"])
def test_a_hundred_thousand_updates_are_exact(kind: str, tmp_path: Path) -> None:
    """In one stream at full speed, whose later answers depend on all that was learned before."""
    design = designed(kind)
    rows = stream(design, 101_000)
    rows[:, -3:] = (1, 0, 0)
    rows[0, -1] = 1
    (tmp_path / "core.v").write_text(design.verilog)
    run = run_verilator(
        tmp_path / "core.v",
        vectors_of(design, rows),
        design.latency,
        workdir=tmp_path,
        top=design.names.core,
    )
    run.check()
    assert run.vectors >= 100_000
    run_icarus(
        tmp_path / "core.v",
        vectors_of(design, rows[:10_000]),
        design.latency,
        workdir=tmp_path,
        top=design.names.core,
    ).check()


def test_a_build_says_how_it_learns(tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    write_model(machine("nodes"), path)
    how = BuildOptions(out=tmp_path / "out", simulators=(), synthesis=False)
    done = build(path, BOARD, Options(adapt=SETTINGS["all"]), how)
    told = done.report["adaptation"]
    assert told["cycles_per_update"] == done.report["initiation_interval"] == 1
    assert told["update_delay_samples"] == UPDATE_DELAY
    assert told["oldest_target_samples"] == 5 and told["step"] == 1 / 16
    assert told["drift"]["threshold"] > 0 and told["lut_estimate"] > 100
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Learning on the chip" in page and "an update every 1 cycle" in page
    names = [port["name"] for port in done.report["formats"]["in_data"]]
    assert names[-5:] == ["target_y0", "age", "learn", "freeze", "restart"]
    assert [port["name"] for port in done.report["formats"]["out_data"]][1:] == ["error", "drift"]
    # The trained machine: what it learns from the test rows is no part of its error.
    assert done.report["rmse_hw"] == pytest.approx(done.report["rmse_pc"], rel=1e-3)


def test_the_description_comes_back_and_packs_targets() -> None:
    design = designed("two layers", "all")
    told = Description.decode(describe(design, "demo").encode())
    assert told == describe(design, "demo")
    model = design.model
    X, y = model.evaluation.inputs[:9], model.evaluation.targets[:9]
    rows = told.learning_inputs(X, y, age=2, restart=True)
    machine_rows, controls = design.adaptive.split(rows)
    assert_array_equal(machine_rows, told.inputs(X)[:, : machine_rows.shape[1]])
    unit = (y - model.target_min) / (model.target_max - model.target_min)
    assert_array_equal(controls.targets, design.adaptive.adaptation.target_words(unit))
    assert controls.learn.all() and not controls.freeze.any() and (controls.age == 2).all()
    assert controls.restart.tolist() == [True] + [False] * 8
    with pytest.raises(OptionError, match=r"age must be in \[0, 5\], not 6"):
        told.learning_inputs(X, y, age=6)


def test_fields_have_names_of_their_own() -> None:
    model = replace(machine("nodes"), features=("learn", "age", "learn_"))
    core = Core(model, adapt=AdaptSettings(most_age=2))
    Fragment.get(core, None)
    names = list(core.inputs.members)
    assert names == [*model.features, "target_y0", "age_", "learn__", "freeze", "restart"]


def test_a_component_has_the_fields() -> None:
    core = Core(machine("nodes"), adapt=AdaptSettings())
    Fragment.get(core, None)
    row = core.design.model.evaluation.inputs[0]
    assert list(core.encode(row))[-4:] == ["target_y0", "learn", "freeze", "restart"]
    assert list(core.outputs.members) == ["y0", "error", "drift"]
    assert list(core.decode({"y0": 0, "error": 3, "drift": 1})) == ["y0"]


@pytest.mark.parametrize(
    "options",
    [
        {"handshake": "none"},
        {"fold": "1x1"},
        {"interface": "axis"},
        {"interface": "axil"},
        {"top": "self-test"},
        {"reload": "readout"},
    ],
    ids=str,
)
def test_what_it_does_not_go_with_is_refused(options: dict[str, str]) -> None:
    name, value = next(iter(options.items()))
    with pytest.raises(OptionError, match=rf"^{name} must be .* with --adapt, not {value}; .*"):
        Options(adapt=AdaptSettings(), **options)


def test_machines_that_cant_learn_are_refused() -> None:
    for model, what in (
        (random_model(3, outputs=3, task="classification"), "real targets, not classes"),
        (machine_with_memory(), "rows of its own, not memory"),
        (random_model(3, mechanism="external"), "its mechanism inside"),
        (random_model(3, layers=()), "hidden nodes, not a linear part alone"),
    ):
        with pytest.raises(UnsupportedModelError, match=f"model must have {what}"):
            learns(model)


def test_a_clock_that_leaves_no_time_to_learn_is_refused() -> None:
    with pytest.raises(OptionError, match=r"clock must be at most \d+ MHz for --adapt"):
        learns(machine("families"), clock_mhz=450.0)
    with pytest.raises(OptionError, match=r"latency must be at least .* with --adapt"):
        learns(machine("nodes"), latency=2)


def test_c_is_refused(tmp_path: Path) -> None:
    write_model(machine("nodes"), tmp_path / "model.npz")
    with pytest.raises(OptionError, match="target must be verilog for a readout that learns"):
        build_c(tmp_path / "model.npz", BOARD, Options(adapt=AdaptSettings()), BuildOptions())


def test_cores_that_dont_learn_keep_their_digests() -> None:
    design = designed("nodes")
    assert replace(design, adaptive=None).digest != design.digest
