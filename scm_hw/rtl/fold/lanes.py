"""The lanes of a folded layer: signs from a memory, sums, and the comparison that makes a node."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from amaranth.hdl import Cat, Const, Module, Mux, Shape, Signal, Value
from amaranth.lib.memory import Memory

from scm_hw.fold.engines import Engine
from scm_hw.fold.memories import BLOCK_DEPTH, Bank
from scm_hw.fold.trees import COUNTED_BITS
from scm_hw.fold.words import sign_words, threshold_words


def constant_memory(m: Module, bank: Bank, words: Sequence[int]) -> tuple[Signal, Signal]:
    """A read-only memory as a submodule: its address, and its data one cycle later."""
    assert len(words) == bank.depth
    attrs = {"rom_style": "block"} if bank.depth > BLOCK_DEPTH else {}
    # An address has at least one bit: Verilog knows no signals without.
    depth = max(bank.depth, 2)
    memory = Memory(shape=bank.width, depth=depth, init=words, attrs=attrs)
    m.submodules[f"{bank.name}_rom"] = memory
    port = memory.read_port()
    return port.addr, port.data


def select(index: Value, words: Sequence[Value]) -> Value:
    """The word of that index; an index beyond the last gives any of them.

    An expression and not a `Switch`: in Verilog that would be a process, which event-driven
    simulators leave undefined until one of the registers it reads first changes.
    """
    chosen = list(words)
    for bit in index[: (len(words) - 1).bit_length()]:
        pairs = [Mux(bit, high, low) for low, high in zip(chosen[::2], chosen[1::2], strict=False)]
        chosen = pairs + chosen[len(chosen) // 2 * 2 :]
    return chosen[0]


def sliced(value: Value, width: int) -> list[Value]:
    """A value cut into words, the first from its lowest bits; the last may be shorter."""
    return [value[start : start + width] for start in range(0, len(value), width)]


def extended(bits: Value, width: int) -> Value:
    """Non-negative bits with zeros above them."""
    return bits if len(bits) == width else Cat(bits, Const(0, width - len(bits)))


def total(
    m: Module, name: str, terms: list[Value], cuts: frozenset[int], *, signed: bool = False
) -> Value:
    """The sum of terms of one signedness, as a tree of additions with registers before its cuts."""
    level = 0
    while len(terms) > 1:
        if level in cuts:
            terms = _ranked(m, f"{name}_{level}", terms)
        sums: list[Value] = []
        for left, right in zip(terms[::2], terms[1::2], strict=False):
            # Synthesis would otherwise merge the tree into one wide compressor.
            node = Signal(
                Shape(max(len(left), len(right)) + 1, signed),
                name=f"{name}_{level}_{len(sums)}",
                attrs={"keep": 1},
            )
            m.d.comb += node.eq(left + right)
            sums.append(node)
        terms = sums + terms[len(terms) // 2 * 2 :]
        level += 1
    return terms[0]


def _ranked(m: Module, name: str, terms: list[Value]) -> list[Value]:
    held = [
        Signal(term.shape(), name=f"{name}_q{i}", reset_less=True) for i, term in enumerate(terms)
    ]
    m.d.sync += [register.eq(term) for register, term in zip(held, terms, strict=True)]
    return list(held)


def counted(m: Module, name: str, bits: Value) -> list[Value]:
    """Bits as counts of three of them, one from each third, and the bits that are left.

    Each count is a function of few inputs. All are made at once: large cores are written and
    simulated in a fraction of the time that single bits take.
    """
    third = len(bits) // COUNTED_BITS
    if not third:
        return list(bits)
    a, b, c = sliced(bits, third)[:COUNTED_BITS]
    ones, twos = Signal(third, name=f"{name}_ones"), Signal(third, name=f"{name}_twos")
    m.d.comb += [ones.eq(a ^ b ^ c), twos.eq((a & b) | (c & (a | b)))]
    return [Cat(low, high) for low, high in zip(ones, twos, strict=True)] + list(
        bits[COUNTED_BITS * third :]
    )


class Lanes:
    """The lanes that some layers share, as logic in a module.

    In a cycle with `issue` they take `inputs`, one chunk, of a group that begins with `first` and
    ends with `last`. `drain` cycles after its last chunk `done` is high with the group's `bits`.
    Memories are read in the order of the layers; `restart` goes back to their beginning.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.name = name = f"lanes{engine.number}"
        self.issue = Signal(name=f"{name}_issue")
        self.first = Signal(name=f"{name}_first")
        self.last = Signal(name=f"{name}_last")
        self.inputs = Signal(engine.fold.simd * engine.lane_bits, name=f"{name}_inputs")
        self.restart = Signal(name=f"{name}_restart")
        self.done = Signal(name=f"{name}_done")
        self.bits = Signal(engine.fold.pe, name=f"{name}_bits")

    def build(self, m: Module) -> None:
        """Add the logic to a module."""
        name, sum_bits = self.name, self.engine.sum_bits
        signs, thresholds = self._memories(m)
        inputs, weights = self._registered(m, signs[1])
        # Valid, first and last of a group, beside each rank of registers.
        flags = [Signal(3, name=f"{name}_flags{rank}") for rank in range(self.engine.drain - 1)]
        issued = Cat(self.issue, self.issue & self.first, self.issue & self.last)
        m.d.sync += [after.eq(before) for before, after in pairwise([issued, *flags])]
        valid, first, last = flags[-1]
        m.d.sync += self.done.eq(last)
        self._step(m, "group", thresholds[0], last)
        for pe in range(self.engine.fold.pe):
            chunk = self._chunk_sum(m, pe, inputs, weights)
            partial = Signal(len(chunk), name=f"{name}_partial{pe}", reset_less=True)
            held = Signal(sum_bits, name=f"{name}_sum{pe}", reset_less=True)
            m.d.sync += partial.eq(chunk)
            # The first chunk of a group adds to 0: clearing the accumulator would take a cycle.
            before = held & ~first.replicate(sum_bits)
            with m.If(valid):
                m.d.sync += held.eq(before + partial)
            threshold = thresholds[1].word_select(pe, sum_bits)
            m.d.comb += self.bits[pe].eq(held >= threshold)
        self._step(m, "word", signs[0], self.issue)

    def _registered(self, m: Module, words: Signal) -> tuple[Signal, Signal]:
        """A chunk of inputs with its signs, two cycles after `issue`.

        The second register of the signs is the block RAM's own.
        """
        name = self.name
        early = Signal.like(self.inputs, name=f"{name}_early", reset_less=True)
        inputs = Signal.like(self.inputs, name=f"{name}_inputs_q", reset_less=True)
        weights = Signal.like(words, name=f"{name}_signs_q", reset_less=True)
        m.d.sync += [early.eq(self.inputs), inputs.eq(early), weights.eq(words)]
        return inputs, weights

    def _memories(self, m: Module) -> tuple[tuple[Signal, Signal], tuple[Signal, Signal]]:
        engine = self.engine
        return (
            constant_memory(m, engine.signs, sign_words(engine)),
            constant_memory(m, engine.thresholds, threshold_words(engine)),
        )

    def _step(self, m: Module, what: str, address: Signal, advance: Value) -> None:
        """An address that counts up where it advances, and is 0 again for a new sample."""
        place = Signal(len(address), name=f"{self.name}_{what}")
        m.d.comb += address.eq(place)
        with m.If(self.restart):
            m.d.sync += place.eq(0)
        with m.Elif(advance):
            m.d.sync += place.eq(place + 1)

    def _chunk_sum(self, m: Module, pe: int, inputs: Signal, words: Signal) -> Value:
        fold, wide = self.engine.fold, self.engine.lane_bits
        simd = fold.simd
        # A set sign lets the input pass, a clear one inverts it (`fold.machine` has the constant).
        value = ~(inputs ^ _spread(words.word_select(pe, simd), wide))
        if self.engine.masked:
            value &= _spread(words.word_select(fold.pe + pe, simd), wide)
        name = f"{self.name}_pe{pe}"
        lanes = Signal(simd * wide, name=f"{name}_lanes")
        m.d.comb += lanes.eq(value)
        terms = counted(m, name, lanes) if wide == 1 else sliced(lanes, wide)
        return total(m, name, terms, self.engine.tree.cuts)


def _spread(bits: Value, width: int) -> Value:
    """Each bit as often as a lane is wide."""
    return bits if width == 1 else Cat(*(bit.replicate(width) for bit in bits))
