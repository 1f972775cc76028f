"""What a search leaves behind: the front as a table, as a page, and as models ready to build.

Only here do the test rows come in, when nothing is left to choose.
"""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scm_explore.evaluate import as_model, file_bytes, hardware_error
from scm_explore.journal import Journal, Record
from scm_explore.page import front_page
from scm_hw.common.folders import replacing, write_files
from scm_hw.common.outputs import folder_of
from scm_train import model_file
from scm_train.evaluation.scores import class_indices

FOLDER, MARKER = "front", "front.json"
FRONT = folder_of("an earlier front", MARKER)
TIMING = ("latency_cycles", "latency_ns", "initiation_interval")


@dataclass(frozen=True, eq=False)
class Test:
    """Rows that no choice has seen."""

    x: NDArray[np.float64]
    y: NDArray
    mechanism: Any = None
    """The function of models whose mechanism stays outside."""


def write_results(journal: Journal, about: dict[str, Any], test: Test) -> dict[str, Any]:
    """Write `front/` and give the contents of its front.json."""
    folder = journal.folder / FOLDER
    with replacing(folder, FRONT) as scratch:
        rows = [_written(number, journal, about, test, scratch) for number in journal.front()]
        result = {
            "format": "scm-front",
            "version": 1,
            **about,
            "points": len(journal.points),
            "buildable": sum(record.buildable for record in journal.points.values()),
            "front": rows,
        }
        files = {
            MARKER: json.dumps(result, indent=2) + "\n",
            "front.csv": _table(rows),
            "front.html": front_page(result, journal),
        }
        write_files(scratch, files)
    return result


def _written(
    number: int, journal: Journal, about: dict[str, Any], test: Test, folder: Path
) -> dict[str, Any]:
    """Put a point's model into the folder, with the test rows in it, and say what it is."""
    record = journal.points[number]
    name = f"p{number:04d}"
    # The function is in no file, and P0 of the test rows comes from it.
    outside = test.mechanism if record.point.mechanism == "external" else None
    machine = model_file.load(journal.model_path(number), outside)
    if machine.classes is None:
        targets = test.y.reshape(len(test.y), -1).astype(np.float64)
    else:
        targets = class_indices(machine, test.y)
    info = machine.info | {"name": f"{about['name']}_{name}", "data": about["data"]}
    machine = replace(machine, info=info).with_evaluation(test.x, targets)
    content = file_bytes(machine)
    (folder / f"{name}.npz").write_bytes(content)
    bits = record.hardware.get("output_bits")
    error = hardware_error(as_model(content), record.point.frac_bits, bits)
    return _row(number, record, about, error, f"{name}.npz")


def _row(
    number: int, record: Record, about: dict[str, Any], error_test: float, model: str
) -> dict[str, Any]:
    found, point = record.found, record.point
    hardware = record.hardware
    score = about["score"]

    def scored(error: float) -> float:
        return 1.0 - error if score == "accuracy" else error

    return {
        "point": number,
        f"held_out_{score}": scored(found["error_held"]),
        f"test_{score}": scored(error_test),
        **{key: hardware[key] for key in ("lut", "ff", "dsp", "bram")},
        "lut_estimate": found["lut"],
        "lut_source": "yosys" if record.synthesised else "estimate",
        **{key: hardware[key] for key in TIMING},
        "trained_nodes": list(found["nodes"]),
        "design": point.to_json(),
        "model": model,
        "build": build_command(model, record, about["board"]),
    }


def build_command(model: str, record: Record, board: str) -> str:
    """The command that makes the design of the table, where the model file is."""
    point = record.point
    options = f"--board {board} --frac-bits {point.frac_bits} --pipeline {point.pipeline}"
    if record.hardware.get("output_bits") is not None:
        # The test rows in the model file would choose others.
        options += f" --output-bits {record.hardware['output_bits']}"
    return f"python -m scm_hw build {model} {options} --fold {point.fold} --tables {point.tables}"


def _table(rows: list[dict[str, Any]]) -> str:
    """One line per point; what is nested is spread, lists are joined by '+'."""
    flat = [{**{k: v for k, v in row.items() if k != "design"}, **row["design"]} for row in rows]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(flat[0]) if flat else ["point"], lineterminator="\n")
    writer.writeheader()
    for row in flat:
        writer.writerow({key: _cell(value) for key, value in row.items()})
    return text.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return "+".join(map(str, value))
    return "all" if value is None else value
