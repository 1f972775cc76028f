"""The folded core: one sample at a time, weights in memories, the same integers."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed

from scm_hw.fold.engines import READOUT_RANKS, LayerPlan
from scm_hw.fold.machine import coefficient_bits
from scm_hw.fold.plan import FoldPlan
from scm_hw.fold.timeline import LINEAR_RANKS
from scm_hw.fold.words import linear_words, readout_words
from scm_hw.ir import ranges
from scm_hw.rtl import Probe, ScmCore, StreamCore, expressions
from scm_hw.rtl.fold.lanes import Lanes, constant_memory, extended, select, sliced, total
from scm_hw.rtl.ports import fields
from scm_hw.schedule import Layout


class FoldedCore(StreamCore):
    """A stochastic configuration machine that works through its weights step by step.

    Takes a sample at a clock edge where `in_valid` and `in_ready` are both high. Its result can be
    taken `latency` edges later and waits until it is; the next sample may enter as it leaves.
    `rst` drops the sample. With the handshake "skid" the next sample enters in the cycle after.

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
        super().__init__(
            [reach.width for reach in plan.machine.inputs],
            [reach.width for reach in plan.machine.outputs],
            plan.latency,
            plan.initiation_interval,
            plan.handshake,
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        datapath = _Datapath(self, m)
        datapath.build()
        # The scores as the sample is taken, and with its result all bits and scores.
        started = [Probe(total.name, 1, total) for total in datapath.totals]
        held = [*datapath.hidden, *datapath.totals]
        self._probes = [*started, *(Probe(s.name, self.latency, s) for s in held)]
        return m


class _Datapath:
    """The parts of one core, in the order of their phases."""

    def __init__(self, core: FoldedCore, m: Module) -> None:
        self.core = core
        self.m = m
        self.plan = core.plan
        self.machine = core.plan.machine
        self.accept = Signal()
        self.busy = Signal()
        # One bit for each phase, so that being in a phase is a single bit to look at.
        self.phase = Signal(len(self.plan.phases), init=1)
        self.stepping = Signal(init=1)
        self.step = Signal(range(max(phase.cycles for phase in self.plan.phases)))
        # Nothing but the readout has addends to give any more.
        self.alone = Signal()
        # Steps of the readout that were taken, and those for which there are nodes.
        self.position = Signal(range(self.plan.readout.steps + 1))
        self.limit = Signal.like(self.position, name="limit")
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
            Signal(plan.groups * plan.fold.pe, name=f"hidden{k}", reset_less=True)
            for k, plan in enumerate(self.plan.layers, start=1)
        ]

    def build(self) -> None:
        self._sequence()
        self._accumulate()
        self._beside()
        self._layers()
        self._readout()
        if self.machine.is_classifier:
            self._argmax()
        else:
            self.m.d.comb += self.core.out_data.eq(Cat(*self.totals))

    # Time

    def _sequence(self) -> None:
        """Phase after phase; a result waits in the totals, so no sample enters before it leaves."""
        m, core = self.m, self.core
        # A registered ready must not depend on `out_ready` within the cycle.
        leaving = core.out_ready if core.handshake == "global" else Const(0)
        m.d.comb += [
            core.in_ready.eq(~self.busy & (~core.out_valid | leaving)),
            self.accept.eq(core.in_valid & core.in_ready),
        ]
        phases = list(zip(self.phase, self.plan.phases, strict=True))
        # A bit more than the step has: it reaches the number of cycles, which the step never does.
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

    def _inputs(self) -> list[Value]:
        """The values of the sample that is worked on."""
        return fields(self.sample, self.machine.inputs)

    def _arriving(self) -> list[Value]:
        """The values of the sample that is offered."""
        return fields(self.core.in_data, self.machine.inputs)

    # Sums

    def _accumulate(self) -> None:
        """Constants and external words first, then whatever the phases put into the addends."""
        self.m.d.sync += self.adding.eq(0)
        for j, (held, addend) in enumerate(zip(self.totals, self.addends, strict=True)):
            start: Value = Const(self.machine.lowered.constants[j], len(held) + 1)
            for word, place in self._words(j):
                start = start + (word << place)
            with self.m.If(self.accept):
                self.m.d.sync += held.eq(start)
            with self.m.Elif(self.adding):
                self.m.d.sync += held.eq(held + addend)

    def _words(self, output: int) -> list[tuple[Value, int]]:
        """The external words that an output adds, each with the place of its lowest bit."""
        lowered, arriving, found = self.machine.lowered, self._arriving(), []
        for ref, weight in lowered.external.of_output(output):
            place = weight.bit_length() - 1
            assert weight == 1 << place, "external words are only shifted"
            found.append((arriving[lowered.program.inputs.index(ref)], place))
        return found

    def _coefficients(self, name: str, address: Value, width: int, words: list[int]) -> list[Value]:
        """A memory: its signed words, two cycles after the address."""
        bank = next(bank for bank in self.plan.banks if bank.name == name)
        port, data = constant_memory(self.m, bank, words)
        held = Signal(len(data), name=f"{name}_q", reset_less=True)
        self.m.d.comb += port.eq(address)
        self.m.d.sync += held.eq(data)
        return [word.as_signed() for word in sliced(held, width)]

    def _later(self, name: str, value: Value, cycles: int, *, reset_less: bool = False) -> Value:
        """A value some cycles later."""
        for cycle in range(cycles):
            held = Signal(len(value), name=f"{name}_{cycle}", reset_less=reset_less)
            self.m.d.sync += held.eq(value)
            value = held
        return value

    def _add(self, when: Value, addends: list[Value]) -> None:
        """What the totals gain, one cycle later."""
        with self.m.If(when):
            self.m.d.sync += self.adding.eq(1)
            self.m.d.sync += [a.eq(b) for a, b in zip(self.addends, addends, strict=True)]

    # Beside the layers

    def _beside(self) -> None:
        """The linear part, then the mechanism; `alone` from then on."""
        linear, free = Const(0, 1), Const(1, 1)
        if len(self.machine.linear):
            linear, free = self._linear()
        if self.plan.mechanism is None:
            self.m.d.comb += self.alone.eq(~linear)
        else:
            self._mechanism(self.plan.mechanism, free)

    def _linear(self) -> tuple[Value, Value]:
        """One code in each step, times its weight for every output.

        Whether there are steps left, and whether all products have been taken.
        """
        m, linear = self.m, self.machine.linear
        issue, feature = Signal(name="linear_issue"), Signal(range(max(len(linear), 2)))
        with m.If(self.accept):
            m.d.sync += [issue.eq(1), feature.eq(0)]
        with m.Elif(issue):
            m.d.sync += [issue.eq(feature != len(linear) - 1), feature.eq(feature + 1)]
        width = coefficient_bits(linear)
        weights = self._coefficients("linear", feature, width, linear_words(linear))
        code = select(feature, self._linear_codes())
        # The weights come out of their memory as many cycles late.
        code = self._later("code", code, LINEAR_RANKS, reset_less=True)
        reading = self._later("linear_reading", issue, LINEAR_RANKS - 1)
        began = self._later("linear_began", reading, 1)
        self._add(began, [code * weight for weight in weights])
        return issue, ~(issue | reading | began)

    def _linear_codes(self) -> list[Value]:
        """Codes as they are, or held inside the training range as the sample is taken."""
        program, taken, found = self.machine.linear_codes, self._inputs(), []
        arriving = zip(program.outputs, expressions(program, self._arriving()), strict=True)
        for number, (ref, value) in enumerate(arriving):
            if ref in program.inputs:
                found.append(taken[program.inputs.index(ref)])
                continue
            held = Signal(len(value), name=f"held{number}", reset_less=True)
            with self.m.If(self.accept):
                self.m.d.sync += held.eq(value)
            found.append(held)
        return found

    def _mechanism(self, layout: Layout, free: Value) -> None:
        """A pipeline of its own, which waits until the addends are free."""
        m = self.m
        m.submodules.mechanism = unit = ScmCore(layout.program, layout.schedule)
        taken = Signal(name="mechanism_taken")
        m.d.comb += [
            unit.in_valid.eq(self._later("mechanism_start", self.accept, 1)),
            unit.in_data.eq(Cat(*self._inputs())),
            unit.out_ready.eq(free),
            taken.eq(unit.out_valid & free),
        ]
        with m.If(self.accept):
            m.d.sync += self.alone.eq(0)
        with m.Elif(taken):
            m.d.sync += self.alone.eq(1)
        known = ranges(layout.program)
        addends = fields(unit.out_data, [known[ref] for ref in layout.program.outputs])
        self._add(taken, addends)

    # Readout

    def _readout(self) -> None:
        """Some nodes in each step: their coefficients for every output, where they are set."""
        m, plan = self.m, self.plan.readout
        issue = Signal(name="readout_issue")
        m.d.comb += issue.eq(self.alone & (self.position != self.limit))
        with m.If(self.accept):
            m.d.sync += self.position.eq(0)
        with m.Elif(issue):
            m.d.sync += self.position.eq(self.position + 1)
        width = plan.coefficient_bits
        rows = readout_words(self.machine.readout, plan)
        words = self._coefficients("readout", self.position, width, rows)
        bits = select(self.position, self._slots())
        bits = self._later("bits", bits, READOUT_RANKS, reset_less=True)
        sums = []
        for j in range(plan.outputs):
            terms: list[Value] = [
                Mux(bit, word, Const(0, signed(width)))
                for bit, word in zip(bits, words[j :: plan.outputs], strict=True)
            ]
            found = total(m, f"readout{j}", terms, plan.tree.cuts, signed=True)
            sums.append(found << self.machine.readout_shift)
        self._add(self._later("readout_began", issue, plan.drain - 1), sums)

    def _slots(self) -> list[Value]:
        """The nodes of each step of the readout."""
        found = []
        for held, plan in zip(self.hidden, self.plan.layers, strict=True):
            for group in sliced(held, plan.fold.pe):
                found += sliced(group, self.plan.readout.lanes)
        return [extended(bits, self.plan.readout.lanes) for bits in found]

    # Hidden layers

    def _layers(self) -> None:
        lane_bits = self.machine.layers[0].lane_bits
        coded = expressions(self.machine.encoder, self._inputs())
        sources: list[Value] = [Cat(*(extended(value, lane_bits) for value in coded))]
        for held, layer in zip(self.hidden, self.machine.layers, strict=True):
            sources.append(held[: layer.nodes])
        with self.m.If(self.accept):
            self.m.d.sync += self.limit.eq(0)
        for engine in self.plan.engines:
            lanes = Lanes(engine)
            self.m.d.comb += lanes.restart.eq(self.accept)
            for plan in engine.layers:
                self._layer(plan, lanes, sources[plan.number])
            self._results(lanes)
            lanes.build(self.m)

    def _layer(self, plan: LayerPlan, lanes: Lanes, source: Value) -> None:
        """Chunk after chunk of the layer below, for each group of nodes."""
        m, number = self.m, plan.number + 1
        on, issue = self._active(f"layer {number}")
        chunk = Signal(range(max(plan.chunks, 2)), name=f"chunk{number}")
        first = Signal(name=f"first{number}", init=1)
        last = chunk == plan.chunks - 1
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

    def _results(self, lanes: Lanes) -> None:
        """The bits of each group to their place, and to the readout."""
        m, engine = self.m, lanes.engine
        hidden = [self.hidden[plan.number] for plan in engine.layers]
        places = [part for held in hidden for part in sliced(held, engine.fold.pe)]
        # One bit for each group, which moves on with every result: no counter has to be decoded.
        token = Signal(len(places), name=f"{lanes.name}_place", init=1)
        with m.If(self.accept):
            m.d.sync += token.eq(1)
        with m.Elif(lanes.done):
            m.d.sync += token.eq(token << 1)
            # All layers of an engine have one fold, and so equal slots.
            m.d.sync += self.limit.eq(self.limit + self.plan.readout.slots(engine.layers[0]))
        for place, here in zip(places, token, strict=True):
            with m.If(lanes.done & here):
                m.d.sync += place.eq(lanes.bits)

    # Classes

    def _argmax(self) -> None:
        """The best score so far against the next; equal ones leave the lower class."""
        m, core = self.m, self.core
        best = Signal(range(len(self.totals)), reset_less=True)
        m.d.comb += core.out_data.eq(best)
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
        # Before the first comparison, score 0 is the best; step k brings score k + 1.
        with m.If(on & ~compare):
            m.d.sync += [highest.eq(self.totals[0]), best.eq(0)]
        with m.Elif(compare & (candidate.as_signed() > highest.as_signed())):
            m.d.sync += [highest.eq(candidate), best.eq(number)]
