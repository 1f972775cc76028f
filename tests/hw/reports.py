"""Reports of small designs, without a simulation or a synthesis."""

from __future__ import annotations

from typing import Any

from scm_hw import boards
from scm_hw.design import compile_model
from scm_hw.report.report import make_report
from scm_hw.report.resources import Synthesis
from scm_hw.target.resources import Resources
from scm_hw.verify import SimResult
from scm_hw.verify.rows import check_rows
from tests.hw.commands import SMALL
from tests.support import random_model

# What the design page promises of every report.
KEYS = {
    *("name", "board", "part", "digest", "clock_mhz", "latency_cycles", "latency_ns"),
    *("initiation_interval", "bit_exact", "resources", "power", "device", "weights", "formats"),
}
AROUND = {"wrapper": Resources(lut=30, ff=20), "top": Resources(lut=1400, ff=700, bram=0.5)}
COUNTED = {"lut", "ff", "carry4", "dsp", "bram"}


def report_of(
    simulations: list[SimResult] | None = None,
    resources: Resources | None = None,
    evaluated: bool = True,
    **options: Any,
) -> dict[str, Any]:
    model = random_model(1, **(SMALL | options))
    design = compile_model(model, boards.get("nexys-a7"), model_digest="of the file")
    rows = check_rows(design, model.evaluation if evaluated else None)
    found = None if resources is None else Synthesis(resources, AROUND)
    return make_report("small", design, rows, simulations or [], found)
