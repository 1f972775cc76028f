"""`scm_train evaluate`, `predict`, `info`, `plot`, `export` and `datasets`."""

from __future__ import annotations

import argparse
import csv
import io
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from scm_model import Evaluation, Model
from scm_model.memory import starts
from scm_model.raw_table import RawTable
from scm_model.tables.flags import table_options
from scm_train import datasets, model_file
from scm_train.cli.console import say
from scm_train.cli.description import described, print_result
from scm_train.cli.mechanism import import_callable, mechanism_file
from scm_train.cli.score_lines import tested_lines
from scm_train.data.clipping import clipped_columns, clipping_lines, other_labels
from scm_train.data.files import read_features, read_rows, split_names
from scm_train.errors import DataError, ParameterError
from scm_train.evaluation.scores import (
    class_indices,
    flag_columns,
    flagged_by,
    record_scores,
    score,
)
from scm_train.output_files import ONNX, check_output, figure_kind, table_kind, write_output

__all__ = ["evaluate", "export", "info", "list_datasets", "plot", "predict", "read_targets"]


def info(args: argparse.Namespace) -> None:
    """Say what is in a model file."""
    machine = model_file.load(args.model)
    print_result({"model": args.model, **described(machine)}, args.json)


def evaluate(args: argparse.Namespace) -> None:
    """Score a model on a data file, or on the rows that it carries."""
    machine = _load(args)
    if args.data is None:
        rows = machine.evaluation
        if rows is None:
            raise ParameterError(
                "evaluate must be given a data file; this model file has no test rows"
            )
        X, targets, p0, first = rows.inputs, rows.targets, rows.mechanism, rows.first
    else:
        X, targets = read_targets(machine, args)
        p0, first = _mechanism_column(machine, args), _starts(machine, args, len(X))
    _warn_of_clipping(machine, X)
    result = {"model": args.model, "data": args.data, "rows": len(X)}
    if machine.memory is None:
        scores = score(machine, X, targets, p0)
    else:
        scores = record_scores(machine, Evaluation(X, targets, first=first))
    if args.json:
        print_result(result | scores, as_json=True)
        return
    print_result(result | {"rmse": scores["rmse"]}, as_json=False)
    for line in tested_lines(scores, machine.classes):
        say(line)


def predict(args: argparse.Namespace) -> None:
    """Write the predictions for a data file's rows, one line each."""
    machine = _load(args)
    header = list(machine.targets) if machine.classes is None else [_label_name(machine)]
    header += flagged_by(machine)
    if args.out is not None:
        reads = [args.model, args.data, mechanism_file(args.mechanism)]
        check_output(args.out, table_kind(header), reads, args.force)
    X = _features(machine, args)
    _warn_of_clipping(machine, X)
    p0, first = _mechanism_column(machine, args), _starts(machine, args, len(X))
    y = machine.predict(X, p0, first=first)
    flags = flag_columns(machine, X).values()
    lines = [
        [*row, *map(int, bits)]
        for row, *bits in zip(y.reshape(len(y), -1).tolist(), *flags, strict=True)
    ]
    if args.out is not None:
        text = io.StringIO()
        _write_csv(text, header, lines)
        write_output(args.out, lambda file: file.write(text.getvalue().encode()))
        print_result({"predictions": args.out, "rows": len(lines)}, args.json)
    elif args.json:
        print_result({"columns": header, "predictions": lines}, as_json=True)
    else:
        _print_csv(header, lines)


def plot(args: argparse.Namespace) -> None:
    """Draw a model's training and its predictions."""
    machine = model_file.load(args.model)
    # The plotting library takes a while to import, and only this command needs it.
    from scm_train.evaluation.plot import check_format, save_figure

    out = Path(args.out) if args.out is not None else Path(args.model).with_suffix(".png")
    check_output(out, figure_kind(check_format(out)), [args.model], args.force)
    panels = save_figure(machine, out)
    print_result({"model": args.model, "figure": str(out), "panels": panels}, args.json)


def export(args: argparse.Namespace) -> None:
    """Write the float model as ONNX."""
    machine = model_file.load(args.model)
    # An optional dependency, as for plots.
    from scm_train.onnx_export import save_onnx

    out = Path(args.out) if args.out is not None else Path(args.model).with_suffix(".onnx")
    check_output(out, ONNX, [args.model], args.force)
    outputs = save_onnx(machine, out)
    print_result({"model": args.model, "onnx": str(out), "outputs": outputs}, args.json)


def list_datasets(args: argparse.Namespace) -> None:
    """List the data sets that have a name."""
    summaries = [asdict(summary) for summary in datasets.describe()]
    if args.json:
        print_result({"datasets": summaries}, as_json=True)
        return
    width = max(len(s["name"]) for s in summaries)
    for s in summaries:
        say(
            f"{s['name']:{width}}  {s['rows']:>9,} x {s['inputs']:<3} -> {s['outputs']:<2}  "
            f"{s['task']:14}  {s['origin']:10}  {s['description']}"
        )


def _warn_of_clipping(machine: Model, X: NDArray) -> None:
    for line in [*clipping_lines(clipped_columns(machine, X)), *other_labels(machine, X)]:
        say(f"warning: {line}", sys.stderr)


def _load(args: argparse.Namespace) -> Model:
    function = None if args.mechanism is None else import_callable(args.mechanism)
    return model_file.load(args.model, mechanism=function)


def _features(machine: Model, args: argparse.Namespace) -> NDArray[np.float64] | RawTable:
    """The rows of a data file as a model takes them."""
    notes: list[str] = []
    X = read_features(
        args.data,
        machine.signals,
        options=table_options(args),
        columns=machine.columns,
        notes=notes,
    )
    for note in notes:
        say(f"note: {note}", sys.stderr)
    return X


def _starts(machine: Model, args: argparse.Namespace, rows: int) -> NDArray[np.bool_] | None:
    """Where the records of a data file begin, for a machine with memory."""
    if machine.memory is None:
        if args.groups is not None:
            raise ParameterError("--groups must be left out for a model without memory")
        return None
    if args.groups is None:
        return starts(None, rows)
    groups = read_features(args.data, [args.groups], options=table_options(args))
    return starts(np.asarray(groups)[:, 0], rows)


def _mechanism_column(machine: Model, args: argparse.Namespace) -> NDArray[np.float64] | None:
    if args.mechanism_columns is None:
        return None
    values = read_features(args.data, args.mechanism_columns, options=table_options(args))
    if values.shape[1] != machine.outputs:
        raise ParameterError(
            f"--mechanism-columns must be one per output ({machine.outputs}), not {values.shape[1]}"
        )
    return values


def _label_name(machine: Model) -> str:
    """The column that a classifier's labels came from."""
    target = machine.info.get("data", {}).get("target")
    return target[0] if isinstance(target, list) and target else "class"


def read_targets(machine: Model, args: argparse.Namespace) -> tuple[NDArray, NDArray]:
    """Rows and targets of a data file, for a classifier as class indices."""
    own = list(machine.targets[: machine.points])
    if machine.classes is not None:
        own = [_label_name(machine)]
    wanted = own if args.target is None else split_names(args.target, own)
    # The model's own targets are known by name, in whatever order they are asked for.
    wanted = own if sorted(wanted) == sorted(own) else wanted
    rows = read_rows(
        args.data,
        wanted,
        machine.signals,
        varying=False,
        options=table_options(args),
        columns=machine.columns,
    )
    if machine.classes is not None:
        return rows.X, class_indices(machine, rows.y)
    if rows.y.dtype.kind not in "fiu":
        raise DataError(f"target must be numbers, not text like {rows.y[0]!s}; check the column")
    targets = rows.y.reshape(len(rows.y), -1).astype(np.float64)
    if targets.shape[1] != machine.points:
        raise ParameterError(
            f"--target must be one column per output ({machine.points}), not {targets.shape[1]}"
        )
    return rows.X, targets


def _write_csv(file: TextIO, header: list[str], lines: list[list]) -> None:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(lines)


def _print_csv(header: list[str], lines: list[list]) -> None:
    """The table to standard output: to the letter in a pipe, and safe on a terminal."""
    # Escapes would change the values that another program is to read.
    if not sys.stdout.isatty():
        _write_csv(sys.stdout, header, lines)
        return
    text = io.StringIO()
    _write_csv(text, header, lines)
    for line in text.getvalue().rstrip("\n").split("\n"):
        say(line)
