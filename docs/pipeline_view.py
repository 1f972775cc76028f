"""The animated view of docs/pipeline.md: three samples on their way through a small core.

Its values are the interpreter's, so that the view is of the program that hardware is built from.
`conf.py` puts it in the place of the page's mark while the site is made.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from scm_hw import boards
from scm_hw.design import Design, Options, compile_model
from scm_hw.ir import Input, Ref
from scm_hw.ir.interp import trace
from scm_model import Encoder, Layer, Model

MARK = "<!-- the animated pipeline -->"
# Codes of level, flow and heat.
SAMPLES = ((128, 207, 106), (182, 72, 90), (223, 87, 139))
# Fast enough that the core takes a few cycles.
CLOCK_MHZ = 250.0
KINDS = {"AtLeast": "comparison", "Less": "comparison"}


def view() -> str:
    """The view as HTML without blank lines, which would end it in Markdown."""
    here = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    design = small_design()
    known = values(design)
    text = here.get_template("_pipeline.html").render(
        inputs=[(op.name, known[ref]) for ref, op in design.program if isinstance(op, Input)],
        stages=[_stage(design, cycle, known) for cycle in range(design.schedule.latency)],
        outputs=[("y", known[ref]) for ref in design.program.outputs],
        samples=len(SAMPLES),
    )
    return "\n".join(line for line in text.splitlines() if line.strip())


def small_design() -> Design:
    """Three sensors of eight bits, four comparisons each, three nodes and one output."""
    rng = np.random.default_rng(1)
    bounds = [sorted(rng.choice(range(20, 235), 4, replace=False).tolist()) for _ in range(3)]
    encoder = Encoder("thermometer", 8, (4,) * 3, tuple(map(tuple, bounds)), "quantile", 3)
    signs = np.where(rng.random((3, 12)) < 0.5, -1, 1).astype(np.int8)
    layer = Layer(signs, np.ones(3), np.array([0.5, -0.5, 0.5]), "sign")
    model = Model(
        task="regression",
        algorithm="SCM",
        encoder=encoder,
        layers=(layer,),
        readout=np.array([[0.25], [-0.125], [0.1875]]),
        linear=np.zeros((3, 1)),
        intercept=np.array([0.25]),
        input_min=np.zeros(3),
        input_max=np.ones(3),
        target_min=np.zeros(1),
        target_max=np.ones(1),
        features=("level", "flow", "heat"),
        targets=("y",),
        classes=None,
    )
    return compile_model(model, boards.get("arty-a7"), Options(clock_mhz=CLOCK_MHZ))


def values(design: Design) -> dict[Ref, list[int]]:
    """Of every operation the value for each sample."""
    program = design.program
    found = trace(program, np.array(SAMPLES), range(len(program.ops)))
    return {ref: column.tolist() for ref, column in found.items()}


def _stage(
    design: Design, cycle: int, known: dict[Ref, list[int]]
) -> list[tuple[str, str, list[int]]]:
    """The operations of a cycle: their names and kinds, and their values."""
    placed = zip(design.program, design.schedule.cycles, strict=True)
    return [
        (op.name, KINDS.get(kind := type(op).__name__, kind.lower()), known[ref])
        for (ref, op), at in placed
        if at == cycle and not isinstance(op, Input)
    ]
