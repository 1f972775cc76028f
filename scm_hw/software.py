"""The machine as C instead of hardware: compile, check on all vectors, measure, write."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from scm_hw.boards import Board
from scm_hw.build import (
    BUILD,
    DEFAULT_OUT,
    DIGEST,
    Build,
    BuildOptions,
    build_name,
    load_design,
)
from scm_hw.common.folders import replacing, write_files
from scm_hw.common.outputs import check_output
from scm_hw.design import Design, Options
from scm_hw.emit import formats_files
from scm_hw.emit.c import c_files
from scm_hw.emit.identity import describe
from scm_hw.errors import OptionError
from scm_hw.report.accuracy import accuracy
from scm_hw.tools.c_compilers import cortex_sizes
from scm_hw.verify.c_run import run_c
from scm_hw.verify.check import Log
from scm_hw.verify.rows import CheckRows, check_rows
from scm_hw.verify.tables import read_table

TARGETS = ("fpga", "c")


def build_c(
    path: Path, board: Board, options: Options, how: BuildOptions, log: Log = lambda _: None
) -> Build:
    """All that `build --target c` does; an earlier build stays until this one is good."""
    if how.bench is not None:
        raise OptionError("target must be fpga for a test bench in Verilog, not c; leave --tb out")
    log("compiling")
    design = load_design(path, board, options, how.name)
    if design.reloads:
        raise OptionError(
            "target must be fpga for a core that can be loaded, not c; leave --reload out"
        )
    if design.adaptive is not None:
        raise OptionError(
            "target must be verilog for a readout that learns, not c; leave --adapt out"
        )
    name = build_name(path, design.model, how.name)
    target = how.out if how.out is not None else DEFAULT_OUT / name
    inputs = (path, how.data)
    check_output(target, BUILD, inputs=inputs, force=how.force)
    own = read_table(design.model, how.data, how.table) if how.data else None
    rows = check_rows(design, own or design.model.evaluation)
    with (
        replacing(target, BUILD, inputs=inputs, force=how.force) as folder,
        tempfile.TemporaryDirectory(prefix="scm_hw.") as scratch,
    ):
        log("writing C")
        vectors = (rows.inputs, rows.outputs)
        files = c_files(design.program, *vectors, design.names, design.digest, design.records)
        files |= formats_files(describe(design, name), design.digest, design.latency, design.names)
        write_files(folder, files)
        report = _report(name, design, rows)
        if how.simulators != ():
            log("running the C program")
            report["vectors"] = run_c(folder, design.names, Path(scratch))
        if how.synthesis:
            source = folder / design.names.model_source
            report["sizes"] = [asdict(size) for size in cortex_sizes(source, Path(scratch))]
        text = json.dumps(report, indent=2) + os.linesep
        write_files(folder, {"report.json": text, DIGEST: design.digest + "\n"})
    return Build(target, report, design)


def _report(name: str, design: Design, rows: CheckRows) -> dict[str, Any]:
    report: dict[str, Any] = {
        "format": "scm-c-report",
        "version": 1,
        "name": name,
        "target": "c",
        "digest": design.digest,
        "vectors": None,
        "sizes": [],
        "tools": design.tools,
    }
    if rows.evaluation is not None and rows.activity is not None:
        report |= accuracy(
            design.model,
            design.hardware,
            design.fixed,
            rows.evaluation,
            rows.activity.output,
            rows.answers,
        )
        report["rows"] = len(rows.evaluation)
    return report
