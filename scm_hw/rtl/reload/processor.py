"""An SCM processor: a core that runs whatever model is loaded, as long as it fits.

It works on one sample at a time, one step of its program in a cycle. What a step does is spread
over ranks of registers, so that the next can follow at once:

    1    the step is read from its memory
    2    it is registered
    3    a code is cut, or stored bits are compared
    4    the code is clipped, or the bits are counted
    5    shift and sign: what the sum gains
    6    the sum, and the bit where it ends
    7    the bit is stored, or an address is made of it
    8    the row of coefficients is read
    9    it is registered
    10   products
    11   outputs
"""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib.memory import Memory

from scm_hw.load.capacity import COEFFICIENT_BITS, MAX_ADDRESS_BITS
from scm_hw.load.siphash import LoadKey
from scm_hw.load.steps import Kind
from scm_hw.rtl.core import StreamCore
from scm_hw.rtl.fold.lanes import select, sliced
from scm_hw.rtl.plain.memories import DEFINED_WORDS
from scm_hw.rtl.ports import load_members
from scm_hw.rtl.reload.core import bank_of
from scm_hw.rtl.reload.loader import Loader
from scm_hw.rtl.reload.plan import RANKS, ProcessorPlan


class ProcessorCore(StreamCore):
    """A machine whose program and coefficients are loaded while it runs.

    Both memories have a bank for each model and a spare one, and which of them a sample is worked
    out with is decided as it is taken, so that a result is always of one model. The banks may
    change places meanwhile: the sample goes on in its own. An upload that begins right then writes
    into it, but behind what the sample has read: a word takes several bytes, and the header comes
    first.

    Parameters
    ----------
    plan : ProcessorPlan
        The capacity, and what all banks hold at first.
    key : LoadKey, optional
        Without it nothing is loaded.

    Members
    -------
    load_start, load_valid, load_data, load_revert, load_status : as `Loader` has them
    """

    def __init__(self, plan: ProcessorPlan, key: LoadKey | None = None) -> None:
        self.plan, self.key = plan, key
        capacity = plan.capacity
        super().__init__(
            plan.in_widths,
            [reach.width for reach in capacity.output_ranges()],
            plan.latency,
            plan.initiation_interval,
            plan.handshake,
            load_members(),
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        _Machine(self, m).build()
        return m


class _Machine:
    """The parts of a processor, in the order of its ranks."""

    def __init__(self, core: ProcessorCore, m: Module) -> None:
        self.core, self.m, self.capacity = core, m, core.plan.capacity
        self.accept = Signal()
        self.busy = Signal()
        # A step is in rank n where bit n - 1 is set, and the last one where bit n - 2 is.
        self.valid = Signal(RANKS)
        self.ended = Signal(RANKS - 1)
        self.sample = Signal(len(core.in_data), reset_less=True)
        width = self.capacity.total_bits
        self.totals = [
            Signal(signed(width), name=f"total{j}", reset_less=True)
            for j in range(self.capacity.room.outputs)
        ]
        m.submodules.loader = self.loader = Loader(self.capacity.upload, core.key)
        self.banks = self.capacity.models + 1
        codes = self.capacity.room.inputs * self.capacity.code_bits
        number = core.in_data[codes:] if self.capacity.models > 1 else None
        # The bank of the sample that is offered.
        self.bank = bank_of(self.loader, number)

    def build(self) -> None:
        core, m = self.core, self.m
        m.d.comb += [
            self.loader.start.eq(core.load_start),
            self.loader.valid.eq(core.load_valid),
            self.loader.data.eq(core.load_data),
            self.loader.revert.eq(core.load_revert),
            core.load_status.eq(self.loader.status),
        ]
        step = self._steps()
        gained, product = self._operands(step)
        bit, step = self._bits(step, gained)
        row, factor, adds = self._rows(step, bit, product)
        self._outputs(row, factor, adds)
        self._sequence()

    # Time

    def _sequence(self) -> None:
        """From a sample to its result; the next enters as that leaves."""
        m, core = self.m, self.core
        leaving = core.out_ready if core.handshake == "global" else Const(0)
        done = Signal()
        m.d.comb += [
            core.in_ready.eq(~self.busy & (~core.out_valid | leaving)),
            self.accept.eq(core.in_valid & core.in_ready),
            done.eq(self._compared() if self.capacity.classes else self.ended[-1]),
        ]
        if not self.capacity.classes:
            bits = self.capacity.output_bits
            m.d.comb += core.out_data.eq(Cat(*(total[:bits] for total in self.totals)))
        with m.If(core.out_ready):
            m.d.sync += core.out_valid.eq(0)
        with m.If(self.accept):
            m.d.sync += [self.busy.eq(1), self.sample.eq(core.in_data)]
        with m.Elif(self.busy & done):
            m.d.sync += [self.busy.eq(0), core.out_valid.eq(1)]

    def _held(self, name: str, value: Value, *, reset_less: bool = True) -> Signal:
        """A value one rank later."""
        held = Signal(value.shape(), name=name, reset_less=reset_less)
        self.m.d.sync += held.eq(value)
        return held

    def _start(self, bank: Value, words: int) -> Value:
        """Where a bank begins in a memory with `words` for each."""
        return select(bank, [Const(k * words) for k in range(self.banks)])

    # Steps

    def _memory(self, name: str, section: int, width: int, address: Value) -> Signal:
        """A memory of all banks, read at a clock edge; the loader writes the spare one."""
        m, loader = self.m, self.loader
        depth, size = self.capacity.upload.sections[section]
        words, models = self.core.plan.words[section], self.capacity.models
        # The spare bank is empty at first, and so are the others behind their last word.
        used = (models - 1) * depth + self.core.plan.used[section]
        attrs = {DEFINED_WORDS: used}
        init = (words * models)[:used]
        memory = Memory(shape=width, depth=self.banks * depth, init=init, attrs=attrs)
        m.submodules[name] = memory
        read, write = memory.read_port(), memory.write_port()
        unused = 8 * (self.capacity.upload.word_bytes - size)
        m.d.comb += [
            read.addr.eq(address),
            write.addr.eq(loader.address + self._start(loader.spare, depth)),
            write.data.eq(loader.entry[unused:]),
            write.en.eq(loader.write & (loader.table == section)),
        ]
        return read.data

    def _steps(self) -> dict[str, Value]:
        """The fields of the step in rank 2. A program without an end stops at the last step."""
        m, depth = self.m, self.capacity.room.steps
        # The number of a step, from the end: nothing that is loaded can go on beyond it.
        place = Signal(range(self.banks * depth), name="step_place")
        left = Signal(range(depth + 1))
        word = self._memory("steps", 0, self.capacity.step_bits, place)
        fields, start = {}, 0
        for name, width in self.capacity.step_widths.items():
            fields[name] = word[start : start + width]
            start += width
        fetching = Signal()
        last = Signal()
        # Known a cycle late: the steps that were read behind the last are not taken.
        m.d.comb += last.eq(self.valid[0] & (fields["last"] | (left == 0)))
        m.d.sync += self.valid.eq(Cat(fetching & ~last, self.valid[:-1]))
        m.d.sync += self.ended.eq(Cat(last, self.ended[:-1]))
        with m.If(self.accept):
            m.d.sync += [
                fetching.eq(1),
                place.eq(self._start(self.bank, depth)),
                left.eq(depth),
            ]
        with m.Elif(fetching):
            m.d.sync += [place.eq(place + 1), left.eq(left - 1)]
            with m.If(last):
                m.d.sync += fetching.eq(0)
        kept = {name: self._held(f"{name}_2", value) for name, value in fields.items()}
        return kept | {"valid": self.valid[1]}

    def _later(self, step: dict[str, Value], rank: int) -> dict[str, Value]:
        """What is still wanted of a step, one rank later."""
        names = ("kind", "end", "store", "add", "address", "look", "threshold")
        kept = {name: self._held(f"{name}_{rank}", step[name]) for name in names}
        return kept | {"valid": self.valid[rank - 1]}

    # Operands

    def _operands(self, step: dict[str, Value]) -> tuple[Value, Value]:
        """What the sum gains, and the factor of a product: both in rank 5."""
        bits, lanes = self.capacity.code_bits, self.capacity.lanes
        codes = sliced(self.sample, bits)[: self.capacity.room.inputs]
        mask = Cat(step["width"] > place for place in range(bits))
        cut = self._held("code_3", select(step["source"], codes) & mask)
        low, high = self._held("low_3", step["low"]), self._held("high_3", step["high"])
        how = self._held("how_3", Cat(step["negative"], step["shift"], step["kind"] == Kind.CHUNK))
        above = self._held("above_3", step["above"])
        inside = Mux(cut > high, high, Mux(cut < low, low, cut))
        clipped = self._held("code_4", Mux(above, cut > low, inside)[: bits + 1])
        agreeing = (self._held("word_3", self._stored(step["source"])) ^ low) & high
        counted = self._held("count_4", _count(agreeing, lanes))
        how = self._held("how_4", how)
        shifted: Value = clipped
        # In stages, since Verilator's lint doesn't accept one shift by a variable here.
        for stage, chosen in enumerate(how[1:6]):
            # Less is moved out at the top than there are zeros.
            moved = Cat(Const(0, 1 << stage), shifted)[: bits + 1]
            shifted = Mux(chosen, moved, shifted)
        code = Mux(how[0], -shifted, shifted)
        product = self._held("factor_5", code.as_signed())
        gained = self._held("gained_5", Mux(how[6], counted, code))
        return gained, product

    def _stored(self, source: Value) -> Value:
        """A word of stored bits; the one that is being filled is written with every bit."""
        m, lanes, words = self.m, self.capacity.lanes, max(self.capacity.words, 2)
        # Distributed RAM, since it is read within the cycle: block RAM would take a rank more.
        memory = Memory(shape=lanes, depth=words, init=[], attrs={"ram_style": "distributed"})
        m.submodules.stored = memory
        self.storing = memory.write_port()
        read = memory.read_port(domain="comb")
        m.d.comb += read.addr.eq(source)
        return read.data

    # Bits

    def _bits(self, step: dict[str, Value], gained: Value) -> tuple[Signal, dict[str, Value]]:
        """The bit of each sum, in rank 6, where it is stored."""
        m = self.m
        for rank in range(3, 6):
            step = self._later(step, rank)
        held, added = (Signal(signed(self.capacity.sum_bits), name=n) for n in ("sum", "added"))
        m.d.comb += added.eq(held + gained)
        ends = step["end"] & (step["kind"] != Kind.PRODUCT)
        with m.If(self.accept):
            m.d.sync += held.eq(0)
        with m.Elif(step["valid"] & (step["kind"] != Kind.PRODUCT)):
            m.d.sync += held.eq(Mux(step["end"], 0, added))
        bit = self._held("bit_6", added >= step["threshold"].as_signed())
        ended = self._held("ended_6", ends)
        step = self._later(step, 6) | {"end": ended}
        self._store(step, bit)
        return bit, step

    def _store(self, step: dict[str, Value], bit: Value) -> None:
        m, lanes = self.m, self.capacity.lanes
        word = Signal(range(max(self.capacity.words, 2)))
        lane = Signal(lanes, init=1)
        filled = Signal(lanes)
        now = Signal(lanes)
        m.d.comb += [
            now.eq(filled | Mux(bit, lane, 0)),
            self.storing.addr.eq(word),
            self.storing.data.eq(now),
            self.storing.en.eq(step["valid"] & step["end"] & step["store"]),
        ]
        with m.If(self.accept):
            m.d.sync += [word.eq(0), lane.eq(1), filled.eq(0)]
        with m.Elif(self.storing.en):
            m.d.sync += [lane.eq(lane.rotate_left(1)), filled.eq(Mux(lane[-1], 0, now))]
            with m.If(lane[-1]):
                m.d.sync += word.eq(word + 1)

    # Rows

    def _rows(
        self, step: dict[str, Value], bit: Value, product: Value
    ) -> tuple[Value, Value, Value]:
        """The row of a step, its factor, and whether it counts: all in rank 9."""
        m, rows, unit = self.m, self.capacity.rows, 1 << self.capacity.code_bits
        address = Signal(MAX_ADDRESS_BITS)
        # As many rows as the bits of the address can choose from.
        span = Signal(MAX_ADDRESS_BITS + 1, init=1)
        following = Signal(range(self.banks * rows + 2))
        place = Signal.like(following, name="row_place")
        uses = step["valid"] & step["end"]
        whole = Cat(bit, address)
        multiplies = step["valid"] & (step["kind"] == Kind.PRODUCT)
        looks, adds = uses & step["look"], uses & step["add"]
        factor = self._held("factor_6", product)
        with m.If(self.accept):
            m.d.sync += [
                following.eq(self._start(self.bank, rows)),
                address.eq(0),
                span.eq(1),
            ]
        with m.Elif(looks):
            m.d.sync += [
                address.eq(0),
                span.eq(1),
                following.eq(following + (span << 1)),
            ]
        with m.Elif(uses & step["address"]):
            m.d.sync += [address.eq(whole), span.eq(span << 1)]
        with m.Elif(adds | multiplies):
            m.d.sync += following.eq(following + 1)
        m.d.sync += place.eq(following + Mux(looks, whole, 0))
        chosen = Mux(multiplies, factor, unit)
        counts = multiplies | looks | (adds & bit)
        factors, counted = chosen, counts
        for rank in range(7, 10):
            factors = self._held(f"factor_{rank}", factors)
            counted = self._held(f"counts_{rank}", counted, reset_less=False)
        word = self._memory("rows", 1, self.capacity.row_bits, place)
        return self._held("row_9", word), factors, counted

    # Outputs

    def _outputs(self, row: Value, factor: Value, counts: Value) -> None:
        m = self.m
        adding = self._held("adding_10", counts, reset_less=False)
        coefficients = sliced(row, COEFFICIENT_BITS)
        for j, (total, coefficient) in enumerate(zip(self.totals, coefficients, strict=True)):
            product = self._held(f"product{j}", coefficient.as_signed() * factor.as_signed())
            with m.If(self.accept):
                m.d.sync += total.eq(0)
            with m.Elif(adding):
                m.d.sync += total.eq(total + product)

    def _compared(self) -> Value:
        """The best score so far against the next, one in a cycle; equal ones leave the first."""
        m, core, count = self.m, self.core, self.capacity.room.outputs
        best = Signal(len(core.out_data), reset_less=True)
        highest = Signal.like(self.totals[0], name="highest")
        number = Signal(range(count + 1))
        comparing = Signal()
        # A score more in each cycle takes one comparator, where a tree would take one for each
        # class.
        m.d.comb += core.out_data.eq(best)
        score = select(number, self.totals).as_signed()
        done = comparing & (number == count - 1)
        with m.If(self.ended[-1]):
            m.d.sync += [comparing.eq(1), number.eq(0)]
        with m.Elif(comparing):
            m.d.sync += [number.eq(number + 1), comparing.eq(~done)]
            with m.If((number == 0) | (score > highest)):
                m.d.sync += [highest.eq(score), best.eq(number)]
        return done


def _count(bits: Value, width: int) -> Value:
    """How many bits are set."""
    found: list[Value] = [bits[place] for place in range(width)]
    while len(found) > 1:
        pairs = [low + high for low, high in zip(found[::2], found[1::2], strict=False)]
        found = pairs + found[len(found) // 2 * 2 :]
    return found[0]
