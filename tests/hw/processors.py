"""Processors and the models for them, and a loadable core in Icarus under stalls and uploads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from scm_hw.design import Design, Options, compile_model
from scm_hw.emit.identity import describe
from scm_hw.host.loading import upload_of
from scm_hw.load import Model
from scm_hw.load.upload import LoadStatus, Upload
from scm_hw.tools.icarus import compile_verilog, run_program
from tests.column_models import FEATURES, raw_rows, with_columns
from tests.hw.reloading import BOARD, RESET, REVERT, START, Run
from tests.hw.test_families import family_model
from tests.support import random_model

BENCH = Path(__file__).parent / "reload_bench.v"
STATUS = "status"
OPTIONS = {"input_bits": 12, "rows": 20}
KINDS = {
    "one output": {},
    "two layers": {"outputs": 2, "layers": (6, 5)},
    "three layers": {"outputs": 2, "layers": (7, 5, 4), "inputs_per_node": 2},
    "gray": {"encoder": "gray", "bits": 4},
    "quantile binary": {"encoder": "binary", "bits": 3, "spacing": "quantile"},
    "codes": {"encoder": "none", "outputs": 2},
    "steps": {"activation": "step", "linear": False},
    "linear part alone": {"layers": ()},
}
FEW = {"features": 2, "bits": 2, "layers": (2,)}
CLASSES = {
    "classes": {"outputs": 3, "encoder": "gray", "bits": 4},
    "two classes": {"outputs": 2},
}
# For all of the models above, and not much more.
ROOM = "6 inputs,180 nodes,3 layers,2 outputs,90 steps,48 bits"


@cache
def machine(kind: str) -> Model:
    if kind == "families":
        return family_model(1, outputs=2)
    if kind == "families of columns":
        model = with_columns(family_model(4, features=FEATURES))
        return replace(model, evaluation=replace(model.evaluation, inputs=raw_rows(model, 40)))
    if kind == "family classes":
        return family_model(2, outputs=3, classes=3)
    if kind in CLASSES:
        return random_model(3, task="classification", **OPTIONS, **CLASSES[kind])
    if kind in ("few", "few others"):
        return random_model(4 + (kind == "few"), **OPTIONS, **FEW)
    return random_model(3, **OPTIONS, **KINDS[kind])


@cache
def processor(kind: str = "one output", room: str = ROOM, **options: object) -> Design:
    return compile_model(machine(kind), BOARD, Options(reload="all", capacity=room, **options))


def upload_to(design: Design, model: Model) -> Upload:
    """As a host makes it that knows the description alone."""
    return upload_of(describe(design, "demo"), model)


def run_in_icarus(
    design: Design,
    samples: Sequence[int],
    events: Sequence[int | str],
    folder: Path,
    *,
    seed: int = 1,
    open_share: int = 70,
    events_open: int = 70,
) -> Run:
    """The samples over and over, beside events on the loading pins (None: a cycle without one)."""
    ports, name = design.ports, design.names.core
    words = [_word(event) for event in events]
    (folder / "core.v").write_text(design.verilog)
    (folder / "samples.hex").write_text("".join(f"{sample:x}\n" for sample in samples))
    (folder / "events.hex").write_text("".join(f"{word:x}\n" for word in words))
    values = {
        "CORE": name,
        "IN_WIDTH": sum(ports.in_widths),
        "OUT_WIDTH": sum(ports.out_widths),
        "STATUS_WIDTH": 8,
        "SAMPLES": len(samples),
        "EVENTS": len(words),
        "SEED": seed,
        "OPEN": open_share,
        "EVENTS_OPEN": events_open,
    }
    program, log = folder / "bench.vvp", folder / "bench.log"
    options = ("-g2005-sv", *(f"-D{key}={value}" for key, value in values.items()))
    how = {"cwd": folder, "log": log, "timeout": 300.0}
    compile_verilog([BENCH, folder / "core.v"], program, top="bench", options=options, **how)
    code, text = run_program(program, **how)
    assert code == 0, text
    found = Run()
    for line in text.splitlines():
        kind, _, word = line.partition(" ")
        if kind == "result":
            found.results.append(int(word, 16))
        elif kind == STATUS:
            found.statuses.append(LoadStatus(int(word, 16)))
    return found


def _word(event: int | str | None) -> int:
    if event is None:
        return 0
    if isinstance(event, int):
        return 1 << 8 | event
    return {START: 1 << 9, REVERT: 1 << 10, RESET: 1 << 11, STATUS: 1 << 12}[event]


def uploaded(data: bytes, pause: int) -> list[int | str | None]:
    """An upload, a pause, and what became of it."""
    return [START, *data, *[None] * pause, STATUS]
