"""Unrolled, folded, or in front of a readout that can be loaded: which shape a core has."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from scm_hw.boards import Board
from scm_hw.design.options import Options, delay_model, ends_of, usable_dsps
from scm_hw.errors import OptionError, ToolError
from scm_hw.fold import (
    FoldPlan,
    check_fold,
    fastest_plan,
    fold_machine,
    foldable,
    parse_fold,
    plan_fold,
    surely_too_large,
)
from scm_hw.ir import Program, verify
from scm_hw.load import (
    FixedPoint,
    Lowered,
    Model,
    choose_fixed_point,
    choose_output_bits,
    cut,
    integers,
    lower_model,
)
from scm_hw.load.adaptive import Adaptive, adaptive
from scm_hw.load.capacity import LEAST_FRAC_BITS, parse_room
from scm_hw.load.processor import Loaded, built_in, check_loadable
from scm_hw.load.readout import LoadableReadout, loadable, with_bank
from scm_hw.load.records import (
    with_fraction_bits,
)
from scm_hw.passes import LITERAL, OWN_ROWS, Passes, Reference, Stage
from scm_hw.rtl import ScmCore, to_verilog
from scm_hw.rtl.adapt import AdaptTiming, adapt_timing
from scm_hw.rtl.reload import ProcessorPlan, ReadoutTiming, readout_timing
from scm_hw.schedule import Layout, Schedule, lay_out
from scm_hw.target import TECHNOLOGIES, Technology
from scm_hw.target.resources import Resources, near_limit, within
from scm_model.adaptation import AdaptSettings

Measure = Callable[[str, str, Board], Resources | None]
"""The cells of a core on a board, given its Verilog and module; None where they are not known."""


@dataclass(frozen=True, eq=False)
class Shape:
    """Unrolled or folded: programs after each pass, when what happens, and what was measured.

    `meaning` is the literal program where the first stage is only what is in front of a readout.
    """

    fixed: FixedPoint
    stages: tuple[Stage, ...]
    schedule: Schedule | FoldPlan | ProcessorPlan
    measured: Resources | None = None
    meaning: Program | None = None
    loadable: LoadableReadout | None = None
    timing: ReadoutTiming | AdaptTiming | None = None
    adaptive: Adaptive | None = None


def choose_shape(
    model: Model,
    board: Board,
    options: Options,
    measure: Callable[[Layout], Resources | None],
    least: int,
) -> Shape:
    """Products are cut where the core is unrolled; a fold has one multiplier for all of them.

    No pass has a part in a fold: it is built from the literal program, and compared with it. The
    outputs have at least `least` fraction bits.
    """
    if options.reload == "all":
        return _processor(model, board, options)
    if options.reload != "none":
        return _reloadable(model, board, options)
    whole = choose_fixed_point(model, tolerance=options.tolerance, frac_bits=options.frac_bits)
    whole = with_fraction_bits(model, whole, least)
    lowered = _lowered(model, whole)
    plan = None
    if options.adapt is None:
        plan = _fold_first(model, whole, lowered, board, options)
    if plan is not None:
        return _folded(model, whole, lowered, _ended(plan, options))
    fixed = choose_output_bits(
        model, whole, tolerance=options.tolerance, output_bits=options.output_bits
    )
    if options.adapt is not None:
        return _adaptive(model, fixed, board, options, options.adapt)
    # Outputs that come back as codes must have at least the bits of a code.
    if fixed.grid_bits < least:
        fixed = whole if least >= whole.product_bits else cut(model, whole, least)
    passes = Passes(_lowered(model, fixed).program, rows=_evaluation_codes(model, fixed))
    layout = _unrolled(passes, board, options)
    # Close to the limit, the count of a synthesis decides instead of the estimate.
    measured = measure(layout)
    leaves_room = within(layout.cost if measured is None else measured, board.room)
    # A fold takes many cycles for each sample, so only what has no room unrolled is folded.
    if _may_fold(model, options) and not leaves_room:
        plan = _ended(_fastest(lowered, board, options), options)
        return _folded(model, whole, lowered, plan, measured)
    return Shape(fixed, layout.stages, layout.schedule, measured)


def _reloadable(model: Model, board: Board, options: Options) -> Shape:
    """The hidden layers as any program, in front of a readout of its own."""
    tolerance = options.tolerance
    fixed = choose_fixed_point(
        # Each coefficient by itself: another readout must leave the fixed part as it is.
        model,
        tolerance=tolerance,
        frac_bits=options.frac_bits,
        jointly=False,
    )
    fixed = choose_output_bits(model, fixed, tolerance=tolerance, output_bits=options.output_bits)
    lowered = _lowered(model, fixed)
    parts = loadable(model, lowered, fixed, models=options.banks)
    # Passes rely on the rules; a fault of the lowering is best named here.
    verify(parts.program)
    # First, since its ranks are taken off the latency that the user allows.
    timing = readout_timing(parts.plan, *_clock(board, options))
    layout = _in_front(parts.program, model, fixed, board, options, "--reload readout", timing)
    return Shape(
        fixed,
        layout.stages,
        layout.schedule,
        meaning=with_bank(lowered.program, options.banks),
        loadable=parts,
        timing=timing,
    )


def _processor(model: Model, board: Board, options: Options) -> Shape:
    """The model as the first image of a processor."""
    check_loadable(model)
    bits = options.frac_bits
    if bits is None:
        # Only for the number of bits that this model needs.
        fixed = choose_fixed_point(model, tolerance=options.tolerance, jointly=False)
        bits = max(fixed.frac_bits, LEAST_FRAC_BITS)
    room = None if options.capacity is None else parse_room(options.capacity)
    found: Loaded = built_in(model, bits, room, options.banks)
    period = 1000.0 / (options.clock_mhz or board.clock_mhz)
    plan = ProcessorPlan(found.image, period, delay_model(board), options.handshake)
    return Shape(found.fixed, (Stage(LITERAL, found.meaning),), plan)


def _adaptive(
    model: Model, fixed: FixedPoint, board: Board, options: Options, settings: AdaptSettings
) -> Shape:
    """The whole machine with its hidden bits laid open, in front of a readout that learns."""
    lowered = _lowered(model, fixed)
    found = adaptive(model, lowered, fixed, settings)
    verify(found.program)
    timing = adapt_timing(found, *_clock(board, options))
    layout = _in_front(found.program, model, fixed, board, options, "--adapt", timing)
    return Shape(
        fixed,
        layout.stages,
        layout.schedule,
        meaning=lowered.program,
        timing=timing,
        adaptive=found,
    )


def _clock(board: Board, options: Options) -> tuple[float, Technology]:
    period = 1000.0 / (options.clock_mhz or board.clock_mhz)
    return period, TECHNOLOGIES[delay_model(board)]


def _in_front(
    program: Program,
    model: Model,
    fixed: FixedPoint,
    board: Board,
    options: Options,
    flag: str,
    timing: ReadoutTiming | AdaptTiming,
) -> Layout:
    """A program with the cycles that a readout behind it leaves."""
    before = options.latency
    if before is not None:
        # What the user allows is for hidden layers and readout together.
        before -= timing.ranks
        if before < 1:
            raise OptionError(
                f"latency must be at least {timing.ranks + 1} cycles with {flag}, not "
                f"{options.latency}; allow more cycles, or leave {flag.split()[0]} out"
            )
    rows = _evaluation_codes(model, fixed)
    if rows is not None and options.banks > 1:
        # All banks hold the built-in model at first.
        rows = np.pad(rows, ((0, 0), (0, 1)))
    return _unrolled(Passes(program, rows=rows), board, replace(options, latency=before))


def _lowered(model: Model, fixed: FixedPoint) -> Lowered:
    lowered = lower_model(model, fixed)
    verify(lowered.program)
    return lowered


def _may_fold(model: Model, options: Options) -> bool:
    return options.fold == "auto" and options.output_bits is None and foldable(model)


def measuring(
    measure: Measure | None, core: str, board: Board
) -> Callable[[Layout], Resources | None]:
    """The cells of an unrolled core by synthesis, where the estimate can't decide if it fits."""

    def measured(layout: Layout) -> Resources | None:
        if measure is None or not near_limit(layout.cost, board.room):
            return None
        # The estimate is left where the tool is missing or fails; a build will say so.
        with suppress(ToolError):
            return measure(to_verilog(ScmCore(layout.program, layout.schedule), core), core, board)
        return None

    return measured


def _ended(plan: FoldPlan, options: Options) -> FoldPlan:
    """The plan with the ends that were asked for, refused where a folded core can't have them."""
    if options.handshake == "none":
        raise OptionError(
            "handshake must be global or skid for a folded core, which can't take a sample in "
            "every cycle, not none; take a larger device, or --fold none"
        )
    if options.input_register:
        raise OptionError(
            "input register must be left out for a folded core, which keeps the sample it works "
            "on in registers; leave --input-register out, or take --fold none"
        )
    return replace(plan, handshake=options.handshake)


def _folded(
    model: Model,
    fixed: FixedPoint,
    lowered: Lowered,
    plan: FoldPlan,
    measured: Resources | None = None,
) -> Shape:
    # No pass has compared it, so the plan itself is run against the literal program.
    check_fold(plan, Reference(lowered.program, _evaluation_codes(model, fixed)))
    return Shape(fixed, (Stage(LITERAL, lowered.program),), plan, measured)


def _evaluation_codes(model: Model, fixed: FixedPoint) -> NDArray[np.int64] | None:
    """Some of the evaluation rows as they enter the core, to compare outputs on."""
    rows = model.evaluation
    if rows is None or (model.mechanism.kind == "external" and rows.mechanism is None):
        return None
    # Evenly spread, since rows may be in the order of time.
    some = slice(None, None, max(1, -(-len(rows) // OWN_ROWS)))
    mechanism = None if rows.mechanism is None else rows.mechanism[some]
    return integers(model, fixed, rows.inputs[some], mechanism)


def _unrolled(passes: Passes, board: Board, options: Options) -> Layout:
    """The passes with what clock and room make of them."""
    return lay_out(
        passes,
        clock_mhz=options.clock_mhz or board.clock_mhz,
        grade=delay_model(board),
        mode=options.pipeline,
        latency=options.latency,
        dsps=usable_dsps(board, options),
        tables=options.tables,
        fits=lambda cost: within(cost, board.room),
        ends=ends_of(board, options),
    )


def _fold_first(
    model: Model, fixed: FixedPoint, lowered: Lowered, board: Board, options: Options
) -> FoldPlan | None:
    """The fold that was asked for, or that is the only form to think of; None to try unrolled."""
    if options.fold == "none":
        return None
    if options.fold == "auto":
        if _may_fold(model, options) and surely_too_large(model, fixed, board.room):
            return _fastest(lowered, board, options)
        return None
    if options.output_bits is not None:
        raise OptionError(
            f"output bits must be left out for a folded core, not {options.output_bits}; "
            "it has one multiplier, whose products are not cut"
        )
    if model.families is not None:
        raise OptionError(
            f"fold must be none or auto for a model of families, not {options.fold}; "
            "train with fewer --luts if it must be smaller"
        )
    if model.flags is not None:
        raise OptionError(
            f"fold must be none or auto for a model with flags, not {options.fold}; "
            "leave the flags out with --no-flags"
        )
    if model.bits:
        raise OptionError(
            f"fold must be none or auto for a machine whose nodes see their own bits, not "
            f"{options.fold}; leave --fold out"
        )
    folds = parse_fold(options.fold, len(model.layers))
    return plan_fold(
        fold_machine(lowered),
        folds,
        clock_mhz=options.clock_mhz or board.clock_mhz,
        grade=delay_model(board),
        latency=options.latency,
    )


def _fastest(lowered: Lowered, board: Board, options: Options) -> FoldPlan:
    return fastest_plan(
        fold_machine(lowered),
        board.room,
        clock_mhz=options.clock_mhz or board.clock_mhz,
        grade=delay_model(board),
        latency=options.latency,
    )
