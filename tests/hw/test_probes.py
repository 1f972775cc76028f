"""The first stage that differs: in pipelines, in folded cores and in netlists."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scm_hw import boards
from scm_hw.design import Design, Options, compile_model
from scm_hw.fold import FoldPlan
from scm_hw.rtl.fold import FoldedCore, core
from scm_hw.sim.model import Mismatch
from scm_hw.sim.vectors import Vectors
from scm_hw.tools.synthesis import synthesise
from scm_hw.verify import SimResult, check, run_netlist
from scm_hw.verify.check import chosen_rows, simulate
from scm_hw.verify.probes import expected_probes, wrong_output
from scm_hw.verify.rows import check_rows
from tests.hw.commands import SMALL
from tests.hw.test_gate_sim import inverted
from tests.support import random_model

MODELS: dict[str, dict[str, Any]] = {
    "regression": {"layers": (5, 4), "outputs": 2},
    "classes": {"layers": (5,), "outputs": 3, "task": "classification"},
}


def folded(kind: str) -> Design:
    model = random_model(3, **SMALL | MODELS[kind] | {"rows": 60})
    return compile_model(model, boards.get("arty-a7"), Options(fold="2x3"))


def wrong_sign(plan: FoldPlan, layer: int) -> FoldPlan:
    """The same plan with all signs of a layer turned over."""
    layers = list(plan.machine.layers)
    layers[layer] = replace(layers[layer], signs=~layers[layer].signs)
    return replace(plan, machine=replace(plan.machine, layers=tuple(layers)))


@pytest.mark.parametrize(
    ("kind", "layer", "simulator"),
    [("regression", 0, "amaranth"), ("regression", 1, "icarus"), ("classes", 0, "amaranth")],
)
def test_a_folded_core_names_layer_and_node(
    kind: str, layer: int, simulator: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    design = folded(kind)
    assert design.fold is not None
    wrong = FoldedCore(wrong_sign(design.fold, layer))
    monkeypatch.setattr(Design, "new_core", lambda _: wrong)
    result = simulate(design, check_rows(design, design.model.evaluation), simulator, tmp_path)
    assert result.stage is not None
    assert result.stage.startswith(f"layer{layer + 1}.node"), result.stage
    assert f"(signal hidden{layer + 1}[" in result.stage
    assert result.waveform is not None
    assert result.waveform.exists()


def test_a_folded_core_names_its_readout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    design = folded("regression")
    right = core.readout_words
    monkeypatch.setattr(core, "readout_words", lambda *given: right(*given)[::-1])
    result = simulate(design, check_rows(design, None), "amaranth", tmp_path)
    assert result.stage is not None
    assert result.stage.startswith("readout of output."), result.stage


def off_by_one(vectors: Vectors) -> Vectors:
    """Another word is expected of the third vector than any core gives."""
    outputs = list(vectors.outputs)
    outputs[2] ^= 1
    return replace(vectors, outputs=tuple(outputs))


@pytest.mark.parametrize("kind", MODELS)
def test_a_right_folded_core_has_no_stage_that_differs(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    design = folded(kind)
    rows = check_rows(design, design.model.evaluation)
    right = type(rows).vectors
    monkeypatch.setattr(type(rows), "vectors", lambda *given: off_by_one(right(*given)))
    result = simulate(design, rows, "amaranth", tmp_path)
    assert not result.ok
    assert result.stage is None


def test_few_rows_of_a_folded_core_are_both_evaluation_and_corners() -> None:
    design = folded("regression")
    rows = check_rows(design, design.model.evaluation)
    assert chosen_rows(design, rows, 24) == [*range(12), *range(60, 72)]
    assert chosen_rows(design, check_rows(design, None), 6) == list(range(6))
    assert len(chosen_rows(design, rows)) == len(rows.inputs)


def test_the_output_that_differs_is_named() -> None:
    design = unrolled("regression")
    width = sum(design.ports.out_widths)
    assert wrong_output(design, Mismatch(0, None, 1)) is None
    found = wrong_output(design, Mismatch(0, (1 << width) - 1, 2))
    assert found == f"output.y0 (signal out_data[{width - 1}:0]: {(1 << width) - 1} for 2)"


# Netlists


def unrolled(_: str) -> Design:
    return compile_model(random_model(1, **SMALL), boards.get("arty-a7"))


@pytest.fixture(scope="module", params=[folded, unrolled], ids=["folded", "unrolled"])
def netlist(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Design, Path]:
    make: Callable[[str], Design] = request.param
    design = make("regression")
    path = tmp_path_factory.mktemp("netlist") / "netlist.v"
    synthesise({"scm_core.v": design.verilog}, "scm_core", "xc7", netlist=path)
    return design, path


def checked(design: Design, path: Path, workdir: Path, edit: Callable[[Vectors], Vectors]) -> Any:
    rows = check_rows(design, None)
    numbers = chosen_rows(design, rows, 8)
    plan = design.schedule
    return run_netlist(
        path,
        edit(rows.vectors(design, numbers)),
        plan.latency,
        plan.initiation_interval,
        workdir=workdir,
        probes=lambda index: expected_probes(design, rows.inputs[numbers[index]]),
    )


def test_a_wrong_lut_shows_in_a_signal(netlist: tuple[Design, Path], tmp_path: Path) -> None:
    design, path = netlist
    wrong = tmp_path / "wrong.v"
    wrong.write_text(path.read_text())
    inverted(wrong)
    result = checked(design, wrong, tmp_path / "work", lambda vectors: vectors)
    assert result.first_mismatch is not None
    assert result.waveform.exists()
    # A pipeline of one rank has its outputs alone.
    assert (result.stage is None) == (design.schedule.latency == 1)
    assert "(signal out_data[" in str(wrong_output(design, result.first_mismatch))


def test_all_signals_of_a_right_netlist_are_right(
    netlist: tuple[Design, Path], tmp_path: Path
) -> None:
    result = checked(*netlist, tmp_path / "work", off_by_one)
    assert not result.ok
    assert result.stage is None


def test_a_build_looks_for_the_signal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, netlist: tuple[Design, Path]
) -> None:
    """The probes are those of the rows that were played."""
    design, path = netlist
    seen: list[Any] = []

    def fake(*_: Any, probes: Callable[[int], Any], **__: Any) -> SimResult:
        seen.append(probes(0))
        return SimResult("netlist", "1.0", 1, 0, 1, 1)

    monkeypatch.setattr(check, "run_netlist", fake)
    rows = check_rows(design, None)
    check.check_netlist(design, rows, path, tmp_path, tmp_path / "failed", lambda _: None)
    assert seen == [expected_probes(design, rows.inputs[0])]
