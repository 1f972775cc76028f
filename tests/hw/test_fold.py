"""Folded cores: the same integers in as many cycles as the plan says, in every simulator."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scm_hw import boards
from scm_hw.design import Options, compile_model
from scm_hw.fold import FoldPlan, estimate_fold, fold_machine, parse_fold
from scm_hw.fold.timeline import cycles_until_readout
from scm_hw.ir import AtLeast, Builder, Concat, Field, Program, Table, Xor
from scm_hw.ir.interp import interpret
from scm_hw.load import Model, lower_model, model_from_arrays, quantise
from scm_hw.rtl import to_verilog
from scm_hw.rtl.fold import FoldedCore
from scm_hw.target.resources import within
from scm_hw.tools.synthesis import synthesise
from scm_hw.verify import lint, run_amaranth, run_icarus, run_verilator
from tests.hw.programs import packed_vectors, rows_for
from tests.support import model_arrays, random_model

IMAGES = {
    "features": 784,
    "encoder": "binary",
    "bits": 1,
    "input_bits": 1,
    "outputs": 10,
    "task": "classification",
    "linear": False,
    "rows": 12,
}
MODELS: dict[str, dict[str, Any]] = {
    "one layer": {"layers": (6,)},
    "deep": {"layers": (5, 4, 3), "activation": ("sign", "step", "sign"), "linear": False},
    "step": {"layers": (5, 4), "activation": "step", "outputs": 2},
    "selective": {"layers": (6, 4), "inputs_per_node": 2, "features": 5, "bits": 3},
    "classes": {"layers": (5, 4), "outputs": 5, "task": "classification"},
    "two classes": {"layers": (3,), "outputs": 2, "task": "classification", "linear": False},
    "polynomial": {"layers": (4, 3), "mechanism": "polynomial", "outputs": 2},
    "table": {"layers": (4,), "mechanism": "table", "outputs": 2},
    "mechanism alone": {"layers": (3,), "mechanism": "table", "linear": False, "features": 1},
    "mechanism of classes": {
        "layers": (3,),
        "mechanism": "polynomial",
        "outputs": 3,
        "task": "classification",
    },
    "external": {"layers": (4,), "mechanism": "external", "outputs": 2},
    "external alone": {"layers": (4,), "mechanism": "external", "linear": False},
    "quantiles": {"layers": (5,), "spacing": "quantile", "bits": 9},
    "gray": {"layers": (5,), "encoder": "gray", "bits": 4},
    "binary": {"layers": (5,), "encoder": "binary", "bits": 8},
    "codes": {"layers": (5, 3), "encoder": "none"},
    "selective codes": {"layers": (5, 3), "encoder": "none", "inputs_per_node": 2},
    "one bit": {"layers": (1,), "features": 1, "bits": 1, "input_bits": 1, "linear": False},
}
FOLDS = ("1x1", "2x3", "3x8", "8x32")


def folded(
    fold: str, seed: int = 3, readout_lanes: int = 1, **options: Any
) -> tuple[Program, FoldPlan]:
    return planned(random_model(seed, **options), fold, readout_lanes)


def planned(model: Model, fold: str, readout_lanes: int = 1) -> tuple[Program, FoldPlan]:
    lowered = lower_model(model, quantise(model, 7))
    folds = parse_fold(fold, len(model.layers))
    plan = FoldPlan(fold_machine(lowered), folds, 10.0, readout_lanes=readout_lanes)
    return lowered.program, plan


def written(core: FoldedCore, folder: Path) -> Path:
    path = folder / "scm_core.v"
    path.write_text(to_verilog(core, "scm_core"))
    return path


@pytest.mark.parametrize("name", MODELS)
def test_folded_cores_are_their_models(name: str) -> None:
    """Values, cycles, stalls on both sides and resets; each kind of model in one of the folds."""
    number = list(MODELS).index(name)
    meaning, plan = folded(
        FOLDS[number % len(FOLDS)], readout_lanes=1 << number % 3, **MODELS[name]
    )
    core = FoldedCore(plan)
    vectors = packed_vectors(meaning, core.in_widths, core.out_widths, 8)
    result = run_amaranth(lambda: core, vectors, core.latency, core.initiation_interval)
    assert result.failures == ()
    assert (result.cycles, result.interval) == (plan.latency, plan.initiation_interval)


@pytest.mark.parametrize("fold", ["1x1", "2x7", "5x4", "6x64", "4x8,1x2,3x3"])
def test_every_fold_gives_the_same_integers(fold: str, tmp_path: Path) -> None:
    meaning, plan = folded(fold, layers=(6, 5, 3), activation=("sign", "step", "sign"), outputs=2)
    core = FoldedCore(plan)
    vectors = packed_vectors(meaning, core.in_widths, core.out_widths, 6)
    result = run_amaranth(lambda: core, vectors, core.latency, core.initiation_interval)
    assert result.failures == ()


def test_cycles_are_counted_by_the_formula() -> None:
    _, plan = folded("2x4,3x2", layers=(5, 4), outputs=3, task="classification", linear=False)
    # 21 coded bits; the first layer has 3 groups of 6 chunks, the second 2 groups of 3.
    layers = (3 * 6 + 4) + (2 * 3 + 4)
    # The last group is done with the layers; its three nodes are left, then three registers.
    readout, argmax = 3 + 3, 2 + 1
    assert plan.latency == 1 + layers + readout + argmax
    assert plan.initiation_interval == plan.latency


def free_after(plan: FoldPlan) -> int:
    return cycles_until_readout(plan.machine, plan.mechanism)


def test_readout_keeps_behind_what_is_slower() -> None:
    """The linear part, the mechanism, or groups that come faster than they are read."""
    linear, long = folded("8x30", layers=(8,), features=30, bits=1, input_bits=4)
    features = len(long.machine.linear)
    assert features > long.layers[0].cycles and free_after(long) == features
    assert long.latency == 1 + features + 8 + 3
    groups, quick = folded("4x21", layers=(16,), linear=False)
    # Four groups in four cycles, four steps of the readout for each; the first is done in cycle 5.
    assert quick.latency == 1 + (1 + 4) + 4 * 4 + 3
    # The mechanism's addends wait until the linear part's last product has been taken.
    table, slow = folded("4x28", layers=(4,), features=7, bits=4, mechanism="table")
    steps = len(slow.machine.linear)
    assert free_after(slow) == steps + 2 + 1 > slow.layers[0].cycles
    assert slow.latency == 1 + free_after(slow) + 4 + 3
    for meaning, plan in ((linear, long), (groups, quick), (table, slow)):
        core = FoldedCore(plan)
        vectors = packed_vectors(meaning, core.in_widths, core.out_widths, 5)
        result = run_amaranth(lambda core=core: core, vectors, core.latency, core.latency)
        assert result.failures == ()


@pytest.mark.parametrize("clock_mhz", [50.0, 100.0, 230.0])
def test_long_sums_are_cut_where_the_clock_says(clock_mhz: float) -> None:
    meaning, plan = folded("3x200", layers=(5,), features=8, bits=25, linear=False)
    plan = replace(plan, period_ns=1000.0 / clock_mhz, readout_lanes=2)
    assert plan.max_clock_mhz >= clock_mhz
    assert plan.layers[0].tree.ranks == {50.0: 1, 100.0: 2, 230.0: 7}[clock_mhz]
    core = FoldedCore(plan)
    vectors = packed_vectors(meaning, core.in_widths, core.out_widths, 5)
    result = run_amaranth(lambda: core, vectors, core.latency, core.initiation_interval)
    assert result.failures == ()


@pytest.mark.parametrize(
    ("run", "name", "fold"),
    [
        (run_icarus, "classes", "2x5"),
        (run_icarus, "selective", "3x4"),
        (run_icarus, "polynomial", "2x4,3x2"),
        (run_icarus, "table", "3x7"),
        (run_verilator, "deep", "2x8,2x2,1x4"),
    ],
)
def test_verilog_of_folded_cores(tmp_path: Path, run: Any, name: str, fold: str) -> None:
    meaning, plan = folded(fold, **MODELS[name])
    core = FoldedCore(plan)
    vectors = packed_vectors(meaning, core.in_widths, core.out_widths, 30)
    path = written(core, tmp_path)
    result = run(path, vectors, plan.latency, plan.initiation_interval, workdir=tmp_path / "w")
    assert result.failures == ()
    lint([path], "scm_core")


def test_zeros_from_the_first_sample_on_are_defined(tmp_path: Path) -> None:
    """Registers begin at zero; nothing may wait for the first of them to change."""
    meaning, plan = folded("2x3", layers=(3, 2), encoder="binary", bits=2, linear=False)
    core = FoldedCore(plan)
    rows = np.zeros((3, len(core.in_widths)), dtype=np.int64)
    vectors = packed_vectors(meaning, core.in_widths, core.out_widths, rows=rows)
    result = run_icarus(
        written(core, tmp_path), vectors, plan.latency, plan.initiation_interval, workdir=tmp_path
    )
    assert result.failures == ()


def test_equal_scores_give_the_lower_class() -> None:
    arrays = model_arrays(2, layers=(4,), outputs=3, task="classification", linear=False)
    for name in ("readout", "intercept"):
        arrays[name][..., 1] = arrays[name][..., 0]
    meaning, plan = planned(model_from_arrays(arrays), "2x8")
    core = FoldedCore(plan)
    vectors = packed_vectors(meaning, core.in_widths, core.out_widths, 12)
    assert 0 in vectors.outputs
    result = run_amaranth(lambda: core, vectors, core.latency, core.initiation_interval)
    assert result.failures == ()


def test_a_wrong_sign_is_seen() -> None:
    """The comparison can fail: one sign of one node, turned over."""
    model = random_model(3, layers=(1,), features=2, bits=3, linear=False)
    model.layers[0].biases[0] = 0.5
    meaning, _ = planned(model, "1x2")
    model.layers[0].weights[0, 1] *= -1
    _, plan = planned(model, "1x2")
    core = FoldedCore(plan)
    vectors = packed_vectors(meaning, core.in_widths, core.out_widths, 64)
    result = run_amaranth(lambda: core, vectors, core.latency, core.initiation_interval)
    assert result.mismatches > 0


def parities(build: Builder, model: Model, codes: list[int]) -> tuple[int, ...]:
    """Inputs that no encoder has: of each code the parity, and whether it is odd or large."""
    found = []
    for code in codes:
        bits = [build.add(Field(code, j, 1)) for j in range(8)]
        odd = build.add(Concat((bits[0], build.add(AtLeast(code, 200))), (1, 1)))
        found += [build.add(Xor(tuple(bits))), build.add(Table(odd, (0, 1, 1, 1)))]
    return tuple(found)


def test_an_encoder_is_lowered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Folding knows none: whatever leads to the first layer's inputs goes into the core."""
    # The package has a function of the module's name.
    monkeypatch.setattr(sys.modules["scm_hw.load.lower"], "first_layer_inputs", parities)
    meaning, plan = folded("2x3", layers=(5, 3), bits=2)
    core = FoldedCore(plan)
    vectors = packed_vectors(meaning, core.in_widths, core.out_widths, 16)
    result = run_amaranth(lambda: core, vectors, core.latency, core.initiation_interval)
    assert result.failures == ()


def test_folded_equals_unrolled() -> None:
    model = random_model(5, layers=(6, 4), outputs=2)
    board = boards.get("arty-a7")
    small = compile_model(model, board, Options(fold="2x8"))
    # A fold has whole products.
    whole = Options(fold="none", output_bits=small.fixed.grid_bits)
    unrolled = compile_model(model, board, whole)
    assert small.fold is not None and unrolled.fold is None
    rows = rows_for(small.meaning, 300)
    np.testing.assert_array_equal(interpret(unrolled.program, rows), interpret(small.meaning, rows))
    core = small.new_core()
    vectors = packed_vectors(unrolled.program, core.in_widths, core.out_widths, 6, rows=rows[:6])
    result = run_amaranth(lambda: core, vectors, core.latency, core.initiation_interval)
    assert result.failures == ()


@pytest.mark.long
def test_images_of_784_bits(tmp_path: Path) -> None:
    """Ten classes and 200 nodes, in the Verilog of a fold that the small board has room for."""
    model = random_model(1, layers=(200,), **IMAGES)
    design = compile_model(model, boards.get("arty-a7-35"), Options(fold="16x24"))
    plan = design.fold
    assert plan is not None and within(design.estimate, design.board.device)
    core = design.core
    vectors = packed_vectors(design.meaning, core.in_widths, core.out_widths, 24)
    path = tmp_path / "scm_core.v"
    path.write_text(design.verilog)
    result = run_verilator(path, vectors, plan.latency, plan.latency, workdir=tmp_path)
    assert result.failures == ()
    # 13 groups of 16 nodes, 33 chunks of 24 bits; the readout of the last group; argmax.
    assert result.cycles == 1 + (13 * 33 + 4) + (plan.readout.slots(plan.layers[0]) + 3) + (9 + 1)


@pytest.mark.parametrize(
    ("fold", "options"),
    [
        pytest.param(
            "4x16",
            {"features": 11, "bits": 25, "spacing": "quantile", "layers": (60,)},
            marks=pytest.mark.long,
        ),
        ("2x8", {"features": 6, "bits": 15, "layers": (20, 10), "inputs_per_node": 2}),
        ("4x4", {"features": 8, "encoder": "none", "layers": (20, 10), "outputs": 2}),
        pytest.param(
            "16x42,8x16",
            {"features": 6, "bits": 7, "layers": (16, 8), "linear": False},
            marks=pytest.mark.long,
        ),
    ],
    ids=["dense", "selective", "codes", "a lane for each connection"],
)
def test_yosys_counts_about_the_same(fold: str, options: dict[str, Any], tmp_path: Path) -> None:
    _, plan = folded(fold, 1, input_bits=12, **options)
    found = synthesise({"scm_core.v": written(FoldedCore(plan), tmp_path).read_text()})
    guess = estimate_fold(plan)
    assert guess.lut == pytest.approx(found.lut, rel=0.2)
    assert guess.ff == pytest.approx(found.ff, rel=0.15)
    assert (guess.dsp, guess.bram) == (found.dsp, found.bram)
