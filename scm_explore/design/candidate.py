"""One design of a search: trained up to a number of LUTs, compiled, synthesised and scored."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scm_explore.evaluate import as_model, file_bytes
from scm_hw.boards import Board
from scm_hw.boards.toolchains import require_synthesis
from scm_hw.design import CORE, Design, Options, compile_model
from scm_hw.errors import CompilerError, OptionError, ScmError
from scm_hw.report.accuracy import accuracy
from scm_hw.target.resources import fits
from scm_hw.tools.synthesis import synthesise
from scm_hw.verify.rows import check_rows
from scm_model import Model
from scm_train import estimators
from scm_train.cli.fit import finished
from scm_train.cli.learner_flags import PROMISES
from scm_train.cli.records import of_records, trained_on_records
from scm_train.cli.training_data import Data

Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Job:
    """What all designs of a search have in common."""

    data: Data
    board: Board
    options: Options
    arguments: argparse.Namespace
    """Of the command line: `name`, `seed`, `no_eval_rows` and the flags of records and
    of the learner."""
    final: bool = False
    """Whether a design is to be kept: its model then has its features' importance too."""

    @property
    def promises(self) -> dict[str, Any]:
        """What was asked of the learner."""
        told = {name: getattr(self.arguments, name, None) for name in PROMISES}
        return {name: value for name, value in told.items() if value is not None}

    @property
    def of_records(self) -> bool:
        """Whether the machines have memory."""
        return of_records(self.arguments)


@dataclass(frozen=True)
class Candidate:
    """A design and its figures; one that can't be built has a `fault` instead.

    `rmse` is in the units of the targets, and with `accuracy` and `error` that of the integers that
    hardware gives for the rows that the model file carries. `full` is what the trainer says of its
    budget: nothing more to be had by a larger one.
    """

    budget: int
    fault: str | None = None
    content: bytes = field(default=b"", repr=False)
    error: float = float("inf")
    rmse: tuple[float, ...] = ()
    accuracy: float | None = None
    lut: int = 0
    ff: int = 0
    dsp: int = 0
    bram: float = 0.0
    latency_cycles: int = 0
    latency_ns: float = 0.0
    full: bool = False


def try_budget(job: Job, budget: int, train: Rows, held_out: Rows) -> Candidate:
    """Train on some rows, and score on the others what hardware makes of it."""
    try:
        machine, full = trained(job, budget, train, held_out)
        content = file_bytes(machine)
        design = compiled(as_model(content), job)
        found = synthesise({f"{CORE}.v": design.verilog}, CORE, require_synthesis(job.board))
        fits(found, job.board.room)
    except CompilerError:
        # A fault of the compiler, not of the design: nothing that it makes is to be trusted.
        raise
    except ScmError as error:
        return Candidate(budget, str(error))
    plan = design.schedule
    return Candidate(
        budget,
        content=content,
        **scores(design),
        # A limit holds for the cells of the netlist and for the sites that a packer fills.
        lut=max(found.lut, found.lut_sites),
        ff=found.ff,
        dsp=found.dsp,
        bram=found.bram,
        latency_cycles=design.latency,
        latency_ns=design.latency * plan.period_ns,
        full=full,
    )


def trained(job: Job, budget: int, train: Rows, test: Rows) -> tuple[Model, bool]:
    """A machine of `budget` LUTs by the trainer's estimate, and whether more would be of no use."""
    data = job.data
    classes = data.task == "classification"
    kind = estimators.SCMClassifier if classes else estimators.SCMRegressor
    learner = kind(luts=budget, random_state=job.arguments.seed, **data.settings, **job.promises)
    if job.of_records:
        machine, history = trained_on_records(job.arguments, data, learner, train, test)
    else:
        learner.fit(data.rows.X[train], data.rows.y[train])
        history = learner.history_
        machine = finished(learner.machine_, data, train, test, job.arguments, important=job.final)
    growth = history.growth
    return machine, growth is not None and growth.reason != "budget"


def compiled(model: Model, job: Job) -> Design:
    """The design within the latency that was asked for, or else the quickest that there is."""
    try:
        return compile_model(model, job.board, job.options)
    except OptionError:
        if job.options.latency is None:
            raise
    quickest = replace(job.options, latency=None, pipeline="min-latency")
    return compile_model(model, job.board, quickest)


def scores(design: Design) -> dict[str, Any]:
    """Errors of the integers that hardware gives, on the rows that the file carries."""
    rows = check_rows(design, design.model.evaluation)
    assert rows.evaluation is not None and rows.activity is not None
    found = accuracy(
        design.model,
        design.hardware,
        design.fixed,
        rows.evaluation,
        rows.activity.output,
        rows.answers,
    )
    if design.model.is_classifier:
        return {"accuracy": found["accuracy_hw"], "error": 1 - found["accuracy_hw"]}
    units = tuple(one["hw"] for one in found["rmse_units"].values())
    return {"rmse": units, "error": found["rmse_hw"]}
