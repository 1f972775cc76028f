"""Pages of small builds, with figures of simulation and synthesis that cost nothing."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np

from scm_hw import boards
from scm_hw.design import Design, Options, compile_model
from scm_hw.load import model_from_arrays
from scm_hw.report.html import html_report
from scm_hw.report.report import make_report
from scm_hw.report.resources import Synthesis
from scm_hw.target.resources import Resources
from scm_hw.verify import SimResult
from scm_hw.verify.rows import CheckRows, check_rows
from tests.pages import Element
from tests.support import meta_array, model_arrays

RESOURCES = Synthesis(
    Resources(lut=321, ff=123, carry4=45, dsp=6, bram=0.5),
    {"wrapper": Resources(lut=30, ff=20), "top": Resources(lut=1400, ff=700, bram=0.5)},
)
SIMULATIONS = [
    SimResult("amaranth", "0.5", 24, 0, 4, 1),
    SimResult("icarus", "12.0", 246, 0, 4, 1),
]


def designed(
    arrays: dict[str, np.ndarray], options: Options | None = None
) -> tuple[Design, CheckRows]:
    model, board = model_from_arrays(arrays), boards.get("nexys-a7")
    design = compile_model(model, board, options or Options(), model_digest="0" * 64)
    return design, check_rows(design, design.model.evaluation)


def reported(
    arrays: dict[str, np.ndarray],
    *,
    proven: bool = True,
    name: str = "tested",
    options: Options | None = None,
) -> Any:
    """Page, report, design and rows of a model's build."""
    design, rows = designed(arrays, options)
    simulations, resources = (SIMULATIONS, RESOURCES) if proven else ([], None)
    report = make_report(name, design, rows, simulations, resources)
    return html_report(report, design, rows), report, design, rows


def with_meta(arrays: dict[str, np.ndarray], **changes: Any) -> dict[str, np.ndarray]:
    meta = json.loads(arrays["meta"].tobytes()) | changes
    return arrays | {"meta": meta_array(meta)}


def with_history(arrays: dict[str, np.ndarray], layer: list[int]) -> dict[str, np.ndarray]:
    steps = len(layer)
    return arrays | {
        "history_train_rmse": np.linspace(0.5, 0.1, steps),
        "history_validation_rmse": np.linspace(0.6, 0.2, steps),
        "history_layer": np.array(layer, np.int32),
    }


MODELS: dict[str, dict[str, Any]] = {
    "regression": {"layers": (5, 3), "rows": 60},
    "outputs": {"outputs": 8, "layers": (4,), "rows": 30, "mechanism": "polynomial"},
    "classifier": {"outputs": 4, "task": "classification", "rows": 50},
    "bare": {"layers": (), "mechanism": "table", "rows": 20},
    "external": {"mechanism": "external", "encoder": "none", "rows": 25},
}


@cache
def example(kind: str, proven: bool = True) -> Any:
    arrays = model_arrays(3, **MODELS[kind])
    if kind == "regression":
        arrays = with_history(arrays, [1] * 7 + [2] * 3)
    return reported(arrays, proven=proven)


def table_of(root: Element, caption: str) -> list[list[str]]:
    """The body of the table with this caption, cell by cell."""
    found = [t for t in root.all("table") if t.all("caption")[0].text() == caption]
    assert len(found) == 1, caption
    body = found[0].all("tbody")[0]
    return [[cell.text() for cell in row.all("th", "td")] for row in body.all("tr")]
