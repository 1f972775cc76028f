"""The cost model against Yosys: LUTs and flip-flops of models of all kinds, by device family.

    python -m bench.estimates [--family xc7 ...] [--journal FILE] [--json FILE] [MODEL ...]

Every model is trained on rows of the simulated servo, compiled for a board of each family and
synthesised as a build does it. Syntheses go to a journal by the digest of their Verilog, so that a
run that was stopped, or one after a change of the cost model, does only what is new. LUTs are those
of Yosys with inverters (on ECP5 two for each carry cell).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from scm_hw.boards import get
from scm_hw.boards.toolchains import require_synthesis
from scm_hw.design import CORE, Design, Options, compile_model
from scm_hw.errors import ScmError
from scm_hw.load import Model, read_model
from scm_hw.tools.synthesis import synthesise
from scm_train import (
    DeepSCNRegressor,
    SCMClassifier,
    SCMRegressor,
    SCNClassifier,
    SCNRegressor,
    datasets,
)
from scm_train.mechanisms import Polynomial

SEED, ROWS = 0, 1500
RESULTS = Path(__file__).parent / "results"
#: Board and clock of each family, and how far its estimates may be off.
FAMILIES = {
    "xc7": ("nexys-a7", 100.0, 0.10),
    "ecp5": ("ulx3s-85f", 25.0, 0.15),
    "ice40": ("icebreaker", 12.0, 0.15),
}
#: Below these counts a difference of a few cells is no error of the model.
FEW = 20


UNROLLED = Options(frac_bits=12, fold="none")


@dataclass(frozen=True)
class Case:
    """What is learned and compiled; `haste` multiplies the clock of the family."""

    learner: Any
    outputs: int = 1
    classes: int = 0
    haste: float = 1.0
    settings: Mapping[str, Any] = field(default_factory=dict)
    options: Options = UNROLLED


def _nodes(count: int, encoder: str = "thermometer:31", **settings: Any) -> Case:
    """Nodes alone, each on all features unless told otherwise."""
    chosen: dict[str, Any] = {
        "max_nodes": count,
        "layers": 1,
        "encoder": encoder,
        "inputs_per_node": None,
        "sign_pattern": "free",
        "candidates": 5,
        "stop_step": count,
    }
    return Case(SCNRegressor, settings=chosen | settings)


def _families(luts: int, **settings: Any) -> Case:
    return Case(SCMRegressor, settings={"luts": luts} | settings)


def _with(case: Case, **options: Any) -> Case:
    return replace(case, options=replace(case.options, **options))


DENSE, SELECTIVE = _nodes(16), _nodes(24, inputs_per_node=2)
LINEAR = replace(SELECTIVE, learner=SCMRegressor)
FAMILY = _families(600)
DEEP = replace(_nodes(12, "thermometer:15"), learner=DeepSCNRegressor)
DEEP = replace(DEEP, settings={**DEEP.settings, "max_nodes": (12, 8), "layers": 2})

CASES: dict[str, Case] = {
    "8 dense nodes": _nodes(8),
    "16 dense nodes": DENSE,
    "30 dense nodes": _nodes(30),
    "16 dense nodes, 7 thresholds": _nodes(16, "thermometer:7"),
    "16 dense nodes, 15 thresholds": _nodes(16, "thermometer:15"),
    "8 dense nodes, 25 quantiles": _nodes(8, "thermometer:25:quantile"),
    "16 dense nodes, monotone": _nodes(16, sign_pattern="monotone"),
    "16 dense nodes, binary 4": _nodes(16, "binary:4"),
    "16 dense nodes, Gray 4": _nodes(16, "gray:4"),
    "8 dense nodes, no encoder": _nodes(8, "none"),
    "16 nodes of 2, no encoder": _nodes(16, "none", inputs_per_node=2),
    "16 nodes of 1": _nodes(16, inputs_per_node=1),
    "24 nodes of 2": SELECTIVE,
    "48 nodes of 2": _nodes(48, inputs_per_node=2),
    "16 nodes of 3": _nodes(16, inputs_per_node=3),
    "16 nodes of 2, binary 5": _nodes(16, "binary:5", inputs_per_node=2),
    "16 nodes of 2, quantiles": _nodes(16, "thermometer:31:quantile", inputs_per_node=2),
    "two layers": DEEP,
    "two layers, two outputs": replace(DEEP, outputs=2),
    "dense, two outputs": replace(DENSE, outputs=2),
    "nodes of 2, three outputs": replace(SELECTIVE, outputs=3),
    "dense, three classes": replace(DENSE, learner=SCNClassifier, classes=3),
    "nodes of 2, two classes": replace(SELECTIVE, learner=SCNClassifier, classes=2),
    "nodes of 2, five classes": replace(SELECTIVE, learner=SCNClassifier, classes=5),
    "linear part in DSPs": LINEAR,
    "linear part in LUTs": _with(LINEAR, multipliers="lut"),
    "polynomial mechanism": replace(
        LINEAR, settings={**LINEAR.settings, "mechanism": Polynomial({(1, 1): 0.3}, inputs=(0, 1))}
    ),
    "families, 300 LUTs": _families(300),
    "families, 600 LUTs": FAMILY,
    "families, 1200 LUTs": _families(1200),
    "families, 2 members": _families(600, members=2),
    "families, two outputs": replace(FAMILY, outputs=2),
    "families, two classes": replace(FAMILY, learner=SCMClassifier, classes=2),
    "families, four classes": replace(FAMILY, learner=SCMClassifier, classes=4),
    "dense, tables in block RAM": _with(DENSE, tables="block"),
    "dense, twice the clock": replace(DENSE, haste=2.0),
    "nodes of 2, twice the clock": replace(SELECTIVE, haste=2.0),
    "families, twice the clock": replace(FAMILY, haste=2.0),
    "dense, half the clock": replace(DENSE, haste=0.5),
    "dense, fewest cycles": _with(DENSE, pipeline="min-latency"),
    "families, highest clock": _with(FAMILY, pipeline="max-clock"),
    "dense, folded 4x16": _with(DENSE, fold="4x16"),
    "two layers, folded 2x4": _with(DEEP, fold="2x4"),
    "two layers, folded 6x24": _with(DEEP, fold="6x24"),
}


@lru_cache
def _rows() -> tuple[np.ndarray, np.ndarray]:
    data = datasets.load("servo_sim")
    return data.X[:ROWS], np.ravel(data.y[:ROWS])


def _targets(case: Case) -> np.ndarray:
    """The target, some shares of it and of inputs, or its quantiles as classes."""
    X, y = _rows()
    if case.classes:
        edges = np.quantile(y, np.arange(1, case.classes) / case.classes)
        return np.searchsorted(edges, y)
    more = [y * X[:, i] for i in range(case.outputs - 1)]
    return np.stack([y, *more], axis=1) if more else y


def model_of(case: Case) -> Model:
    """Trained, and read back from its file."""
    learner = case.learner(random_state=SEED, **case.settings).fit(_rows()[0], _targets(case))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.npz"
        learner.save(path)
        return read_model(path)


def design_of(model: Model, case: Case, family: str) -> Design:
    name, clock, _ = FAMILIES[family]
    options = replace(case.options, clock_mhz=clock * case.haste)
    return compile_model(model, get(name).at_clock(clock * case.haste), options)


class Journal:
    """Syntheses by the digest of what was synthesised, a line of JSON each."""

    def __init__(self, path: Path) -> None:
        self.path = path
        lines = path.read_text().splitlines() if path.exists() else []
        self.found = {entry["digest"]: entry for entry in map(json.loads, lines)}

    def cells(self, design: Design, label: str) -> dict[str, Any]:
        family = require_synthesis(design.board)
        digest = hashlib.sha256(f"{family}\n{design.verilog}".encode()).hexdigest()
        if digest not in self.found:
            cells = synthesise({f"{CORE}.v": design.verilog}, CORE, family)
            entry = {"digest": digest, "design": label, "lut": cells.lut, "ff": cells.ff}
            entry |= {"lut_sites": cells.lut_sites, "dsp": cells.dsp, "bram": cells.bram}
            with self.path.open("a") as file:
                file.write(json.dumps(entry) + "\n")
            self.found[digest] = entry
        return self.found[digest]


def measure(
    names: Sequence[str], families: Sequence[str], journal: Journal
) -> Iterator[dict[str, Any]]:
    """Estimate and count of each model in each family."""
    for name in names:
        case = CASES[name]
        model = model_of(case)
        for family in families:
            row: dict[str, Any] = {"model": name, "family": family}
            try:
                design = design_of(model, case, family)
                cells = journal.cells(design, f"{name}, {family}")
            except ScmError as error:
                yield row | {"refused": str(error)}
                continue
            guess = design.estimate
            for kind in ("lut", "lut_sites", "ff", "dsp", "bram"):
                row |= {kind: cells[kind], f"{kind}_estimate": getattr(guess, kind)}
            yield row | {"cycles": design.schedule.latency}


def off(row: Mapping[str, Any], kind: str) -> float:
    """How far the estimate is off, as a share of what Yosys counts."""
    return float((row[f"{kind}_estimate"] - row[kind]) / max(row[kind], FEW))


def show(rows: Sequence[Mapping[str, Any]]) -> None:
    console = Console(width=110)
    for family, (_, clock, allowed) in FAMILIES.items():
        own = [row for row in rows if row["family"] == family and "lut" in row]
        if not own:
            continue
        title = f"{family} at {clock:g} MHz, at most {allowed:.0%} off"
        table = Table("model", title=title)
        for column in ("LUT", "estimate", "off", "FF", "estimate", "off", "DSP", "cycles"):
            table.add_column(column, justify="right")
        for row in own:
            counts = [
                text
                for kind in ("lut", "ff")
                for text in (
                    f"{row[kind]:,}",
                    f"{row[f'{kind}_estimate']:,}",
                    f"{off(row, kind):+.1%}" + ("" if abs(off(row, kind)) <= allowed else " !"),
                )
            ]
            table.add_row(row["model"], *counts, f"{row['dsp']:g}", str(row["cycles"]))
        console.print(table)
        for kind in ("lut", "ff"):
            errors = np.array([off(row, kind) for row in own])
            within = int((abs(errors) <= allowed).sum())
            console.print(
                f"{kind.upper()}: {within} of {len(own)} within {allowed:.0%}; mean "
                f"{errors.mean():+.1%}, largest {abs(errors).max():.1%}"
            )


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"of {', '.join(CASES)}")
    parser.add_argument("--family", nargs="+", choices=list(FAMILIES), default=list(FAMILIES))
    parser.add_argument("--journal", type=Path, default=RESULTS / "estimates.jsonl")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    args = parser.parse_args(argv)
    if unknown := [name for name in args.models if name not in CASES]:
        parser.error(f"model must be one of {', '.join(CASES)}, not {unknown[0]!r}")
    rows = []
    for row in measure(args.models or list(CASES), args.family, Journal(args.journal)):
        rows.append(row)
        print(f"{row['model']}, {row['family']}: {row.get('refused', row.get('lut'))}", flush=True)
    show(rows)
    if args.json is not None:
        args.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
