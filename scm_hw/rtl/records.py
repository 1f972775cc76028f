"""The history of a machine with memory, around its core: samples in, taps to the core."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

from amaranth.hdl import Cat, Const, Module, Mux, ResetSignal, Signal, Value

from scm_hw.load.records import Records
from scm_hw.rtl.core import Probe, StreamCore
from scm_model.memory import Tap

# The core in its history.
MACHINE = "machine"


class RecordCore(StreamCore):
    """A core that keeps the past of its signals, and of its own outputs, itself.

    Takes a sample of each signal with a bit that begins a record. What lies before the record is
    at rest: nothing has to be cleared. The first sample after `rst` begins a record as well. The
    last bit of a result says that the history was full.

    The samples of now are registered with the history, a cycle before the core, unless the core
    registers what it takes (`direct`), as a folded one does. A machine that sees its own outputs
    takes a sample when the result before it leaves, and holds its outputs in the range of the
    targets.

    Parameters
    ----------
    records : Records
        Which codes of the past the core sees.
    core : StreamCore
        The machine behind the history.
    direct : bool
        Whether the core registers its inputs.

    Members
    -------
    in_data : a code of each signal, the first in the lowest bits, and the bit that begins a record
    out_data : the outputs of the core, likewise, and the bit of a full history
    """

    def __init__(
        self, records: Records, core: StreamCore, out_signed: list[bool], *, direct: bool
    ) -> None:
        self.records, self.core, self.direct = records, core, direct
        self.out_signed = out_signed
        sources = len(records.signals)
        outputs = core.out_widths[: len(core.out_widths) - records.nodes]
        if records.feedback:
            outputs = [records.top(j).bit_length() for j in range(len(outputs))]
        latency, interval = core.latency + (not direct), core.initiation_interval
        super().__init__(
            [*records.widths[:sources], 1],
            [*outputs, 1],
            latency,
            records.interval(latency, interval, core.handshake),
            core.handshake,
        )

    @property
    def probes(self) -> Sequence[Probe]:
        """Those of the core, where they stand here and when they hold a sample's values."""
        return [
            replace(p, signal=f"{MACHINE}.{p.signal}", cycle=p.cycle + (not self.direct))
            for p in self.core.probes
        ]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules[MACHINE] = self.core
        _History(self, m).build()
        return m


class _History:
    """The parts of one history: what is taken, the past, the core's pins, and the results."""

    def __init__(self, parent: RecordCore, m: Module) -> None:
        self.parent, self.m = parent, m
        self.records, self.core = parent.records, parent.core
        self.accept, self.begins = Signal(), Signal()
        # A core without a handshake is always ready, and so is what takes its results.
        ready = parent.handshake != "none"
        self.in_ready: Value = parent.in_ready if ready else Const(1)
        self.out_ready: Value = parent.out_ready if ready else Const(1)
        self.core_ready: Value = self.core.in_ready if ready else Const(1)
        # A core that is reset has seen no record.
        self.fresh = Signal(init=1)
        depth = self.records.depth
        # Not reset: the first sample after a reset begins a record, which sets it.
        self.age = Signal(range(depth + 1), reset_less=True)
        self.full = Signal()
        # The last field is the bit that begins a record.
        widths = [*parent.in_widths[:-1]]
        starts = accumulate(widths, initial=0)
        self.samples: list[Value] = [
            parent.in_data[start : start + width]
            for start, width in zip(starts, widths, strict=False)
        ]

    def build(self) -> None:
        m, parent = self.m, self.parent
        # At an edge that resets, nothing is taken.
        m.d.comb += [
            self.accept.eq(parent.in_valid & self.in_ready & ~ResetSignal(allow_reset_less=True)),
            self.begins.eq(parent.in_data[-1] | self.fresh),
        ]
        with m.If(self.accept):
            m.d.sync += self.fresh.eq(0)
        now = Signal(len(self.age), name="age_now")
        # Saturates at the depth: from there on the history is full.
        older = Mux(self.age == self.records.depth, self.age, self.age + 1)
        m.d.comb += now.eq(Mux(self.begins, 0, older))
        with m.If(self.accept):
            m.d.sync += self.age.eq(now)
        self.results = self._held() if self.records.feedback else []
        past = self._past([*self.samples, *self._outputs()])
        taps = [self._tap(past, tap) for tap in self.records.taps]
        m.d.comb += self.core.in_data.eq(Cat(*taps))
        if parent.direct:
            self._direct(now)
        else:
            self._registered()
        self._results()

    # The past

    def _tap(self, past: list[list[Value]], tap: Tap) -> Value:
        """A code of the past; of a node its bit in all places."""
        # A node's bit, repeated, is the lowest code or the highest.
        found = past[tap.source][tap.lag]
        if tap.source < self.records.nodes_from:
            return found
        return found.replicate(self.records.widths[tap.source])

    def _width(self, source: int) -> int:
        """What is kept of a source: its code, of a node one bit."""
        return 1 if source >= self.records.nodes_from else self.records.widths[source]

    def _past(self, sources: list[Value]) -> list[list[Value]]:
        """Codes of every source by lag, as the core sees them for the newest sample."""
        return [
            self._line(source, value, self.records.longest(source))
            for source, value in enumerate(sources)
        ]

    def _line(self, source: int, value: Value, longest: int) -> list[Value]:
        """A shift register whose places are at rest before the record.

        Registered, the codes of now are its first place, and what a record begins with is reset to
        rest by the registers' own set and reset, which costs no logic.
        """
        width = self._width(source)
        own, direct = source >= len(self.records.signals), self.parent.direct
        rest = Const(self.records.rest[source], width)
        line = [value]
        if own and direct:
            # The output of the row before is there when the next sample is taken.
            line.append(Mux(self.begins, rest, value))
        elif not own and not direct:
            line = [self._place(source, 0, value)]
        for lag in range(len(line), longest + 1):
            if direct:
                line.append(Mux(self.begins, rest, self._place(source, lag, line[-1])))
            else:
                line.append(self._place(source, lag, Mux(self.begins, rest, line[-1])))
        return line

    def _place(self, source: int, lag: int, before: Value) -> Signal:
        """A register that takes a value with each sample."""
        name = f"source{source}_lag{lag}"
        place = Signal(self._width(source), name=name, reset_less=True)
        with self.m.If(self.accept):
            self.m.d.sync += place.eq(before)
        return place

    def _outputs(self) -> list[Value]:
        """What comes back of the newest result, which is held as it leaves."""
        if not self.records.closed:
            return []
        m, leaves, codes = self.m, Signal(name="leaves"), []
        m.d.comb += leaves.eq(self.core.out_valid & self.out_ready)
        for number, code in enumerate(self._come_back()):
            last = Signal(len(code), name=f"last{number}", reset_less=True)
            with m.If(leaves):
                m.d.sync += last.eq(code)
            # The next sample may enter in the very cycle in which the result leaves.
            codes.append(Mux(leaves, code, last))
        return codes

    def _come_back(self) -> list[Value]:
        """Codes of the outputs of a result, empty where none come back, and the bits of nodes."""
        records, core = self.records, self.core
        outputs = len(core.out_widths) - records.nodes
        # A classifier has a source for each class, though only their winner leaves.
        codes: list[Value] = [Const(0, 0)] * (records.nodes_from - len(records.signals))
        for j, output in enumerate(self.results):
            width = records.widths[len(records.signals) + j]
            codes[j] = output[records.shift : records.shift + width]
        start = sum(core.out_widths[:outputs])
        return [*codes, *(core.out_data[start + node] for node in range(records.nodes))]

    # The streams

    def _direct(self, now: Signal) -> None:
        m, parent = self.m, self.parent
        m.d.comb += [
            self.core.in_valid.eq(parent.in_valid),
            parent.in_ready.eq(self.core_ready),
            self.full.eq(now == self.records.depth),
        ]

    def _registered(self) -> None:
        m, parent = self.m, self.parent
        waiting = Signal()
        m.d.comb += [
            self.core.in_valid.eq(waiting),
            self.full.eq(self.age == self.records.depth),
        ]
        if self.records.closed:
            self._one_by_one(waiting)
            return
        if parent.handshake == "none":
            m.d.sync += waiting.eq(parent.in_valid)
            return
        m.d.comb += parent.in_ready.eq(~waiting | self.core_ready)
        with m.If(self.in_ready):
            m.d.sync += waiting.eq(parent.in_valid)

    def _one_by_one(self, waiting: Signal) -> None:
        """The next sample needs what this one gives."""
        m, parent, busy = self.m, self.parent, Signal()
        leaves = parent.out_valid & self.out_ready
        # A registered ready doesn't look at the result that leaves.
        m.d.comb += parent.in_ready.eq(~busy if parent.handshake == "skid" else ~busy | leaves)
        with m.If(self.accept):
            m.d.sync += [busy.eq(1), waiting.eq(1)]
        with m.Else():
            with m.If(leaves):
                m.d.sync += busy.eq(0)
            with m.If(self.core_ready):
                m.d.sync += waiting.eq(0)

    def _results(self) -> None:
        m, parent, core = self.m, self.parent, self.core
        given = sum(core.out_widths[: len(core.out_widths) - self.records.nodes])
        outputs = self.results or [core.out_data[:given]]
        m.d.comb += [
            parent.out_valid.eq(core.out_valid),
            parent.out_data.eq(Cat(*outputs, self._flag())),
        ]
        if parent.handshake != "none":
            m.d.comb += core.out_ready.eq(parent.out_ready)

    def _held(self) -> list[Value]:
        """The outputs of the core, held in the range of the targets."""
        found: list[Signal] = []
        start = 0
        for j, (width, signed) in enumerate(
            zip(self.core.out_widths, self.parent.out_signed, strict=True)
        ):
            if j == len(self.core.out_widths) - self.records.nodes:
                break
            value: Value = self.core.out_data[start : start + width]
            top = self.records.top(j)
            bits = top.bit_length()
            below = value[-1] if signed else Const(0, 1)
            beyond = value[bits:].any() if width > bits else Const(0, 1)
            inside = Mux(below, 0, Mux(beyond, top, value[:bits]))
            found.append(Signal(bits, name=f"output{j}"))
            self.m.d.comb += found[-1].eq(inside)
            start += width
        return found

    def _flag(self) -> Value:
        """Whether the history of the sample that leaves was full."""
        if self.parent.direct or self.parent.handshake == "skid":
            return self._flag_queue()
        # All ranks of the pipeline move together, and the flag with them.
        flag: Value = self.full
        for rank in range(1, self.core.latency + 1):
            held = Signal(name=f"full_{rank}", reset_less=True)
            with self.m.If(self.core_ready):
                self.m.d.sync += held.eq(flag)
            flag = held
        return flag

    def _flag_queue(self) -> Value:
        """The same in a queue beside the core, whose samples don't move together."""
        m, core = self.m, self.core
        # As many samples as can be in the core at a time.
        places = -(-core.latency // core.initiation_interval) + 1
        queue, count = Signal(places, reset_less=True), Signal(range(places + 1))
        enters, leaves = Signal(name="flag_enters"), Signal(name="flag_leaves")
        m.d.comb += [
            enters.eq(core.in_valid & self.core_ready),
            leaves.eq(core.out_valid & self.out_ready),
        ]
        left = Signal(places, name="queue_left")
        # As the oldest leaves, all others move one place down.
        m.d.comb += left.eq(Mux(leaves, queue >> 1, queue))
        place = Signal(range(places + 1), name="queue_place")
        m.d.comb += place.eq(count - leaves)
        mask = Signal(places, name="queue_mask")
        m.d.comb += mask.eq(Const(1, places) << place)
        m.d.sync += [
            count.eq(place + enters),
            queue.eq(Mux(enters, (left & ~mask) | Mux(self.full, mask, 0), left)),
        ]
        return queue[0]
