"""The board beside the PC model and the interpreter, on the same rows."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scm_hw.emit.identity import describe_loaded
from scm_hw.errors import LinkError, MismatchError, OptionError
from scm_hw.host.board import Board, Progress
from scm_hw.ir.interp import interpret
from scm_hw.load import (
    Evaluation,
    FixedPoint,
    Model,
    choose_fixed_point,
    classes_of,
    cut,
    for_hardware,
    formats_of,
    lower,
    lower_model,
    normalised_results,
    rmse,
)
from scm_hw.load.adaptive import adaptive
from scm_hw.load.processor import loaded
from scm_hw.load.readout import reload_fixed_point, with_bank
from scm_hw.load.records import least_bits, records_of_model, with_fraction_bits
from scm_hw.rtl.reload import ProcessorPlan
from scm_hw.rtl.uart.description import Description
from scm_hw.verify.rows import scored_rows, seen_activity
from scm_model.adaptation import AdaptSettings
from scm_model.interval import covered
from scm_model.memory import check_first
from scm_model.scaling import from_unit


@dataclass(frozen=True)
class Comparison:
    """What a run found. Scores are RMSE with targets in [0, 1], or the share of right classes."""

    score: str
    rows: int
    board: float
    pc: float
    interpreter: float
    mismatches: int
    first_mismatch: int | None
    cycles: int
    promised_cycles: int
    clock_mhz: float
    seconds: float
    repeated: int
    returns: int
    #: By target, the share of rows inside the board's interval, and its mean width.
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)
    #: By name, the share of rows that have a flag.
    flags: dict[str, float] = field(default_factory=dict)

    @property
    def rows_per_second(self) -> float:
        return self.rows / self.seconds

    def check(self) -> None:
        """Raise MismatchError unless the board gave the interpreter's integers, in its cycles."""
        if self.mismatches:
            raise MismatchError(
                f"board differs from the interpreter in {self.mismatches} of "
                f"{self.rows} rows (the first is row {self.first_mismatch}); see the timing report "
                "of its build"
            )
        if self.cycles != self.promised_cycles:
            raise MismatchError(
                f"board must take {self.promised_cycles} cycles, not {self.cycles}; program it "
                "with a build of this version"
            )


def compare(
    board: Board,
    model: Model,
    rows: Evaluation,
    progress: Progress | None = None,
    bank: int = 0,
) -> Comparison:
    """Run every row on the board, the PC model and the interpreter; `bank` is the model's number
    on a board that holds several."""
    meaning, latency = board.description, board.hello.latency
    if not meaning.flags or meaning.adapt is not None:
        # The core was built without those that the model has.
        model = replace(model, flags=None)
    if meaning.processor is None:
        check_fields(meaning, model)
        built = built_for(meaning, model)
        fixed = _fixed_point(meaning, model, built)
        records = records_of_model(model, built, fixed)
        program = with_bank(lower(built, fixed), meaning.models)
    else:
        held = loaded(model, meaning.processor)
        meaning = describe_loaded(meaning.processor, model)
        built, fixed, records, program = model, held.fixed, None, held.meaning
        latency = ProcessorPlan(held.image, period_ns=1.0).latency
    if meaning.adapt is not None:
        inputs, expected = _learned(meaning, built, fixed, rows)
        scored, seen = np.arange(len(inputs)) < len(rows), rows
    elif records is None:
        inputs = meaning.inputs(rows.inputs, rows.mechanism, bank)
        expected = interpret(program, inputs)
        scored, seen = np.ones(len(rows), dtype=np.bool_), rows
    else:
        begins = check_first(rows.first, len(rows))
        inputs = meaning.inputs(np.column_stack([rows.inputs, begins]))
        expected = records.interpret(program, inputs)
        scored, seen = scored_rows(model, rows)
    activity = seen_activity(model, seen)
    start = time.monotonic()
    outputs, answers = board.predict_integers(inputs, progress)
    seconds = time.monotonic() - start
    wrong = np.flatnonzero((outputs != expected).any(axis=1))
    found = _comparable(model, built, fixed, outputs[scored], expected[scored])
    score, (on_board, on_pc, interpreted) = _scores(model, seen, activity.output, *found)
    return Comparison(
        score=score,
        rows=len(rows),
        board=on_board,
        pc=on_pc,
        interpreter=interpreted,
        mismatches=len(wrong),
        first_mismatch=int(wrong[0]) if len(wrong) else None,
        cycles=answers.cycles,
        promised_cycles=latency,
        clock_mhz=board.hello.clock_hz / 1e6,
        seconds=seconds,
        repeated=answers.repeated,
        returns=board.returns,
        intervals=_intervals(model, seen, found[0]),
        flags=_flags(meaning, outputs[scored]),
    )


def _learned(
    meaning: Description, built: Model, fixed: FixedPoint, rows: Evaluation
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All rows as the trained model, and again while the board learns from their targets."""
    assert meaning.adapt is not None
    settings = AdaptSettings(meaning.adapt.step, meaning.adapt.leak, meaning.adapt.most_age)
    found = adaptive(built, lower_model(built, fixed), fixed, settings)
    once = meaning.inputs(rows.inputs)
    # What the board has learned before is forgotten.
    once[:1, -1] = 1
    inputs = np.concatenate([once, meaning.learning_inputs(rows.inputs, rows.targets)])
    return inputs, found.interpret(inputs)


def built_for(meaning: Description, model: Model) -> Model:
    """The model in the units of the board's ports."""
    texts = [
        f"{port.name}=adc:{port.bits}:{port.low!r}:{port.high!r}"
        for port in meaning.features
        if port.sensor
    ]
    machine = model if model.memory is None else model.static
    return for_hardware(machine, formats_of(model, texts), output_units=meaning.output_units)


def _fixed_point(meaning: Description, model: Model, built: Model) -> FixedPoint:
    """The coefficients that the board was built with, or that a load gave it."""
    if meaning.reload is not None:
        return reload_fixed_point(built, meaning.frac_bits, meaning.output_bits)
    fixed = _coefficients(meaning, model, built)
    return fixed if meaning.output_bits is None else cut(built, fixed, meaning.output_bits)


def _coefficients(meaning: Description, model: Model, built: Model) -> FixedPoint:
    if meaning.tolerance is None:
        return choose_fixed_point(built, frac_bits=meaning.frac_bits)
    fixed = choose_fixed_point(built, tolerance=meaning.tolerance)
    fixed = with_fraction_bits(built, fixed, least_bits(model))
    if fixed.frac_bits != meaning.frac_bits:
        raise LinkError(
            f"board must have {fixed.frac_bits} fraction bits by this version's rules, not "
            f"{meaning.frac_bits}; build and program it again"
        )
    return fixed


def check_fields(meaning: Description, model: Model) -> None:
    """LinkError where the model has other features than the board."""
    names = [port.name for port in meaning.features]
    if names[: len(names) - meaning.records - (meaning.models > 1)] != list(model.signals):
        raise LinkError("board must have the model's features, not others; program it again")


def _comparable(
    model: Model, built: Model, fixed: FixedPoint, *results: NDArray[np.int64]
) -> list[NDArray[Any]]:
    """Classes, or outputs scaled to the range of their targets."""
    if model.is_classifier:
        return [found[:, 0] for found in results]
    outputs = model.outputs
    return [normalised_results(model, built, fixed, found[:, :outputs]) for found in results]


def _scores(
    model: Model,
    rows: Evaluation,
    pc: NDArray[np.float64],
    board: NDArray[Any],
    expected: NDArray[Any],
) -> tuple[str, tuple[float, float, float]]:
    """Of the board, the PC and the interpreter."""
    if model.is_classifier:
        shares = [float((g == rows.targets).mean()) for g in (board, classes_of(pc), expected)]
        return "accuracy", (shares[0], shares[1], shares[2])
    # The error of a bound would say nothing.
    target = (rows.targets - model.target_min) / (model.target_max - model.target_min)
    k = model.points
    found = [rmse(values[:, :k], target[:, :k]) for values in (board, pc, expected)]
    return "RMSE", (found[0], found[1], found[2])


def _intervals(
    model: Model, rows: Evaluation, board: NDArray[Any]
) -> dict[str, tuple[float, float]]:
    if model.level is None:
        return {}
    found = covered(from_unit(board, model.target_min, model.target_max), rows.targets)
    pairs = zip(found.coverage.tolist(), found.width.tolist(), strict=True)
    return dict(zip(model.targets, pairs, strict=False))


def _flags(meaning: Description, outputs: NDArray[np.int64]) -> dict[str, float]:
    if not meaning.flags:
        return {}
    found = meaning.flag_values(outputs)
    return {name: float(bits.mean()) for name, bits in found.items() if bits.dtype == np.bool_}


def find_model(digest: str, folders: Sequence[Path]) -> Path:
    """The model file with that SHA-256, in one of the folders."""
    for path in (path for folder in folders for path in sorted(folder.glob("*.npz"))):
        if path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == digest:
            return path
    raise OptionError(
        f"model {digest[:16]} of the board must be in {' or '.join(map(str, folders))}, not "
        "missing; name its file with --model"
    )


def find_port(baud: int, model_digest: str | None = None) -> str:
    """The first serial port where a board says hello; of that model, where one is wanted."""
    tried = []
    for port in _ports():
        try:
            with Board(port, baud=baud, tries=1) as board:
                if model_digest in (None, board.hello.model_digest.hex()):
                    return port
            tried.append(f"{port} (another model)")
        except LinkError:
            tried.append(port)
    raise LinkError(
        f"can't find a board at a USB serial port (tried: {', '.join(tried) or 'none'}); "
        "connect one, or name its port with --port"
    )


def _ports() -> Iterator[str]:
    # Only here: it looks through the system's devices when it is imported.
    from serial.tools.list_ports import comports

    # Anything else is no USB cable, and may belong to something that hellos would disturb.
    yield from (port.device for port in comports() if port.vid is not None)


def as_record(found: Comparison) -> dict[str, Any]:
    """For JSON."""
    kind = found.score.lower()
    intervals = {
        name: {"coverage": coverage, "width": width}
        for name, (coverage, width) in found.intervals.items()
    }
    return {
        "rows": found.rows,
        f"{kind}_board": found.board,
        f"{kind}_pc": found.pc,
        f"{kind}_interp": found.interpreter,
        "mismatches": found.mismatches,
        "latency_cycles": found.cycles,
        "clock_mhz": found.clock_mhz,
        "seconds": found.seconds,
        "rows_per_second": found.rows_per_second,
        "repeated_requests": found.repeated,
        "reconnections": found.returns,
    } | {name: value for name, value in (("intervals", intervals), ("flags", found.flags)) if value}
