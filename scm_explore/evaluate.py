"""One point: train, compile, score. What the workers run."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scm_explore.space import Point
from scm_hw import boards
from scm_hw.boards import Board
from scm_hw.boards.toolchains import require_synthesis
from scm_hw.design import Design, Measure, Options, compile_model, synthesised_cells
from scm_hw.errors import CompilerError, FitError, ScmError
from scm_hw.ir.interp import interpret
from scm_hw.load import (
    Evaluation,
    choose_output_bits,
    evaluate,
    integers,
    lower,
    quantise,
    read_model,
)
from scm_hw.report.accuracy import accuracy
from scm_hw.target.resources import fits, within
from scm_model import Model
from scm_train import estimators, model_file
from scm_train.evaluation.scores import class_indices


@dataclass(frozen=True, eq=False)
class Task:
    """What all points have in common: rows to train on and rows to choose by, and the board."""

    x: NDArray[np.float64]
    y: NDArray
    held_x: NDArray[np.float64]
    held_y: NDArray
    classifier: bool
    feature_names: tuple[str, ...]
    target_names: tuple[str, ...]
    board: str
    seed: int
    mechanisms: Mapping[str, Any] = field(default_factory=dict)
    """What the trainer is given for each kind of mechanism but none."""


@dataclass(frozen=True)
class Outcome:
    """What became of a point; `facts` is what the journal keeps, `model` the file's bytes."""

    facts: dict[str, Any]
    model: bytes | None = None


def try_point(task: Task, point: Point) -> Outcome:
    """Train and compile a point; one that can't be built has an `error`."""
    start = time.monotonic()
    try:
        machine = _trained(task, point)
        # The file that is kept carries no rows: the test rows go into it when nothing is left to
        # choose.
        content = file_bytes(machine)
        held = machine.with_evaluation(task.held_x, _targets(task, machine))
        # By way of the file, so that what is compiled here is what a build reads.
        model = as_model(file_bytes(held))
        design = compile_point(model, point, boards.get(task.board))
        facts = _hardware(design) | {"output_bits": _output_bits(design)}
        facts |= {"error_held": hardware_error(model, point.frac_bits), "nodes": machine.nodes}
    except CompilerError:
        # A fault of the compiler, not of the point: nothing that it makes is to be trusted.
        raise
    except ScmError as error:
        return Outcome({"error": str(error), "seconds": _since(start)})
    return Outcome(facts | {"seconds": _since(start)}, content)


def _output_bits(design: Design) -> int | None:
    """The fraction bits that products were cut to by the held-out rows; a fold cuts none."""
    return design.fixed.grid_bits if design.fold is None else None


def synthesise_point(
    board: str, point: Point, content: bytes, output_bits: int | None = None
) -> Outcome:
    """What Yosys makes of a point, whose outputs have as many bits as when it was tried."""
    start = time.monotonic()
    target = boards.get(board)
    try:
        require_synthesis(target)
        design = compile_point(as_model(content), point, target, synthesised_cells, output_bits)
        found = synthesised_cells(design.verilog, design.names.core, target)
        assert found is not None
        if output_bits is not None and not within(found, target.room):
            # Without bits of its own, the compiler may fold it.
            design = compile_point(as_model(content), point, target, synthesised_cells)
            found = synthesised_cells(design.verilog, design.names.core, target)
            assert found is not None
        fits(found, target.room)
    except ScmError as error:
        return Outcome({"error": str(error), "seconds": _since(start)})
    return Outcome(
        {
            "lut": found.lut_sites,
            "ff": found.ff,
            "dsp": found.dsp,
            "bram": found.bram,
            "output_bits": None if design.fold is not None else output_bits,
            **_timing(design),
            "seconds": _since(start),
        }
    )


def compile_point(
    model: Model,
    point: Point,
    board: Board,
    measure: Measure | None = None,
    output_bits: int | None = None,
) -> Design:
    """The design that `build` makes of the point's model and options.

    With `measure`, as `build` does it: near the limit of the room synthesis decides what is folded.
    """
    # Families can't be folded.
    fold = point.fold if model.families is None else "auto"
    options = Options(
        frac_bits=point.frac_bits,
        output_bits=output_bits,
        pipeline=point.pipeline,
        fold=fold,
        tables=point.tables,
    )
    return compile_model(model, board, options, measure=measure)


def hardware_error(model: Model, frac_bits: int, output_bits: int | None = None) -> float:
    """RMSE, or share of wrong classes, of the integers that hardware gives for the model's rows."""
    rows = model.evaluation
    assert isinstance(rows, Evaluation)
    fixed = choose_output_bits(model, quantise(model, frac_bits), output_bits=output_bits)
    outputs = interpret(lower(model, fixed), integers(model, fixed, rows.inputs, rows.mechanism))
    on_pc = evaluate(model, rows.inputs, rows.mechanism).output
    found = accuracy(model, model, fixed, rows, on_pc, outputs)
    return float(1.0 - found["accuracy_hw"] if model.is_classifier else found["rmse_hw"])


def as_model(content: bytes) -> Model:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.npz"
        path.write_bytes(content)
        return read_model(path)


def file_bytes(machine: Model) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.npz"
        model_file.save(machine, path)
        return path.read_bytes()


def named(machine: Model, feature_names: tuple[str, ...], targets: tuple[str, ...]) -> Model:
    """The machine with the names of its data; a classifier's outputs are called as its classes."""
    if machine.columns is None:
        machine = replace(machine, features=feature_names)
    return machine if machine.classes is not None else replace(machine, targets=targets)


def _trained(task: Task, point: Point) -> Model:
    kind = estimators.SCMClassifier if task.classifier else estimators.SCMRegressor
    common = {
        "input_bits": point.input_bits,
        "mechanism": task.mechanisms.get(point.mechanism),
        "random_state": task.seed,
    }
    if by_families(task, point):
        learner = kind(luts=point.luts, **common)
    else:
        learner = _by_nodes(kind, point, common)
    learner.fit(task.x, task.y)
    machine = named(learner.machine_, task.feature_names, task.target_names)
    # Times differ from run to run; without them, the same point gives the same bytes.
    machine.info.pop("timing", None)
    return machine


def by_families(task: Task, point: Point) -> bool:
    """A classifier's scores leave no room for a mechanism, so those grow by nodes."""
    mechanism = task.mechanisms.get(point.mechanism)
    return point.luts is not None and not (task.classifier and mechanism is not None)


def _by_nodes(kind: type[estimators.Learner], point: Point, common: dict[str, Any]) -> Any:
    return kind(
        growth="nodes",
        max_nodes=list(point.nodes),
        layers=len(point.nodes),
        activation=point.activation,
        encoder=point.encoder,
        inputs_per_node=point.inputs_per_node,
        bias_range=point.bias_range,
        **common,
    )


def _targets(task: Task, machine: Model) -> NDArray:
    if task.classifier:
        return class_indices(machine, task.held_y)
    return task.held_y.reshape(len(task.held_y), -1).astype(np.float64)


def _hardware(design: Design) -> dict[str, Any]:
    cost = design.estimate
    if not within(cost, design.board.room):
        raise FitError(f"design must fit {design.board.device.name}, not need {cost.lut:,} LUT")
    return {
        "lut": cost.lut,
        "ff": cost.ff,
        "dsp": cost.dsp,
        "bram": cost.bram,
        **_timing(design),
    }


def _timing(design: Design) -> dict[str, Any]:
    plan = design.schedule
    return {
        "latency_cycles": design.latency,
        "latency_ns": design.latency * plan.period_ns,
        "initiation_interval": design.initiation_interval,
        "folded": design.fold is not None,
    }


def _since(start: float) -> float:
    return round(time.monotonic() - start, 3)
