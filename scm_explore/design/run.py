"""What `design` does: read, split, search, train the chosen design on all rows, and build it."""

from __future__ import annotations

import argparse
import json
import os
import re
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from scm_explore.design.candidate import Candidate, Job
from scm_explore.design.goal import Goal, cycles_of, for_targets
from scm_explore.design.search import Search, choose, refitted
from scm_explore.design.text import no_design, score_note, show_designs, show_next_steps
from scm_explore.parts import bounded, three_parts
from scm_explore.pools import LocalPool
from scm_hw.boards.toolchains import require_synthesis
from scm_hw.build import BUILD, DEFAULT_OUT, Build, BuildOptions, build, choose_board
from scm_hw.cli.console import Progress, show_build
from scm_hw.common.outputs import check_output
from scm_hw.design import Options
from scm_hw.emit import default_bus
from scm_hw.emit.zynq import check_reached
from scm_hw.errors import OptionError
from scm_hw.verify.check import choose_tools, parse_simulators
from scm_train import model_file
from scm_train.cli import training_data
from scm_train.cli.fit import tell_notes
from scm_train.cli.learner_flags import PROMISES
from scm_train.cli.records import RECORD_SETTINGS, of_records, read_records
from scm_train.errors import ScmTrainError
from scm_train.output_files import FileKind, write_output
from scm_train.output_files import check_output as check_model

#: Of the time of `--budget`; the rest is for the chosen design on all rows, and its checks.
SEARCH_SHARE = 0.6


@dataclass(frozen=True)
class Outputs:
    """What is left behind, and under which name."""

    name: str
    model: Path
    folder: Path


def run(args: argparse.Namespace) -> None:
    progress = Progress(args.quiet or args.json)
    with progress.running():
        try:
            search, final, done, outputs = _designed(args, progress)
        except ScmTrainError as error:
            raise OptionError(str(error)) from None
    if args.json:
        print(json.dumps(_as_json(search, final, done, outputs)))
        return
    show_designs(search, final)
    show_build(done)
    score_note(search.goal, final)
    show_next_steps(args, final, str(outputs.model))


def _designed(
    args: argparse.Namespace, progress: Progress
) -> tuple[Search, Candidate, Build, Outputs]:
    start = time.monotonic()
    board = choose_board(args.board, args.part, args.clock)
    require_synthesis(board)
    how = _build_options(args)
    choose_tools(how.simulators)
    progress.log("reading the table")
    data = read_records(args) if of_records(args) else training_data.read(args)
    goal = _goal(args, data)
    interface, tdata = default_bus(board, args.interface, None, "none")
    check_reached(board, interface, tdata)
    options = Options(
        clock_mhz=args.clock,
        latency=cycles_of(args.latency, args.clock or board.clock_mhz),
        interface=interface,
        tdata=tdata,
        top=args.top,
    )
    # What could fail at the end, such as an output in the way, fails before anything is trained.
    outputs = _outputs(args, data)
    train, held_out, test = three_parts(data, args)
    if not args.quiet:
        tell_notes(data, len(test))
    job = Job(
        data,
        board,
        options,
        _of_all(args, outputs),
    )
    pool = LocalPool(args.jobs or len(os.sched_getaffinity(0)))
    # Rows picked at a stride are no record; a file bounds those of records itself.
    held = held_out if job.of_records else bounded(held_out)
    search = Search(job, goal, pool, train, held, progress.log, _until(args, start))
    chosen = choose(search)
    if chosen is None:
        raise no_design(search)
    final = refitted(search, chosen, np.sort(np.concatenate([train, held_out])), test)
    if not goal.fits(final):
        raise no_design(search)
    done = _built(final, outputs, job, how, progress)
    # The model last: where the build fails, an earlier one is untouched.
    write_output(outputs.model, lambda file: file.write(final.content))
    return search, final, done, outputs


def _of_all(args: argparse.Namespace, outputs: Outputs) -> argparse.Namespace:
    """What all designs are told: name, seed, and the flags of records and of the learner."""
    if args.recurrent:
        raise OptionError(
            "--recurrent must be left out; its nodes are a number, not a budget: take scm_train "
            "fit --recurrent --max-nodes, and build the model"
        )
    flags = {name: getattr(args, name) for name in (*RECORD_SETTINGS, *PROMISES)}
    return argparse.Namespace(name=outputs.name, seed=args.seed, no_eval_rows=False, **flags)


def _until(args: argparse.Namespace, start: float) -> float | None:
    return None if args.budget is None else start + SEARCH_SHARE * args.budget


def _goal(args: argparse.Namespace, data: training_data.Data) -> Goal:
    if args.rmse is not None and args.accuracy is not None:
        raise OptionError("--rmse and --accuracy must not both be given; targets have one of them")
    if args.rmse is not None and data.task == "classification":
        raise OptionError(
            "--rmse must be for targets that are numbers; for classes give --accuracy"
        )
    if args.accuracy is not None and data.task == "regression":
        raise OptionError(
            "--accuracy must be for classes; for targets that are numbers give --rmse"
        )
    targets = 1 if data.rows.y.ndim == 1 else data.rows.y.shape[1]
    return Goal(args.luts, args.latency, for_targets(args.rmse, targets), args.accuracy)


def _build_options(args: argparse.Namespace) -> BuildOptions:
    simulators = None if args.sim is None else parse_simulators(args.sim)
    return BuildOptions(
        out=args.out,
        name=args.name,
        simulators=() if args.no_sim else simulators,
        bitstream=not args.no_bitstream,
        force=args.force,
    )


def _outputs(args: argparse.Namespace, data: training_data.Data) -> Outputs:
    """Where the outputs go, once nothing is in the way there."""
    name = args.name or re.sub(r"[^A-Za-z0-9._-]+", "_", data.name).strip("._-") or "design"
    folder = args.out if args.out is not None else DEFAULT_OUT / name
    inputs = [Path(one) for one in (args.data, *data.files) if one is not None]
    check_output(folder, BUILD, inputs=[*inputs, args.model], force=args.force)
    check_model(args.model, _model_of(data), inputs, args.force)
    return Outputs(name, args.model, folder)


def _model_of(data: training_data.Data) -> FileKind:
    """Models of the same table and target: another one may be a week's work."""

    def recognises(path: Path) -> bool:
        try:
            about = model_file.load(path).info.get("data", {})
        except ScmTrainError:
            return False
        return all(about.get(key) == data.about[key] for key in ("name", "target"))

    return FileKind("a model of this table", recognises)


def _built(
    final: Candidate, outputs: Outputs, job: Job, how: BuildOptions, progress: Progress
) -> Build:
    with tempfile.TemporaryDirectory(prefix="scm_design.") as scratch:
        path = Path(scratch) / "model.npz"
        path.write_bytes(final.content)
        return build(path, job.board, job.options, how, progress.log)


def _as_json(search: Search, final: Candidate, done: Build, outputs: Outputs) -> dict[str, Any]:
    return {
        "model": str(outputs.model),
        "folder": str(done.folder),
        "designs": [_figures(one) for one in search.built],
        "built": _figures(final),
        "report": done.report,
    }


def _figures(one: Candidate) -> dict[str, Any]:
    return {key: value for key, value in asdict(one).items() if key not in ("content", "fault")}
