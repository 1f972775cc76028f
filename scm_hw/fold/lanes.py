"""The lanes of a folded layer: signs from a memory, sums, and the comparison that makes a node."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib.memory import Memory

from scm_hw.fold.machine import FoldedLayer
from scm_hw.fold.plan import BLOCK_DEPTH, COUNTED_BITS, Bank, Fold, FoldPlan


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


def total(m: Module, name: str, terms: list[Value]) -> Value:
    """The sum of unsigned terms, as a tree of two-operand additions."""
    level = 0
    while len(terms) > 1:
        sums: list[Value] = []
        for left, right in zip(terms[::2], terms[1::2], strict=False):
            # Synthesis would otherwise merge the tree into one wide compressor.
            node = Signal(
                max(len(left), len(right)) + 1,
                name=f"{name}_{level}_{len(sums)}",
                attrs={"keep": 1},
            )
            m.d.comb += node.eq(left + right)
            sums.append(node)
        terms = sums + terms[len(terms) // 2 * 2 :]
        level += 1
    return terms[0]


def counted(m: Module, name: str, bits: list[Value]) -> list[Value]:
    """Bits as counts of up to three of them, each count a function of few inputs."""
    found: list[Value] = []
    for start in range(0, len(bits), COUNTED_BITS):
        few = bits[start : start + COUNTED_BITS]
        if len(few) < COUNTED_BITS:
            found += few
            continue
        a, b, c = few
        count = Signal(2, name=f"{name}_count{start // COUNTED_BITS}")
        m.d.comb += count.eq(Cat(a ^ b ^ c, (a & b) | (c & (a | b))))
        found.append(count)
    return found


def sign_words(layer: FoldedLayer, fold: Fold, masked: bool) -> list[int]:
    """Memory words in the order of the steps: nodes in the high places, inputs in the low ones.

    Lanes beyond the last input have a sign that leaves their zero as it is.
    """
    words = []
    for first in range(0, layer.nodes, fold.pe):
        for start in range(0, layer.inputs, fold.simd):
            signs = present = (1 << fold.pe * fold.simd) - 1
            for pe, node in enumerate(range(first, min(first + fold.pe, layer.nodes))):
                place = pe * fold.simd
                chunk = slice(start, start + fold.simd)
                signs ^= _packed(~layer.signs[node, chunk]) << place
                if layer.present is not None:
                    present ^= _packed(~layer.present[node, chunk]) << place
            words.append(signs | present << (fold.pe * fold.simd) if masked else signs)
    return words


def _packed(bits: Sequence[bool]) -> int:
    return sum(1 << place for place, bit in enumerate(bits) if bit)


def threshold_words(layer: FoldedLayer, fold: Fold, width: int) -> list[int]:
    """One word for each group of nodes; nodes beyond the last are never looked at."""
    return [
        sum(t << (pe * width) for pe, t in enumerate(layer.thresholds[first : first + fold.pe]))
        for first in range(0, layer.nodes, fold.pe)
    ]


class Lanes:
    """The lanes that some layers share, as logic in a module.

    In a cycle with `issue` they take `inputs`, one chunk, of a group that begins with `first` and
    ends with `last`. Four cycles after its last chunk `done` is high with the group's `bits`.
    Memories are read in the order of the layers; `restart` goes back to their beginning.
    """

    def __init__(self, plan: FoldPlan, number: int) -> None:
        self.plan = plan
        self.number = number
        self.layers = plan.engines[number]
        self.fold = plan.folds[self.layers[0]]
        self.lane_bits = plan.machine.layers[self.layers[0]].lane_bits
        self.sum_bits = plan.sum_bits(self.layers)
        self.masked = plan.masked(self.layers)
        name = f"lanes{number}"
        self.issue = Signal(name=f"{name}_issue")
        self.first = Signal(name=f"{name}_first")
        self.last = Signal(name=f"{name}_last")
        self.inputs = Signal(self.fold.simd * self.lane_bits, name=f"{name}_inputs")
        self.restart = Signal(name=f"{name}_restart")
        self.done = Signal(name=f"{name}_done")
        self.bits = Signal(self.fold.pe, name=f"{name}_bits")

    def build(self, m: Module) -> None:
        """Add the logic to a module."""
        name, fold = f"lanes{self.number}", self.fold
        signs, thresholds = self._memories(m)
        inputs, weights = self._registered(m, signs[1])
        # Valid, first and last of a group, beside each rank of registers.
        flags = [Signal(3, name=f"{name}_flags{rank}") for rank in range(3)]
        m.d.sync += [
            flags[0].eq(Cat(self.issue, self.issue & self.first, self.issue & self.last)),
            flags[1].eq(flags[0]),
            flags[2].eq(flags[1]),
            self.done.eq(flags[2][2]),
        ]
        self._step(m, "group", thresholds[0], flags[2][2])
        for pe in range(fold.pe):
            chunk = self._chunk_sum(m, pe, inputs, weights)
            partial = Signal(len(chunk), name=f"{name}_partial{pe}", reset_less=True)
            held = Signal(self.sum_bits, name=f"{name}_sum{pe}", reset_less=True)
            m.d.sync += partial.eq(chunk)
            before = held & ~flags[2][1].replicate(self.sum_bits)
            with m.If(flags[2][0]):
                m.d.sync += held.eq(before + partial)
            threshold = thresholds[1].word_select(pe, self.sum_bits)
            m.d.comb += self.bits[pe].eq(held >= threshold)
        self._step(m, "word", signs[0], self.issue)

    def _registered(self, m: Module, words: Signal) -> tuple[Signal, Signal]:
        """A chunk of inputs with its signs, two cycles after `issue`.

        The second register of the signs is the block RAM's own.
        """
        name = f"lanes{self.number}"
        early = Signal.like(self.inputs, name=f"{name}_early", reset_less=True)
        inputs = Signal.like(self.inputs, name=f"{name}_inputs_q", reset_less=True)
        weights = Signal.like(words, name=f"{name}_signs_q", reset_less=True)
        m.d.sync += [early.eq(self.inputs), inputs.eq(early), weights.eq(words)]
        return inputs, weights

    def _memories(self, m: Module) -> tuple[tuple[Signal, Signal], tuple[Signal, Signal]]:
        machine, fold = self.plan.machine, self.fold
        layers = [machine.layers[k] for k in self.layers]
        banks = {bank.name: bank for bank in self.plan.banks}
        signs = [w for layer in layers for w in sign_words(layer, fold, self.masked)]
        bounds = [w for layer in layers for w in threshold_words(layer, fold, self.sum_bits)]
        return (
            constant_memory(m, banks[f"signs{self.number}"], signs),
            constant_memory(m, banks[f"thresholds{self.number}"], bounds),
        )

    def _step(self, m: Module, what: str, address: Signal, advance: Value) -> None:
        """An address that goes on by one where told, and back to 0 for a new sample."""
        place = Signal(len(address), name=f"lanes{self.number}_{what}")
        m.d.comb += address.eq(place)
        with m.If(self.restart):
            m.d.sync += place.eq(0)
        with m.Elif(advance):
            m.d.sync += place.eq(place + 1)

    def _chunk_sum(self, m: Module, pe: int, inputs: Signal, words: Signal) -> Value:
        simd, wide = self.fold.simd, self.lane_bits
        lanes: list[Value] = []
        for lane in range(simd):
            sign = words[pe * simd + lane].replicate(wide)
            value = ~(inputs.word_select(lane, wide) ^ sign)
            if self.masked:
                value &= words[(self.fold.pe + pe) * simd + lane].replicate(wide)
            lanes.append(value)
        name = f"lanes{self.number}_pe{pe}"
        return total(m, name, counted(m, name, lanes) if wide == 1 else lanes)
