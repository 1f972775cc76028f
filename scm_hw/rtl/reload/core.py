"""The core with its readout in tables of several banks."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib.memory import Memory

from scm_hw.ir import Program
from scm_hw.load.readout import Contents, ReadoutPlan
from scm_hw.load.siphash import LoadKey
from scm_hw.rtl.core import ScmCore, register
from scm_hw.rtl.fold.lanes import select, sliced
from scm_hw.rtl.ports import fields, load_members
from scm_hw.rtl.reload.loader import Loader
from scm_hw.rtl.reload.timing import ReadoutTiming
from scm_hw.schedule import Schedule


class ReloadCore(ScmCore):
    """A machine whose hidden layers are logic, and whose readout can be loaded while it runs.

    Its tables have a bank for each model that they hold, and a spare one. A sample reads all of
    them in one cycle, and the bank of its model is one register, so that a result is always of one
    model; samples that have read it are not changed by what is loaded later.

    Parameters
    ----------
    program : Program
        Hidden bits and the fixed part of each output.
    schedule : Schedule
        Of that program.
    plan, contents :
        The tables, and what both banks hold at first.
    timing : ReadoutTiming
        The registers of the readout.
    key : LoadKey, optional
        Without it nothing is loaded.

    Members
    -------
    load_start, load_valid, load_data, load_revert, load_status : as `Loader` has them
    """

    def __init__(
        self,
        program: Program,
        schedule: Schedule,
        plan: ReadoutPlan,
        contents: Contents,
        timing: ReadoutTiming,
        key: LoadKey | None = None,
    ) -> None:
        self.plan, self.contents, self.timing, self.key = plan, contents, timing, key
        widths = [reach.width for reach in plan.output_ranges()]
        self._begin(program, schedule, widths, timing.ranks, load_members())

    def _pipeline(self, m: Module, taken: Value, advance: Signal | None) -> tuple[Value, Value]:
        valid, hidden = super()._pipeline(m, taken, advance)
        for rank in range(self.schedule.latency + 1, self.latency + 1):
            held = Signal(name=f"valid_{rank}")
            register(m, held, valid, advance)
            valid = held
        m.submodules.loader = loader = Loader(self.plan.upload, self.key)
        m.d.comb += [
            loader.start.eq(self.load_start),
            loader.valid.eq(self.load_valid),
            loader.data.eq(self.load_data),
            loader.revert.eq(self.load_revert),
            self.load_status.eq(loader.status),
        ]
        readout = _Readout(self, m, advance, loader)
        return valid, readout.results(hidden)


def bank_of(loader: Loader, number: Value | None) -> Value:
    """The bank of a model, given its number; beyond the last it is that of any model."""
    banks = sliced(loader.banks, loader.plan.bank_bits)
    return banks[0] if number is None else select(number, banks)


class _Readout:
    """From hidden bits and fixed parts to what leaves the core."""

    def __init__(self, core: ReloadCore, m: Module, advance: Signal | None, loader: Loader) -> None:
        self.core, self.m, self.advance, self.loader = core, m, advance, loader
        self.plan = core.plan

    def results(self, hidden: Value) -> Value:
        known = [self.core.ranges[ref] for ref in self.core.program.outputs]
        values = fields(hidden, known)
        bits, parts = values[: self.plan.hidden_bits], iter(values[self.plan.hidden_bits :])
        self.bank = bank_of(self.loader, values[-1] if self.plan.models > 1 else None)
        entries = [
            self._entry(number, Cat(*(bits[place] for place in table.bits)))
            for number, table in enumerate(self.plan.tables)
        ]
        scores = []
        for j, reach in enumerate(self.plan.fixed):
            own = [e for e, t in zip(entries, self.plan.tables, strict=True) if t.output == j]
            fixed = Const(0, 1) if reach is None else self._held(f"fixed{j}", next(parts))
            # What is not scaled last, so that the others are added without the empty places.
            scores.append(self._total(j, [*own[1:], own[0], fixed]))
        dropped = [score.shift_right(self.plan.spare_bits) for score in scores]
        if self.plan.kind == "scores":
            return Cat(*(v[:w] for v, w in zip(dropped, self.core.out_widths, strict=True)))
        if self.plan.kind == "sign":
            return dropped[0] >= 1
        return self._argmax(dropped)

    def _entry(self, number: int, index: Value) -> Value:
        """A table's entry of the sample's bank, in units of the total."""
        m, table, loader = self.m, self.plan.tables[number], self.loader
        mask = (1 << table.width) - 1
        words = [entry & mask for entry in self.core.contents[number]]
        banks = self.plan.models + 1
        # Every bank begins with the built-in readout.
        memory = Memory(shape=table.width, depth=banks * table.depth, init=words * banks)
        m.submodules[f"table{number}"] = memory
        read, write = memory.read_port(domain="comb"), memory.write_port()
        m.d.comb += [
            # The bank is the high part of the address: to change models moves no data.
            read.addr.eq(Cat(index, self.bank)),
            write.addr.eq(Cat(loader.address[: len(index)], loader.spare)),
            write.data.eq(loader.entry),
            write.en.eq(loader.write & (loader.table == number)),
        ]
        entry = self._held(f"entry{number}", read.data).as_signed()
        return Cat(Const(0, table.shift), entry).as_signed() if table.shift else entry

    def _held(self, name: str, value: Value) -> Signal:
        held = Signal(value.shape(), name=f"{name}_q", reset_less=True)
        register(self.m, held, value, self.advance)
        return held

    def _total(self, output: int, terms: Sequence[Value]) -> Value:
        """The terms added up in pairs, with registers where the timing has them."""
        width = self.plan.score_range(output).width
        terms, level = list(terms), 0
        cuts = self.core.timing.tree.cuts
        while len(terms) > 1:
            if level in cuts:
                terms = [self._held(f"sum{output}_{level}_{i}", t) for i, t in enumerate(terms)]
            sums: list[Value] = []
            for left, right in zip(terms[::2], terms[1::2], strict=False):
                node = Signal(signed(width), name=f"sum{output}_{level + 1}_{len(sums)}")
                self.m.d.comb += node.eq(left + right)
                sums.append(node)
            terms, level = sums + terms[len(terms) // 2 * 2 :], level + 1
        return self._held(f"total{output}", terms[0])

    def _argmax(self, scores: list[Value]) -> Value:
        """In pairs, with registers behind each level; of equal ones the first."""
        bits = (len(scores) - 1).bit_length()
        found = [(score, Const(place, bits)) for place, score in enumerate(scores)]
        level = 0
        while len(found) > 1:
            chosen: list[tuple[Value, Value]] = []
            for (low, first), (high, second) in zip(found[::2], found[1::2], strict=False):
                # Strictly, so that of equal scores the first stays.
                wins = high > low
                chosen.append((Mux(wins, high, low), Mux(wins, second, first)))
            chosen += found[len(found) // 2 * 2 :]
            found = [
                (self._held(f"best{level}_{i}", score), self._held(f"class{level}_{i}", place))
                for i, (score, place) in enumerate(chosen)
            ]
            level += 1
        return found[0][1]
