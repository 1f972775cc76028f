"""What `explore` does: read and split the rows, search, write."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from scm_explore.command import DEFAULT_SECONDS
from scm_explore.console import FrontView, show_front
from scm_explore.evaluate import Task
from scm_explore.explore import Limits, explore
from scm_explore.journal import Journal, open_journal
from scm_explore.parts import bounded, three_parts
from scm_explore.pools import Pool, local_or_cluster, travel_by_value
from scm_explore.results import FOLDER, FRONT, Test, write_results
from scm_explore.space import Space
from scm_hw import boards
from scm_hw.boards import Board
from scm_hw.common.outputs import check_output
from scm_hw.errors import OptionError
from scm_train.cli import training_data
from scm_train.cli.mechanism import fit_mechanism
from scm_train.errors import ScmTrainError

DEFAULT_OUT = Path("explore_out")


@dataclass(frozen=True, eq=False)
class Rows:
    """The data in three parts: to train on, to choose by, and to test on once at the end."""

    data: training_data.Data
    train: Any
    held_out: Any
    test: Any
    mechanisms: dict[str, Any] = field(default_factory=lambda: {"none": None})

    def task(self, board: str, seed: int) -> Task:
        x, y = self.data.rows.X, self.data.rows.y
        return Task(
            x=x[self.train],
            y=y[self.train],
            held_x=x[self.held_out],
            held_y=y[self.held_out],
            classifier=self.data.task == "classification",
            feature_names=self.data.rows.feature_names,
            target_names=self.data.rows.target_names,
            board=board,
            seed=seed,
            mechanisms=self.mechanisms,
        )

    def tested(self) -> Test:
        outside = self.mechanisms.get("external")
        return Test(
            self.data.rows.X[self.test],
            self.data.rows.y[self.test],
            None if outside is None else outside.function,
        )

    def digest(self) -> str:
        """Of everything that the rows and their split are."""
        x, y = self.data.rows.X, self.data.rows.y
        parts = [x.tobytes(), json.dumps(y.tolist()).encode()]
        parts += [np.asarray(part).tobytes() for part in (self.train, self.held_out, self.test)]
        parts.append(json.dumps([self.data.rows.feature_names, self.data.task]).encode())
        return hashlib.sha256(b"".join(parts)).hexdigest()


def run(args: argparse.Namespace) -> None:
    board = boards.get(args.board)
    try:
        rows = split_rows(args)
    except ScmTrainError as error:
        raise OptionError(str(error)) from None
    about = _about(args, rows, board)
    folder = args.out if args.out is not None else DEFAULT_OUT / about["name"]
    inputs = [Path(one) for one in (args.data, args.test) if one is not None]
    check_output(folder / FOLDER, FRONT, inputs=inputs)
    limits = Limits(args.points, _seconds(args), not args.no_synth)
    jobs = args.jobs or len(os.sched_getaffinity(0))
    # A cluster that can't be reached is reported before anything is written.
    with local_or_cluster(jobs, args.scheduler) as pool:
        journal = open_journal(folder, _same(about), resume=args.resume)
        try:
            result = _searched(args, rows, about, limits, journal, pool)
        except KeyboardInterrupt:
            kept = f"{journal.kept():,} finished designs are saved in {folder}"
            raise KeyboardInterrupt(f"{kept}; continue with --resume") from None
        finally:
            journal.close()
    if args.json:
        print(json.dumps(result))
    else:
        show_front(result, str(folder / FOLDER))


def _searched(
    args: argparse.Namespace,
    rows: Rows,
    about: dict[str, Any],
    limits: Limits,
    journal: Journal,
    pool: Pool,
) -> dict[str, Any]:
    view = FrontView(journal, about["score"], args.quiet or args.json, limits.seconds)
    space = Space(rows.data.rows.X.shape[1], args.max_nodes, tuple(rows.mechanisms))
    with view.running():
        explore(rows.task(args.board, args.seed), space, limits, journal, pool, view.log)
    return write_results(journal, about, rows.tested())


def split_rows(args: argparse.Namespace) -> Rows:
    """The data with their three parts, and the mechanisms to try."""
    data = training_data.read(args)
    train, held_out, test = three_parts(data, args)
    return Rows(data, train, bounded(held_out), bounded(test), _mechanisms(args, data))


def _mechanisms(args: argparse.Namespace, data: training_data.Data) -> dict[str, Any]:
    """What may be tried, the default first.

    One that stays outside of the FPGA has no part in its LUTs: designs with and without it can't be
    compared, so that it is in all of them or in none.
    """
    if args.mechanism is None:
        return {"none": None}
    kinds = [args.mechanism_kind]
    if args.mechanism_kind is None:
        kinds = ["polynomial", *(["table"] if args.mechanism_inputs else [])]
    names, found = data.rows.feature_names, {}
    for kind in kinds:
        asked = argparse.Namespace(**vars(args) | {"mechanism_kind": kind})
        found[kind] = fit_mechanism(asked, names, data.mechanism)
    if args.mechanism != "dataset":
        travel_by_value(args.mechanism.partition(":")[0])
    return found if "external" in found else found | {"none": None}


def _seconds(args: argparse.Namespace) -> float | None:
    return DEFAULT_SECONDS if args.budget is None and args.points is None else args.budget


def _about(args: argparse.Namespace, rows: Rows, board: Board) -> dict[str, Any]:
    data = rows.data
    return {
        "name": re.sub(r"[^A-Za-z0-9._-]+", "_", data.name).strip("._-") or "data",
        "board": board.name,
        "part": board.part,
        "score": "accuracy" if data.task == "classification" else "rmse",
        "data": {key: data.about[key] for key in ("name", "target")},
        "rows": {
            "train": len(rows.train),
            "held_out": len(rows.held_out),
            "test": len(rows.test),
        },
        "rows_sha256": rows.digest(),
        "seed": args.seed,
        "max_nodes": args.max_nodes,
        "mechanism": _mechanism_words(args, rows),
    }


def _mechanism_words(args: argparse.Namespace, rows: Rows) -> str:
    """What the mechanism is, and how it may be had."""
    if args.mechanism is None:
        return "none"
    words = f"{args.mechanism} as {', '.join(rows.mechanisms)}"
    if args.mechanism_inputs:
        words += f" of {','.join(args.mechanism_inputs)}"
    if "polynomial" in rows.mechanisms:
        words += f", degree {args.mechanism_degree}"
    return words + (f", {args.mechanism_points} points" if "table" in rows.mechanisms else "")


def _same(about: dict[str, Any]) -> dict[str, Any]:
    """What a search that goes on must agree in; another version would find other points."""
    return {**about, "scm-hw": version("scm-hw")}
