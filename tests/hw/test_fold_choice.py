"""Which fold is taken, what is refused, and what a folded build says of itself."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scm_hw import boards
from scm_hw.build import Build, BuildOptions, build
from scm_hw.design import Design, Measure, Options, compile_model
from scm_hw.errors import FitError, OptionError, ToolError
from scm_hw.fold import (
    Fold,
    estimate_fold,
    fastest_plan,
    fold_machine,
    parse_fold,
    search,
    surely_too_large,
)
from scm_hw.fold.candidates import foldings
from scm_hw.load import lower_model, quantise
from scm_hw.target.resources import USABLE_SHARE, Resources, fits, within
from scm_hw.verify import check
from tests.hw.test_fold import IMAGES
from tests.support import model_arrays, random_model, write_model

SMALL_BOARD, BOARD = boards.get("arty-a7-35"), boards.get("arty-a7")
DEEP = (17, 13, 10, 472, 287, 288, 54, 52, 44, 9)


def compiled(
    fold: str = "auto", board: boards.Board = BOARD, options: Any = None, **model: Any
) -> Design:
    return compile_model(random_model(1, **model), board, Options(fold=fold, **(options or {})))


def test_what_fits_stays_unrolled() -> None:
    design = compiled(layers=(6,))
    assert design.fold is None
    assert design.schedule.initiation_interval == 1
    assert not surely_too_large(design.model, design.fixed, BOARD.device)


def test_selective_nodes_count_what_they_see() -> None:
    """Too many on all features, few enough on two of them."""
    options: dict[str, Any] = {"features": 60, "layers": (600,), "rows": 1}
    for seen, too_large in ((None, True), (2, False)):
        model = random_model(1, inputs_per_node=seen, **options)
        light = quantise(model, 1)
        assert surely_too_large(model, light, SMALL_BOARD.device) is too_large


@pytest.mark.parametrize(
    "model",
    [
        {"layers": (200,), **IMAGES},
        {"layers": (1000,), **IMAGES},
        {"features": 10, "bits": 10, "input_bits": 12, "layers": DEEP},
    ],
    ids=["200 nodes", "1000 nodes", "ten layers"],
)
def test_what_does_not_fit_is_folded_as_little_as_it_must(model: dict[str, Any]) -> None:
    small, large = (compiled(board=board, **model) for board in (SMALL_BOARD, BOARD))
    assert small.fold is not None and large.fold is not None
    for design in (small, large):
        assert within(design.estimate, design.board.device)
        assert design.schedule.max_clock_mhz >= design.clock_mhz
    assert large.fold.latency < small.fold.latency
    # Twice the nodes at a time would be faster, had it room.
    wider = replace(small.fold, folds=tuple(Fold(2 * f.pe, f.simd) for f in small.fold.folds))
    fits = within(estimate_fold(wider), SMALL_BOARD.device)
    assert not fits or wider.latency > 0.97 * small.fold.latency


def test_layers_of_different_sizes_get_lanes_of_their_own_where_that_is_faster() -> None:
    model = random_model(1, features=2, bits=25, input_bits=12, layers=DEEP, linear=False)
    design = compile_model(model, BOARD)
    plan = design.fold
    assert plan is not None and len(plan.engines) == 2
    found = foldings(plan.machine, BOARD.device, USABLE_SHARE, plan.period_ns, "1")
    one_set = [(fold,) * len(DEEP) for fold in set(plan.folds)]
    one_set += [folds for _, folds in found if len(set(folds)) == 1]
    others = [replace(plan, folds=folds) for folds in one_set]
    # No single set of as many lanes that fits is as fast.
    small = [p for p in others if p.lanes <= plan.lanes and within(estimate_fold(p), BOARD.device)]
    assert small and all(plan.latency < other.latency for other in small)


def test_of_nearly_equal_folds_the_one_with_fewer_lanes_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """50 x 7 steps of 448 lanes, or 40 x 9 of 440."""
    fewest, smallest = Fold(4, 112), Fold(5, 88)
    found = [(350, (fewest,)), (360, (smallest,))]
    monkeypatch.setattr(search, "foldings", lambda *_: iter(found))
    model = random_model(1, layers=(200,), **IMAGES)
    machine = fold_machine(lower_model(model, quantise(model, 7)))
    taken = fastest_plan(machine, BOARD.device, clock_mhz=100.0)
    assert taken.folds == (smallest,)
    bound = taken.latency - 1
    hurried = fastest_plan(machine, BOARD.device, clock_mhz=100.0, latency=bound)
    assert hurried.folds == (fewest,) and hurried.latency <= bound
    assert taken.latency < 1.03 * hurried.latency
    monkeypatch.setattr(search, "NEARLY_EQUAL", 1.02)
    assert fastest_plan(machine, BOARD.device, clock_mhz=100.0).folds == (fewest,)


def test_what_the_readout_alone_rules_out_is_never_unrolled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("scm_hw.design.shape._unrolled", None)
    tiny = boards.by_part("xc7s6cpga196-1")
    model = {"features": 4, "bits": 1, "layers": (500,), "outputs": 6}
    design = compiled(board=tiny, **model)
    assert design.fold is not None
    light = replace(design.fixed, readout=np.zeros_like(design.fixed.readout))
    assert surely_too_large(design.model, design.fixed, tiny.device)
    assert not surely_too_large(design.model, light, tiny.device)


def test_a_model_a_little_too_large_is_folded_once_unrolling_was_tried() -> None:
    tiny = boards.by_part("xc7s6cpga196-1")
    model = {"features": 30, "bits": 3, "input_bits": 8, "layers": (56,)}
    design = compiled(board=tiny, **model)
    assert not surely_too_large(design.model, design.fixed, tiny.device)
    assert design.fold is not None
    assert within(design.estimate, tiny.device)
    assert compiled("none", tiny, {"tables": "lut"}, **model).fold is None


def test_more_lanes_cost_more_and_take_fewer_cycles() -> None:
    plans = [compiled(fold, layers=(40,), bits=15).fold for fold in ("1x1", "2x8", "8x16", "20x45")]
    cycles = [plan.latency for plan in plans if plan]
    luts = [estimate_fold(plan).lut for plan in plans if plan]
    assert cycles == sorted(cycles, reverse=True) and len(set(cycles)) == 4
    assert luts == sorted(luts) and len(set(luts)) == 4


@pytest.mark.parametrize("text", ["", "8", "0x4", "8x", "8x32,", "x", "-1x2", "8x32x2", "999999x9"])
def test_bad_folds_are_one_clear_line(text: str) -> None:
    with pytest.raises(OptionError, match=r"^fold must be auto, none, or PExSIMD") as caught:
        parse_fold(text, 2)
    assert "\n" not in str(caught.value)


def test_a_list_must_have_a_fold_for_each_layer() -> None:
    assert [str(f) for f in parse_fold("8x32, 4x4", 2)] == ["8x32", "4x4"]
    assert [str(f) for f in parse_fold("8x32", 2)] == ["8x32", "8x32"]
    with pytest.raises(OptionError, match="one PExSIMD or 3, one for each layer, not '1x1,2x2'"):
        parse_fold("1x1,2x2", 3)
    with pytest.raises(OptionError, match="auto or none for a model without layers"):
        compiled("1x1", layers=())


def test_clock_and_latency_are_kept_or_refused() -> None:
    for fold in ("4x96", "auto"):
        with pytest.raises(OptionError, match=r"clock must be at most [\d.]+ MHz .*, not 250"):
            compiled(
                fold, options={"clock_mhz": 250.0}, layers=(1000,), **{**IMAGES, "linear": True}
            )
    with pytest.raises(OptionError, match=r"latency must be at least \d+ cycles .* 1x1, not 9"):
        compiled("1x1", options={"latency": 9}, layers=(8,))


@pytest.mark.parametrize("kind", ["polynomial", "table"])
def test_mechanisms_count_in_a_folded_core(kind: str) -> None:
    plain, design = compiled("2x2"), compiled("2x2", mechanism=kind)
    assert plain.fold is not None and design.fold is not None
    assert design.fold.mechanism is not None
    assert [phase.name for phase in design.fold.beside] == ["linear", "mechanism"]
    assert design.estimate.lut + design.estimate.dsp > plain.estimate.lut + plain.estimate.dsp
    with pytest.raises(OptionError, match="clock must be at most"):
        compiled("2x2", mechanism=kind, options={"clock_mhz": 400.0})


def test_what_does_not_fit_in_any_fold_is_refused() -> None:
    tiny = boards.by_part("xc7s6cpga196-1")
    with pytest.raises(FitError, match=r"design must fit xc7s6 within 80%.*folded to the smallest"):
        compiled(board=tiny, layers=(1000,), **IMAGES)


def test_a_folded_build_reports_its_phases_and_checks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check, "FOLDED_CYCLES", 2000)
    path = write_model(tmp_path / "m.npz", model_arrays(1, layers=(6, 3)))
    how = BuildOptions(out=tmp_path / "out", simulators=("icarus",), synthesis=False)
    done = build(path, BOARD, Options(fold="2x4,3x2"), how)
    report = done.report
    assert report["fold"]["layers"] == [{"pe": 2, "simd": 4}, {"pe": 3, "simd": 2}]
    assert [phase["name"] for phase in report["fold"]["beside"]] == ["linear"]
    cycles = 1 + sum(phase["cycles"] for phase in report["fold"]["phases"])
    assert report["latency_cycles"] == report["initiation_interval"] == cycles
    verdict = report["bit_exact"]["icarus"]
    assert (verdict["cycles"], verdict["initiation_interval"]) == (cycles, cycles)
    assert (verdict["vectors"], verdict["mismatches"]) == (2000 // cycles, 0)
    assert report["checks"]["test_bench"] and report["checks"]["lint"]
    signs = {m["name"]: m["bits"] for m in report["fold"]["memories"]}
    # Three groups of six chunks, eight lanes; one group of three chunks, six lanes.
    assert (signs["signs0"], signs["signs1"]) == (3 * 6 * 8, 1 * 3 * 6)
    assert report["resources"]["bram"] == 0
    page = (done.folder / "report.html").read_text()
    assert "The core is folded" in page and "layer 2" in page
    assert "linear, beside the layers" in page
    assert f"{2000 // cycles} of them were simulated" in page


# Close to the limit synthesis decides

NEAR: dict[str, Any] = {"features": 6, "bits": 3, "input_bits": 8, "layers": (24,), "linear": False}


def with_luts(lut: float) -> boards.Board:
    """A device of so many LUTs for the core, of which a share is left to the router."""
    board = boards.by_part("xc7a100tcsg324-1")
    return replace(board, device=replace(board.device, lut=math.ceil(lut / USABLE_SHARE)))


def measured_as(lut: int, asked: list[str]) -> Measure:
    def measure(verilog: str, core: str, board: boards.Board) -> Resources:
        assert f"module {core}" in verilog and board.room.lut < BOARD.room.lut
        asked.append(verilog)
        return Resources(lut=lut, ff=10)

    return measure


@pytest.mark.parametrize(
    ("room", "found", "folded"),
    [(1.1, 1.3, True), (1.1, 1.0, False), (0.9, 0.8, False), (0.9, 1.0, True)],
    ids=["looked smaller", "fits as it looked", "looked larger", "too large as it looked"],
)
def test_synthesis_decides_near_the_limit(room: float, found: float, folded: bool) -> None:
    model = random_model(1, **NEAR)
    estimate = compile_model(model, BOARD, Options(fold="none")).estimate.lut
    board, asked = with_luts(room * estimate), list[str]()
    measure = measured_as(int(found * estimate), asked)
    design = compile_model(model, board, Options(), measure=measure)
    assert (design.fold is not None) is folded
    assert len(asked) == 1
    fits(design.needs, board.room, USABLE_SHARE)
    # Estimates alone decide as they did, and then the digest has no more to tell apart.
    by_estimate = compile_model(model, board, Options())
    assert (by_estimate.fold is not None) is (room < 1)
    assert by_estimate.digest != design.digest


@pytest.mark.parametrize("room", [0.6, 1.5])
def test_far_from_the_limit_nothing_is_synthesised(room: float) -> None:
    model = random_model(1, **NEAR)
    estimate = compile_model(model, BOARD, Options(fold="none")).estimate.lut
    asked = list[str]()
    measure = measured_as(1, asked)
    design = compile_model(model, with_luts(room * estimate), Options(), measure=measure)
    assert asked == [] and design.measured is None
    assert (design.fold is not None) is (room < 1)


def test_estimates_decide_where_synthesis_fails() -> None:
    def broken(verilog: str, core: str, board: boards.Board) -> None:
        raise ToolError("can't synthesise: yosys ended with code 1")

    model = random_model(1, **NEAR)
    estimate = compile_model(model, BOARD, Options(fold="none")).estimate.lut
    board = with_luts(0.9 * estimate)
    assert compile_model(model, board, Options(), measure=broken).fold is not None


def test_a_core_that_must_not_be_folded_is_measured_too() -> None:
    model = random_model(1, **NEAR)
    estimate = compile_model(model, BOARD, Options(fold="none")).estimate.lut
    board = with_luts(0.9 * estimate)
    measure = measured_as(int(0.8 * estimate), [])
    design = compile_model(model, board, Options(fold="none"), measure=measure)
    fits(design.needs, board.room, USABLE_SHARE)
    with pytest.raises(FitError):
        fits(design.estimate, board.room, USABLE_SHARE)


def test_a_build_takes_what_yosys_counts(tmp_path: Path) -> None:
    """The estimate is a little too large for this device, the core is not."""
    content = model_arrays(10, layers=(6,), features=3, bits=4, input_bits=6, linear=False)
    path = write_model(tmp_path / "m.npz", content)
    told: list[str] = []
    unrolled = build_at(path, BOARD, tmp_path / "roomy", told)
    lut = unrolled.report["resources"]["lut_sites"]
    estimate = unrolled.design.estimate.lut
    assert lut < estimate and not any("whether" in line for line in told)
    tight = build_at(path, with_luts(lut), tmp_path / "tight", told)
    assert tight.design.fold is None and tight.report["resources"]["lut_sites"] == lut
    assert "synthesising, to see whether the unrolled core fits" in told


def build_at(path: Path, board: boards.Board, out: Path, told: list[str]) -> Build:
    how = BuildOptions(out=out, simulators=())
    return build(path, board, Options(), how, told.append)
