"""The core: a scheduled Program as a pipeline with valid and ready on both sides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory

from scm_hw.ir import (
    Concat,
    Constant,
    Input,
    Op,
    Program,
    Ref,
    Sum,
    Table,
    operands,
    part_of,
    ranges,
)
from scm_hw.rtl.modules import Modules, plain
from scm_hw.rtl.ports import core_members, fields
from scm_hw.rtl.queue import ResultQueue
from scm_hw.rtl.values import drive, drive_absorbing, shape_of, table_comment
from scm_hw.schedule import Schedule, sums_in_blocks
from scm_hw.target import ABSORBING, free_ops


@dataclass(frozen=True)
class Probe:
    """A signal inside the core whose value is known `cycle` edges after its sample.

    `signal` is its path from the core, `value` the signal itself.
    """

    signal: str
    cycle: int
    value: Signal = field(compare=False, repr=False)


@dataclass(frozen=True)
class OpProbe(Probe):
    """The signal of an operation."""

    ref: Ref


class StreamCore(wiring.Component):
    """What every core shows of itself: packed words with valid and ready on both sides.

    A result can be taken `latency` edges after its sample, and a sample enters every
    `initiation_interval` edges. `probes` are known once the core has been elaborated. `more` are
    members besides those of the streams.
    """

    def __init__(
        self,
        in_widths: list[int],
        out_widths: list[int],
        latency: int,
        initiation_interval: int,
        handshake: str = "global",
        more: Mapping[str, Any] | None = None,
    ) -> None:
        self.in_widths, self.out_widths = in_widths, out_widths
        self.handshake = handshake
        self.latency, self.initiation_interval = latency, initiation_interval
        self._probes: list[Any] = []
        ready = handshake != "none"
        members = core_members(sum(in_widths), sum(out_widths), ready=ready)
        super().__init__(members | dict(more or {}))

    @property
    def probes(self) -> Sequence[Probe]:
        return self._probes


class ScmCore(StreamCore):
    """A stochastic configuration machine as a pipeline.

    Takes a sample at every clock edge where `in_valid` and `in_ready` are both high. Its result can
    be taken `latency` edges later, or after as many more as it had to wait. Order is kept. `rst`
    empties it.

    Parameters
    ----------
    program : Program
        Lowered: sums of two operands, no argmax.
    schedule : Schedule
        The cycle of each operation.

    The handshake of the schedule's ends decides what happens while a result waits and `out_ready`
    is low. Global: the whole pipeline stands still, by one enable, and `in_ready` follows
    `out_ready` within the cycle. Skid: the pipeline runs on into a queue, and `in_ready` is a
    register. None: there is no ready on either side; every sample is taken, and its result is there
    for one cycle.

    Members
    -------
    in_data : the inputs of the program, the first in the lowest bits
    out_data : its outputs, likewise, two's complement where they can be negative
    """

    def __init__(self, program: Program, schedule: Schedule) -> None:
        known = ranges(program)
        self._begin(program, schedule, [known[r].width for r in program.outputs])

    def _begin(
        self,
        program: Program,
        schedule: Schedule,
        out_widths: list[int],
        ranks: int = 0,
        more: Mapping[str, Any] | None = None,
        behind: Sequence[int] = (),
    ) -> None:
        """As a core with `ranks` of registers behind the program, and more members.

        `behind` are the bits of fields of a sample that the program doesn't see.
        """
        self.program = program
        self.schedule = schedule
        self.ranges = ranges(program)
        super().__init__(
            [*(self.ranges[r].width for r in program.inputs), *behind],
            out_widths,
            schedule.latency + ranks,
            schedule.initiation_interval,
            schedule.ends.handshake,
            more,
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._probes = []
        if self.handshake == "global":
            # One enable for all ranks. It takes next to no logic, but its net reaches every
            # register, which may bound the clock (`Schedule.max_clock_of`).
            advance = Signal()
            m.d.comb += [
                advance.eq(~self.out_valid | self.out_ready),
                self.in_ready.eq(advance),
            ]
            valid, result = self._pipeline(m, self.in_valid, advance)
            m.d.comb += [self.out_valid.eq(valid), self.out_data.eq(result)]
        elif self.handshake == "skid":
            self._with_queue(m)
        else:
            valid, result = self._pipeline(m, self.in_valid, None)
            m.d.comb += [self.out_valid.eq(valid), self.out_data.eq(result)]
        return m

    def _with_queue(self, m: Module) -> None:
        m.submodules.queue = queue = ResultQueue(len(self.out_data), self.latency)
        valid, result = self._pipeline(m, queue.taken, None)
        m.d.comb += [
            queue.in_valid.eq(self.in_valid),
            self.in_ready.eq(queue.in_ready),
            queue.done.eq(valid),
            queue.result.eq(result),
            self.out_valid.eq(queue.out_valid),
            queue.out_ready.eq(self.out_ready),
            self.out_data.eq(queue.out_data),
        ]

    def _pipeline(self, m: Module, taken: Value, advance: Signal | None) -> tuple[Value, Value]:
        """Whether there is a result, and the result; all moves with `advance`, if there is one."""
        latency = self.schedule.latency
        valid: Value = taken
        for rank in range(1, latency + 1):
            # Reset, unlike the data: it alone says which ranks hold a sample.
            held = Signal(name=f"valid_{rank}")
            register(m, held, valid, advance)
            valid = held
        values = _Datapath(self, m, advance)
        values.build()
        results = [values.at(ref, latency) for ref in self.program.outputs]
        widths = [self.ranges[ref].width for ref in self.program.outputs]
        return valid, Cat(*_exact(results, widths))


def register(m: Module, held: Signal, value: Value, advance: Signal | None) -> None:
    """A register that takes a value in every cycle, or only in those with `advance`."""
    if advance is None:
        m.d.sync += held.eq(value)
        return
    with m.If(advance):
        m.d.sync += held.eq(value)


def _exact(values: list[Value], widths: list[int]) -> list[Value]:
    return [value[:width] for value, width in zip(values, widths, strict=True)]


class _Datapath:
    """Values by operation and cycle, each built when first read."""

    def __init__(self, core: ScmCore, m: Module, advance: Signal | None) -> None:
        self.core = core
        self.m = m
        self.advance = advance
        self.program = core.program
        self.cycles = core.schedule.cycles
        self.free = free_ops(core.program, core.schedule.tech)
        self.in_dsp = sums_in_blocks(core.program, self.cycles, core.schedule.tech)
        self.inputs = self._unpack()
        self.known: dict[tuple[Ref, int], Value] = {}
        self.copies: dict[tuple[Ref, int, str], Signal] = {}
        self.parts: dict[str, Module] = {}
        self.modules = Modules(core.program)
        self.rows: dict[Ref, dict[Ref, Value]] = {}

    def build(self) -> None:
        """Everything in order, so that reading never has to look far back."""
        for ref, cycle in enumerate(self.cycles):
            if cycle is not None:
                self.at(ref, cycle)

    def at(self, ref: Ref, cycle: int) -> Value:
        """The value of an operation as the logic of a cycle sees it."""
        key = (ref, cycle)
        if key not in self.known:
            self.known[key] = self._make(ref, cycle)
        return self.known[key]

    def _make(self, ref: Ref, cycle: int) -> Value:
        born = self.cycles[ref]
        op = self.program.ops[ref]
        if born is not None and cycle > born:
            return self._register(ref, cycle)
        assert born in (None, cycle), "an operation can't be read before it happens"
        if isinstance(op, Input):
            return self.inputs[ref]
        if isinstance(op, Constant):
            return Const(op.value, shape_of(self.core.ranges[ref]))
        return self._compute(ref, op, cycle)

    def _compute(self, ref: Ref, op: Op, cycle: int) -> Signal:
        signal, m = self._signal(ref, cycle), self._module(op)
        table = self._absorbed(op)
        if isinstance(op, Table) and op.memory:
            m.d.comb += signal.eq(self._memory(op.index, cycle)[ref])
        elif table is not None:
            # The second operand is the table, of which only the index is read.
            first, _, *more = operands(op)
            left, *carried = (self._read(op, r, cycle) for r in (first, *more))
            index = self._read(op, table.index, cycle)
            drive_absorbing(m, signal, left, table, index, *carried)
        else:
            drive(m, signal, op, [self._read(op, r, cycle) for r in operands(op)])
        path = ".".join(filter(None, (self._part(op), signal.name)))
        self.core._probes.append(OpProbe(path, cycle, signal, ref))
        return signal

    def _read(self, reader: Op, ref: Ref, cycle: int) -> Value:
        """What an operation sees of another in the same cycle.

        Bits that another module puts side by side are put so again: a port for a part of a signal
        would have no name.
        """
        op, part = self.program.ops[ref], self._part(reader)
        held = self.cycles[ref] not in (None, cycle)
        if not isinstance(op, Concat) or held or self._part(op) == part:
            return self.at(ref, cycle)
        key = (ref, cycle, part)
        if key not in self.copies:
            self.copies[key] = signal = self._signal(ref, cycle)
            parts = [self._read(reader, r, cycle) for r in operands(op)]
            drive(self._module(reader), signal, op, parts)
        return self.copies[key]

    def _part(self, op: Op) -> str:
        return self.modules.of(op)

    def _module(self, op: Op) -> Module:
        """Where an operation stands. Simulators and readers do better with many small modules."""
        # Icarus searches all signals of a module for every register: a large core in one module
        # takes hours.
        part = self._part(op)
        if not part:
            return self.m
        if part not in self.parts:
            self.m.submodules[part] = self.parts[part] = Module()
        return self.parts[part]

    def _memory(self, index: Ref, cycle: int) -> dict[Ref, Value]:
        """The data of one row, by the tables that are read with that index."""
        if index not in self.rows:
            tables = [ref for ref, op in self.program if _is_memory_of(op, index)]
            widths = [self.core.ranges[ref].width for ref in tables]
            # The memory has a register of its own: it is read a cycle ahead.
            address = self.at(index, cycle - 1)
            words = [_row(self.program, tables, widths, a) for a in range(1 << len(address))]
            # Small ones too: their LUTs were not counted on.
            style = {"rom_style": "block"}
            memory = Memory(shape=sum(widths), depth=len(words), init=words, attrs=style)
            self.m.submodules[f"levels_{index}"] = memory
            port = memory.read_port()
            enable = Const(1) if self.advance is None else self.advance
            self.m.d.comb += [port.addr.eq(address), port.en.eq(enable)]
            starts = accumulate(widths, initial=0)
            self.rows[index] = {
                ref: port.data[start : start + width]
                for ref, width, start in zip(tables, widths, starts, strict=False)
            }
        return self.rows[index]

    def _absorbed(self, op: Op) -> Table | None:
        """The table that an addition swallows, if it does."""
        if not isinstance(op, Sum) or op.weights not in ABSORBING or op.constant:
            return None
        table = self.program.ops[op.operands[1]]
        return table if isinstance(table, Table) and op.operands[1] in self.free else None

    def _register(self, ref: Ref, cycle: int) -> Signal:
        before = self.at(ref, cycle - 1)
        # No reset: valid says what is data, and registers without one are easier to place.
        held = Signal(before.shape(), name=f"{self._name(ref, cycle)}_q", reset_less=True)
        register(self._module(self.program.ops[ref]), held, before, self.advance)
        return held

    def _signal(self, ref: Ref, cycle: int) -> Signal:
        op, attrs = self.program.ops[ref], {}
        if isinstance(op, Sum) and len(op.operands) > 1 and ref not in self.in_dsp:
            # Synthesis would otherwise merge chains of additions into wide compressor trees. Those
            # of products are for it to find.
            attrs = {"keep": 1}
        elif isinstance(op, Table):
            attrs = table_comment(op)
        return Signal(shape_of(self.core.ranges[ref]), name=self._name(ref, cycle), attrs=attrs)

    def _name(self, ref: Ref, cycle: int) -> str:
        return f"{_identifier(self.program.ops[ref])}_{ref}_c{cycle}"

    def _unpack(self) -> dict[Ref, Value]:
        """Each input as a signal of its own: modules then have it as a port, not all of them."""
        inputs = self.program.inputs
        values = fields(self.core.in_data, [self.core.ranges[ref] for ref in inputs])
        found: dict[Ref, Value] = {}
        for ref, value in zip(inputs, values, strict=True):
            name = f"{_identifier(self.program.ops[ref])}_{ref}"
            found[ref] = Signal(value.shape(), name=name)
            self.m.d.comb += found[ref].eq(value)
        return found


def _is_memory_of(op: Op, index: Ref) -> bool:
    return isinstance(op, Table) and op.memory and op.index == index


def _row(program: Program, tables: list[Ref], widths: list[int], address: int) -> int:
    """The entries at an address side by side, the first in the lowest bits."""
    row, start = 0, 0
    for ref, width in zip(tables, widths, strict=True):
        table = program.ops[ref]
        assert isinstance(table, Table)
        # Addresses beyond the table never occur; the memory has words for them.
        entry = table.contents[min(address, len(table.contents) - 1)]
        row |= (entry & (1 << width) - 1) << start
        start += width
    return row


def _identifier(op: Op) -> str:
    """A Verilog name made of an operation's own, in short where its part says the rest."""
    prefix = part_of(op).prefix
    own = op.name.removeprefix(prefix) if op.name.startswith(f"{prefix}.") else ""
    text = plain(own) or plain(op.name)
    return (text or type(op).__name__.lower())[:40]
