"""Errors, changes and what is kept of earlier samples, rank by rank behind the hidden bits.

Every rank moves with the pipeline. At rank 0 a sample has its hidden bits, and takes the error of
the sample UPDATE_DELAY - 1 before it out of a memory; at rank 1 it takes that sample's hidden bits;
at rank 2 it reads the changes, and the error changes them at the end of the cycle, for the sample
behind it. The last rank has the answer. Two ranks later there is its error, which goes into the
memory.
"""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib.memory import Memory

from scm_hw.load.adaptive import Adaptive
from scm_hw.rtl.adapt.arithmetic import Term, absolute, added, held, pairs
from scm_hw.rtl.adapt.changes import NodeChanges, TableChanges
from scm_hw.rtl.adapt.popped import Popped
from scm_hw.rtl.adapt.timing import BEFORE_SUMS, AdaptTiming
from scm_hw.rtl.core import register
from scm_hw.rtl.ports import fields
from scm_model.adaptation import MEAN_BITS, UPDATE_DELAY

# The delay is counted in samples and not in cycles, so that stalls don't change what is learned.
LAG = UPDATE_DELAY - 1


@dataclass(frozen=True)
class Controls:
    """What comes with a sample besides its inputs."""

    targets: list[Value]
    age: Value
    learn: Value
    freeze: Value
    restart: Value

    @classmethod
    def of(cls, found: Adaptive, word: Value) -> Controls:
        values = fields(word, found.controls)
        own = found.adaptation
        age = values[own.outputs] if own.most_age else Const(0, 1)
        return cls(values[: own.outputs], age, *values[-3:])


class Learner:
    """A readout that learns, as part of a core's module; `advance` moves it, if there is one."""

    def __init__(
        self, found: Adaptive, timing: AdaptTiming, m: Module, advance: Signal | None
    ) -> None:
        self.found, self.own, self.timing = found, found.adaptation, timing
        self.m, self.advance = m, advance
        self.go: Value = Const(1, 1) if advance is None else advance

    def answers(
        self, valid: Value, scores: list[Value], hidden: Value, controls: Controls
    ) -> tuple[Value, Value]:
        """Whether there is an answer, and the word that leaves the core."""
        last = self.timing.ranks
        self.valids = self._valids(valid, last + 2)
        since, first = self._since(controls.restart)
        popped = self._popped(hidden, since)
        clear = self._hold("first_r1", first) & self.valids[1]
        terms = self._terms(hidden, since, popped, clear)
        answers = self._sums(scores, terms)
        flags = self._watch(popped, clear)
        self._keep(answers, controls, self._counts(controls, since))
        shown = [self._later(f"flag{i}", flag, last - 2) for i, flag in enumerate(flags)]
        return self.valids[last], Cat(*answers, *shown)

    # Registers

    def _hold(self, name: str, value: Value) -> Signal:
        held_value = Signal(value.shape(), name=name, reset_less=True)
        register(self.m, held_value, value, self.advance)
        return held_value

    def _later(self, name: str, value: Value, ranks: int) -> Value:
        for rank in range(ranks):
            value = self._hold(f"{name}_{rank + 1}", value)
        return value

    def _valids(self, valid: Value, ranks: int) -> list[Value]:
        """Whether there is a sample, at every rank from 0."""
        found = [valid]
        for rank in range(1, ranks + 1):
            here = Signal(name=f"sample_{rank}")
            register(self.m, here, found[-1], self.advance)
            found.append(here)
        return found

    def _number(self, name: str, rank: int, bits: int) -> Signal:
        """Counts the samples that leave a rank, so that the places of memories come in order."""
        number = Signal(bits, name=name)
        with self.m.If(self.valids[rank] & self.go):
            self.m.d.sync += number.eq(number + 1)
        return number

    # Rank 0

    def _since(self, restart: Value) -> tuple[Value, Value]:
        """Samples since the last restart, as far as it matters, and whether this one restarts."""
        m, own = self.m, self.own
        # Larger counts than these make no difference.
        top = max(LAG, own.most_age, own.cleared_in)
        count = Signal(range(top + 1), name="since")
        now = Signal.like(count, name="since_now")
        m.d.comb += now.eq(Mux(restart, 0, count))
        with m.If(self.valids[0] & self.go):
            m.d.sync += count.eq(Mux(now == top, top, now + 1))
        return now, now == 0

    def _counts(self, controls: Controls, since: Value) -> Value:
        """Whether there is a target for a sample that is remembered and may be learned from."""
        found, own = controls.learn, self.own
        # A comparison that always holds isn't built: lint would warn of it.
        if own.deaf:
            found &= since >= own.deaf
        if own.most_age:
            found &= controls.age <= since
        if own.most_age + 1 < 1 << own.most_age.bit_length():
            found &= controls.age <= own.most_age
        return found

    @property
    def _place_bits(self) -> int:
        return (self.own.most_age + LAG).bit_length()

    def _popped(self, hidden: Value, since: Value) -> Popped:
        """The error that is due at each sample, from rank 0 to rank 2."""
        m, own = self.m, self.own
        bits = self._place_bits
        number = self._number("number", 0, bits)
        reaches = self.found.errors
        widths = [reach.width for reach in reaches]
        age_bits = own.most_age.bit_length()
        shape = sum(widths) + 2 + age_bits
        m.submodules.errors = memory = Memory(shape=shape, depth=1 << LAG.bit_length(), init=[])
        self.errors_in, entry = memory.write_port(), memory.read_port(domain="comb")
        place = Signal(bits, name="due")
        # Numbers wrap, and so does their difference.
        m.d.comb += [place.eq(number - LAG), entry.addr.eq(place[: LAG.bit_length()])]
        errors, start = [], 0
        for j, width in enumerate(widths):
            value = entry.data[start : start + width].as_signed()
            errors.append(self._hold(f"error{j}_1", value))
            start += width
        # With fewer samples since the restart, the error is that of a sample before it.
        counts = self._hold("counts_1", entry.data[start] & (since >= LAG))
        frozen = self._hold("frozen_1", entry.data[start + 1])
        where = Signal(bits, name="where")
        m.d.comb += where.eq(place - entry.data[start + 2 :] if age_bits else place)
        earlier = self._earlier(hidden, number, self._hold("where_1", where))
        sizes = [absolute(m, error, f"size{j}") for j, error in enumerate(errors)]
        counts_2 = self._hold("counts_2", counts) & self.valids[2]
        return Popped(
            [self._hold(f"step{j}_2", self._step(error)) for j, error in enumerate(errors)],
            self._hold("size_2", sum(sizes[1:], sizes[0])),
            self._hold("earlier_2", earlier),
            counts_2,
            counts_2 & ~self._hold("frozen_2", frozen),
        )

    def _earlier(self, hidden: Value, number: Value, where: Value) -> Value:
        """The hidden bits of an earlier sample."""
        m = self.m
        m.submodules.hidden = memory = Memory(shape=len(hidden), depth=1 << len(number), init=[])
        write, read = memory.write_port(), memory.read_port(domain="comb")
        m.d.comb += [
            write.addr.eq(number),
            write.data.eq(hidden),
            write.en.eq(self.valids[0] & self.go),
            read.addr.eq(where),
        ]
        return read.data

    def _step(self, error: Value) -> Value:
        """Rounded to the nearest."""
        # The step size and the squared norm are powers of two, so both are one shift.
        dropped = self.own.drop_bits
        if not dropped:
            return error
        rounded = error[dropped:].as_signed() + error[dropped - 1]
        step = Signal(signed(len(error) - dropped + 1))
        self.m.d.comb += step.eq(rounded)
        return step

    # Ranks 1 and 2

    def _terms(self, hidden: Value, since: Value, popped: Popped, clear: Value) -> list[list[Term]]:
        """By output, what is to be added up at rank 3; and what changes it."""
        hidden = self._later("hidden", hidden, 2)
        if not self.own.tables:
            nodes = NodeChanges(self.found, self.m, self._hold)
            nodes.learn(popped, clear, self.go)
            return nodes.read(hidden)
        clearing = self._later("clearing", since < self.own.cleared_in, 2)
        tables = TableChanges(self.found, self.m, self._hold)
        enable = self.valids[2] & self.go
        return tables.build(hidden, popped, clearing, self._later("since", since, 2), enable)

    def _watch(self, popped: Popped, clear: Value) -> list[Value]:
        """The mean of the error, and whether there is a drift, as they are at rank 2."""
        m, drift = self.m, self.own.drift
        bits = self.found.most_error.bit_length()
        total = Signal(bits + MEAN_BITS, name="error_sum", reset_less=True)
        mean = total[MEAN_BITS:]
        with m.If(self.go & clear):
            m.d.sync += total.eq(0)
        with m.Elif(self.go & popped.counts):
            # An exponential mean: each error takes the place of a mean one, and none has to be
            # kept.
            m.d.sync += total.eq(total - mean + popped.size)
        if drift.threshold is None:
            return [mean, Const(0, 1)]
        excess = Signal(range(drift.top + 1), name="excess", reset_less=True)
        more = Signal(signed(bits + len(excess) + 2), name="excess_next")
        m.d.comb += more.eq(excess + popped.size - drift.reference)
        with m.If(self.go & clear):
            m.d.sync += excess.eq(0)
        with m.Elif(self.go & popped.counts):
            # A one-sided CUSUM: what errors have beyond the reference adds up, and never falls
            # below 0.
            m.d.sync += excess.eq(Mux(more < 0, 0, Mux(more > drift.top, drift.top, more)))
        return [mean, excess >= drift.threshold]

    # From rank 3 to the answer

    def _sums(self, scores: list[Value], terms: list[list[Term]]) -> list[Value]:
        """The answers in registers at the last rank."""
        levels = max(len(terms[0]) - 1, 0).bit_length()
        cuts = self.timing.tree.cuts
        found = []
        for j, (score, own) in enumerate(zip(scores, terms, strict=True)):
            for level in range(levels + 1):
                if level in cuts:
                    own = held(own, self._hold, f"sum{j}_{level}")
                if level < levels:
                    own = pairs(self.m, own, f"sum{j}_{level}")
            base = self._later(f"score{j}", score, BEFORE_SUMS + len(cuts))
            found.append(self._hold(f"answer{j}", self._answer(j, base, own[0])))
        return found

    def _answer(self, output: int, score: Value, total: Term) -> Value:
        """The trained answer and the sum of the changes, rounded to the nearest."""
        guard, reach = self.own.guard_bits, self.found.answers[output]
        half = Const(1 << guard >> 1, guard)
        sign = Const(0, 0) if score.shape().signed else Const(0, 1)
        base = Cat(half, score, sign)
        width = max(len(base), len(total.value), reach.width + guard) + 1
        whole = added(self.m, base, total.value, total.negative, width, f"whole{output}")
        answer = whole[guard : guard + reach.width]
        return answer.as_signed() if reach.signed else answer

    # Behind the answer

    def _keep(self, answers: list[Value], controls: Controls, counts: Value) -> None:
        """Errors two ranks behind the answers, and in the memory at the end of that cycle."""
        m, last = self.m, self.timing.ranks
        targets = [self._later(f"target{j}", t, last) for j, t in enumerate(controls.targets)]
        parts = [counts, controls.freeze]
        if self.own.most_age:
            parts.append(controls.age)
        status = self._later("status", Cat(*parts), last)
        meant = self._meant(answers, status[2:]) if self.own.most_age else answers
        errors = []
        for j, (target, answer) in enumerate(zip(targets, meant, strict=True)):
            wanted, given = self._hold(f"wanted{j}", target), self._hold(f"given{j}", answer)
            error = Signal(signed(self.found.errors[j].width), name=f"error{j}")
            m.d.comb += error.eq(wanted - given)
            errors.append(self._hold(f"error{j}_kept", error))
        m.d.comb += [
            self.errors_in.addr.eq(self._number("errors_number", last + 2, LAG.bit_length())),
            self.errors_in.data.eq(Cat(*errors, self._later("status_kept", status, 2))),
            self.errors_in.en.eq(self.valids[last + 2] & self.go),
        ]

    def _meant(self, answers: list[Value], age: Value) -> list[Value]:
        """The answers to the sample that the target is for."""
        m, last = self.m, self.timing.ranks
        bits = self.own.most_age.bit_length()
        word = Cat(*answers)
        m.submodules.answers = memory = Memory(shape=len(word), depth=1 << bits, init=[])
        write, read = memory.write_port(), memory.read_port(domain="comb")
        number = self._number("answers_number", last, bits)
        m.d.comb += [
            write.addr.eq(number),
            write.data.eq(word),
            write.en.eq(self.valids[last] & self.go),
            read.addr.eq(number - age),
        ]
        # The newest answer is only being written to the memory.
        return fields(Mux(age == 0, word, read.data), self.found.answers)
