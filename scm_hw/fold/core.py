"""The folded core: one sample at a time, weights in memories, the same integers."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from scm_hw.fold.lanes import Lanes, constant_memory, select, sliced
from scm_hw.fold.machine import coefficient_bits
from scm_hw.fold.plan import FoldPlan
from scm_hw.rtl import Probe


class FoldedCore(wiring.Component):
    """A stochastic configuration machine that works through its weights step by step.

    Takes a sample at a clock edge where `in_valid` and `in_ready` are both high. Its result can be
    taken `latency` edges later and waits until it is; the next sample may enter as it leaves.
    `rst` drops the sample.

    Parameters
    ----------
    plan : FoldPlan
        The machine, and how many lanes each layer has.

    Members
    -------
    in_data : feature codes and external words, the first in the lowest bits
    out_data : outputs, likewise, two's complement where they can be negative, or the class
    """

    def __init__(self, plan: FoldPlan) -> None:
        self.plan = plan
        self.in_widths = [reach.width for reach in plan.machine.inputs]
        self.out_widths = [reach.width for reach in plan.machine.outputs]
        self.latency = plan.latency
        self.initiation_interval = plan.initiation_interval
        self.probes: list[Probe] = []
        super().__init__(
            {
                "in_valid": In(1),
                "in_ready": Out(1),
                "in_data": In(sum(self.in_widths)),
                "out_valid": Out(1),
                "out_ready": In(1),
                "out_data": Out(sum(self.out_widths)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        _Datapath(self, m).build()
        return m


class _Datapath:
    """The parts of one core, in the order of their phases."""

    def __init__(self, core: FoldedCore, m: Module) -> None:
        self.core = core
        self.m = m
        self.plan = core.plan
        self.machine = core.plan.machine
        self.model = core.plan.machine.model
        self.accept = Signal()
        self.busy = Signal()
        # One bit for each phase.
        self.phase = Signal(len(self.plan.phases), init=1)
        self.stepping = Signal(init=1)
        self.step = Signal(range(max(phase.cycles for phase in self.plan.phases)))
        self.adding = Signal()
        self.sample = Signal(len(core.in_data), reset_less=True)
        self.totals = [
            Signal(width, name=f"total{j}", reset_less=True)
            for j, width in enumerate(self.machine.score_widths)
        ]
        self.addends = [
            Signal(len(t), name=f"addend{j}", reset_less=True) for j, t in enumerate(self.totals)
        ]
        self.hidden = [
            Signal(self.plan.groups(k) * fold.pe, name=f"hidden{k + 1}", reset_less=True)
            for k, fold in enumerate(self.plan.folds)
        ]

    def build(self) -> None:
        self._sequence()
        codes = self._codes()
        self._accumulate()
        if self.machine.linear_features:
            self._linear(codes)
        self._layers(codes)
        self._readout()
        if self.model.is_classifier:
            self._argmax()
        else:
            self.m.d.comb += self.core.out_data.eq(Cat(*self.totals))

    # Time

    def _sequence(self) -> None:
        """Phase after phase; a result waits in the totals, so no sample enters before it leaves."""
        m, core = self.m, self.core
        m.d.comb += [
            core.in_ready.eq(~self.busy & (~core.out_valid | core.out_ready)),
            self.accept.eq(core.in_valid & core.in_ready),
        ]
        phases = list(zip(self.phase, self.plan.phases, strict=True))
        following = Signal(len(self.step) + 1)
        m.d.comb += following.eq(self.step + 1)
        stepped = Cat(on & (following == phase.steps) for on, phase in phases).any()
        ended = Cat(on & (following == phase.cycles) for on, phase in phases).any()
        with m.If(core.out_ready):
            m.d.sync += core.out_valid.eq(0)
        with m.If(self.accept):
            m.d.sync += [self.busy.eq(1), self.sample.eq(core.in_data)]
        with m.Elif(self.busy):
            m.d.sync += self.step.eq(following)
            with m.If(stepped):
                m.d.sync += self.stepping.eq(0)
            with m.If(ended):
                m.d.sync += [
                    self.step.eq(0),
                    self.stepping.eq(1),
                    self.phase.eq(self.phase.rotate_left(1)),
                ]
            with m.If(ended & self.phase[-1]):
                m.d.sync += [self.busy.eq(0), core.out_valid.eq(1)]

    def _active(self, name: str) -> tuple[Signal, Signal]:
        """Whether the phase of that name is on, and whether it takes a step in this cycle."""
        names = [phase.name for phase in self.plan.phases]
        label = name.replace(" ", "")
        on, issue = Signal(name=f"{label}_on"), Signal(name=f"{label}_issue")
        self.m.d.comb += [
            on.eq(self.busy & self.phase[names.index(name)]),
            issue.eq(on & self.stepping),
        ]
        return on, issue

    # Inputs

    def _fields(self, word: Value) -> list[Value]:
        found, start = [], 0
        for width, reach in zip(self.core.in_widths, self.machine.inputs, strict=True):
            field = word[start : start + width]
            found.append(field.as_signed() if reach.signed else field)
            start += width
        return found

    def _codes(self) -> list[Value]:
        return self._fields(self.sample)[: len(self.model.features)]

    def _coded(self, codes: list[Value]) -> Value:
        """The inputs of the first layer, side by side."""
        encoder = self.model.encoder
        if encoder.kind == "none":
            return Cat(*codes)
        if encoder.kind == "thermometer":
            pairs = zip(codes, encoder.thresholds, strict=True)
            return Cat(*(code >= t for code, thresholds in pairs for t in thresholds))
        tops = [code[len(code) - n :] for code, n in zip(codes, encoder.bits, strict=True)]
        if encoder.kind == "gray":
            tops = [(top ^ (top >> 1))[: len(top)] for top in tops]
        return Cat(*tops)

    # Sums

    def _accumulate(self) -> None:
        """Constants and external words first, then whatever the phases put into the addends."""
        constants = self.machine.fixed.constant.tolist()
        words = self._fields(self.core.in_data)[len(self.model.features) :]
        self.m.d.sync += self.adding.eq(0)
        for j, (held, addend) in enumerate(zip(self.totals, self.addends, strict=True)):
            start: Value = Const(constants[j], len(held) + 1)
            if words:
                start = start + (words[j] << self.machine.fixed.extra_bits)
            with self.m.If(self.accept):
                self.m.d.sync += held.eq(start)
            with self.m.Elif(self.adding):
                self.m.d.sync += held.eq(held + addend)

    def _coefficients(self, name: str, width: int, rows: list[list[int]]) -> list[Value]:
        """A memory read by `step`: its signed words, two cycles later."""
        bank = next(bank for bank in self.plan.banks if bank.name == name)
        words = [_packed(row, width) for row in rows]
        address, data = constant_memory(self.m, bank, words)
        held = Signal(len(data), name=f"{name}_q", reset_less=True)
        self.m.d.comb += address.eq(self.step)
        self.m.d.sync += held.eq(data)
        return [word.as_signed() for word in sliced(held, width)]

    def _twice(self, name: str, value: Value, width: int) -> Signal:
        """What goes with coefficients, as late as they are."""
        early, late = (
            Signal(width, name=f"{name}_{when}", reset_less=True) for when in ("early", "late")
        )
        self.m.d.sync += [early.eq(value), late.eq(early)]
        return late

    def _began(self, issue: Signal, name: str) -> Signal:
        """A step two cycles later, when what it reads is there; what it adds comes after."""
        reading, began = Signal(name=f"{name}_reading"), Signal(name=f"{name}_began")
        self.m.d.sync += [reading.eq(issue), began.eq(reading)]
        with self.m.If(began):
            self.m.d.sync += self.adding.eq(1)
        return began

    def _linear(self, codes: list[Value]) -> None:
        """One feature in each step, times its weight for every output."""
        m, linear = self.m, self.machine.fixed.linear
        _, issue = self._active("linear")
        began = self._began(issue, "linear")
        features = self.machine.linear_features
        rows = [linear[i].tolist() for i in features]
        weights = self._coefficients("linear", coefficient_bits(linear), rows)
        widest = max(len(codes[i]) for i in features)
        code = self._twice("code", select(self.step, [codes[i] for i in features]), widest)
        with m.If(began):
            m.d.sync += [
                addend.eq(code * weight)
                for addend, weight in zip(self.addends, weights, strict=True)
            ]

    def _readout(self) -> None:
        """Some nodes in each step: their coefficients for every output, where they are set."""
        m, lanes, outputs = self.m, self.plan.readout_lanes, self.model.outputs
        _, issue = self._active("readout")
        began = self._began(issue, "readout")
        readout = self.machine.readout
        width = coefficient_bits(readout)
        rows = [
            readout[start : start + lanes].ravel().tolist()
            for start in range(0, len(readout), lanes)
        ]
        words = self._coefficients("readout", width, rows)
        nodes = Cat(
            *(
                held[: layer.nodes]
                for held, layer in zip(self.hidden, self.machine.layers, strict=True)
            )
        )
        bits = self._twice("bits", select(self.step, sliced(nodes, lanes)), lanes)
        for j, addend in enumerate(self.addends):
            terms = [Mux(bits[r], words[r * outputs + j], 0) for r in range(lanes)]
            with m.If(began):
                m.d.sync += addend.eq(_signed_total(terms) << self.machine.readout_shift)

    # Hidden layers

    def _layers(self, codes: list[Value]) -> None:
        sources = [self._coded(codes)]
        for held, layer in zip(self.hidden, self.machine.layers, strict=True):
            sources.append(held[: layer.nodes])
        for number, layers in enumerate(self.plan.engines):
            lanes = Lanes(self.plan, number)
            self.m.d.comb += lanes.restart.eq(self.accept)
            for k in layers:
                self._layer(k, lanes, sources[k])
            lanes.build(self.m)

    def _layer(self, k: int, lanes: Lanes, source: Value) -> None:
        """Chunk after chunk of the layer below, for each group; groups of bits come in order."""
        m, chunks = self.m, self.plan.chunks(k)
        on, issue = self._active(f"layer {k + 1}")
        chunk = Signal(range(max(chunks, 2)), name=f"chunk{k + 1}")
        first = Signal(name=f"first{k + 1}", init=1)
        last = chunk == chunks - 1
        words = sliced(source, len(lanes.inputs))
        inputs = select(chunk, words)
        with m.If(on):
            m.d.comb += [
                lanes.issue.eq(issue),
                lanes.first.eq(first),
                lanes.last.eq(last),
                lanes.inputs.eq(inputs),
            ]
            with m.If(issue):
                m.d.sync += [chunk.eq(Mux(last, 0, chunk + 1)), first.eq(last)]
            with m.If(lanes.done):
                m.d.sync += self.hidden[k].eq(Cat(self.hidden[k], lanes.bits)[len(lanes.bits) :])

    # Classes

    def _argmax(self) -> None:
        """The best score so far against the next; equal ones leave the lower class."""
        m, core = self.m, self.core
        best = Signal(range(max(self.model.outputs, 2)), reset_less=True)
        m.d.comb += core.out_data.eq(best)
        if self.model.outputs == 1:
            return
        on, issue = self._active("argmax")
        width = len(self.totals[0])
        highest, candidate = (
            Signal(width, name=name, reset_less=True) for name in ("highest", "candidate")
        )
        number = Signal.like(best, name="number", reset_less=True)
        compare = Signal()
        m.d.sync += [
            candidate.eq(select(self.step, self.totals[1:])),
            number.eq(self.step + 1),
            compare.eq(issue),
        ]
        with m.If(on & ~compare):
            m.d.sync += [highest.eq(self.totals[0]), best.eq(0)]
        with m.Elif(compare & (candidate.as_signed() > highest.as_signed())):
            m.d.sync += [highest.eq(candidate), best.eq(number)]


def _packed(values: list[int], width: int) -> int:
    return sum((value % (1 << width)) << (i * width) for i, value in enumerate(values))


def _signed_total(terms: list[Value]) -> Value:
    """Balanced, so that few terms stay within a cycle."""
    while len(terms) > 1:
        pairs = [a + b for a, b in zip(terms[::2], terms[1::2], strict=False)]
        terms = pairs + terms[len(terms) // 2 * 2 :]
    return terms[0]
