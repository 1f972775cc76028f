"""What has been learned: a register for every node, or an entry more for every family."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib.memory import Memory

from scm_hw.load.adaptive import Adaptive
from scm_hw.rtl.adapt.arithmetic import Hold, Term, added, held, pairs, saturated, shrunk
from scm_hw.rtl.adapt.popped import Popped


class NodeChanges:
    """A change for every node, output and the intercept, in registers.

    All are read for every sample, and changed by every error. They are cleared in the cycle before
    a sample that restarts, which is in front of the errors that are due then.
    """

    def __init__(self, found: Adaptive, m: Module, hold: Hold) -> None:
        self.own, self.m, self.hold = found.adaptation, m, hold
        own = self.own
        self.values = [
            [
                Signal(signed(own.width), name=f"change{j}_{k}", reset_less=True)
                for k in range(own.terms)
            ]
            for j in range(own.outputs)
        ]

    def read(self, hidden: Value) -> list[list[Term]]:
        """By output, the terms of a sample in pairs; in registers."""
        # The intercept is a node that is always set.
        bits = [*hidden, Const(1, 1)]
        found = []
        for j, values in enumerate(self.values):
            # A hidden node counts as +1 or -1, so its bit is a sign.
            terms = [Term(value, ~bit) for value, bit in zip(values, bits, strict=True)]
            first = pairs(self.m, terms, f"pair{j}")
            found.append(held(first, self.hold, f"pair{j}"))
        return found

    def learn(self, popped: Popped, clear: Value, go: Value) -> None:
        m, own = self.m, self.own
        bits = [*popped.hidden, Const(1, 1)]
        for j, values in enumerate(self.values):
            # NLMS without a multiplier: a step is the error shifted, and a node adds it or
            # subtracts it.
            step = popped.steps[j]
            for k, (value, bit) in enumerate(zip(values, bits, strict=True)):
                name = f"moved{j}_{k}"
                before = value if own.leak is None else shrunk(m, value, own.leak, f"{name}_leak")
                width = max(len(before), len(step)) + 1
                moved = added(m, before, step, ~bit, width, name)
                with m.If(go & clear):
                    m.d.sync += value.eq(0)
                with m.Elif(go & popped.changes):
                    m.d.sync += value.eq(saturated(moved, own.width))


class TableChanges:
    """An entry for each of every family's, in distributed RAM; outputs side by side.

    A sample reads one entry of each table, and an error changes one. The samples behind a restart
    clear an entry with each, before there is an error that could change any.
    """

    def __init__(self, found: Adaptive, m: Module, hold: Hold) -> None:
        self.found, self.own, self.m, self.hold = found, found.adaptation, m, hold

    def build(
        self, hidden: Value, popped: Popped, clearing: Value, since: Value, enable: Value
    ) -> list[list[Term]]:
        """By output, the entries of a sample in registers, without those still to be cleared."""
        found: list[list[Term]] = [[] for _ in range(self.own.outputs)]
        for number, places in enumerate(self.found.places):
            words = self._table(number, places, hidden, popped, clearing, since, enable)
            for j, word in enumerate(words):
                found[j].append(Term(word.as_signed(), Const(0, 1)))
        return found

    def _table(
        self,
        number: int,
        places: tuple[int, ...],
        hidden: Value,
        popped: Popped,
        clearing: Value,
        since: Value,
        enable: Value,
    ) -> list[Value]:
        m, own = self.m, self.own
        name, width = f"changes{number}", own.width * own.outputs
        memory = Memory(shape=width, depth=1 << len(places), init=[])
        m.submodules[name] = memory
        # The sample and the error look at different entries in one cycle: a port for each.
        read, before = memory.read_port(domain="comb"), memory.read_port(domain="comb")
        write = memory.write_port()
        address = Cat(*(popped.hidden[place] for place in places))
        m.d.comb += [
            read.addr.eq(Cat(*(hidden[place] for place in places))),
            before.addr.eq(address),
            write.addr.eq(Mux(clearing, since[: len(places)], address)),
            write.en.eq(enable & (clearing | popped.changes)),
        ]
        moved = []
        for j, step in enumerate(popped.steps):
            value = before.data.word_select(j, own.width).as_signed()
            moved.append(self._moved(value, step, f"{name}_{j}"))
        with m.If(~clearing):
            m.d.comb += write.data.eq(Cat(*moved))
        shown = Signal(width, name=f"{name}_shown")
        with m.If(~clearing):
            m.d.comb += shown.eq(read.data)
        entries = self.hold(f"{name}_entries", shown)
        return [entries.word_select(j, own.width) for j in range(own.outputs)]

    def _moved(self, value: Value, step: Value, name: str) -> Value:
        m, own = self.m, self.own
        before = value if own.leak is None else shrunk(m, value, own.leak, f"{name}_leak")
        width = max(len(before), len(step)) + 1
        return saturated(added(m, before, step, Const(0, 1), width, name), own.width)
