"""From a lowered model to the steps and rows of an SCM processor.

Nothing here knows an encoder or a kind of column: what depends on one input is taken as a function
of its code. Nodes of stored bits count them a word at a time. Bits of one step are computed again
where a family reads them, which takes no longer than to read them from where they are stored.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np

from scm_hw.errors import OptionError, UnsupportedModelError
from scm_hw.ir import AtLeast, Concat, Input, Ref, Table, operands, ranges
from scm_hw.ir.interp import values_given
from scm_hw.load.capacity import COEFFICIENT_BITS, MAX_ADDRESS_BITS, Capacity, Room
from scm_hw.load.lowered import Lowered, LoweredLayer
from scm_hw.load.pieces import Pieces, pieces_of
from scm_hw.load.steps import STORE_DISTANCE, Image, Kind, Row, Step

IDLE = Step()


def assemble(lowered: Lowered, capacity: Capacity) -> Image:
    """The image of a model in the formats of a processor.

    OptionError where it is larger than the processor, or a coefficient has no place in a row.
    """
    found = _Assembler(lowered, capacity).all()
    check_room(used_room(lowered, found), capacity)
    _check_rows(found)
    return found


def used_room(lowered: Lowered, image: Image, nodes: int = 1, layers: int = 1) -> Room:
    """What an image takes; nodes and layers are the model's to say."""
    stored = sum(step.store for step in image.steps)
    outputs = max(np.flatnonzero(np.any(image.rows, axis=0)).tolist(), default=0) + 1
    inputs = len(lowered.program.inputs)
    return Room(inputs, nodes, layers, outputs, len(image.steps), max(stored, 1))


def check_room(used: Room, capacity: Capacity) -> None:
    """OptionError, naming what is too small, where a model takes more room than there is."""
    for name, wanted in vars(used).items():
        there = getattr(capacity.room, name)
        if wanted > there:
            raise OptionError(
                f"model must fit a processor of {there:,} {name}, not {wanted:,}; train a smaller "
                f"one, or build a processor with --capacity of more {name}"
            )


def _check_rows(image: Image) -> None:
    if len(image.rows) > image.capacity.rows:
        raise OptionError(
            f"model must fit a processor of {image.capacity.rows:,} rows of coefficients, not "
            f"{len(image.rows):,}; build a processor with --capacity of more nodes"
        )
    values = np.array(image.rows, dtype=object)
    half = 1 << COEFFICIENT_BITS - 1
    if values.min() < -half or values.max() >= half:
        raise OptionError(
            f"coefficients must fit {COEFFICIENT_BITS} bits, not more; train with a stronger "
            "--ridge, or build the processor with fewer --frac-bits"
        )


class _Assembler:
    """One program, written in the order in which it runs."""

    def __init__(self, lowered: Lowered, capacity: Capacity) -> None:
        self.lowered, self.capacity, self.program = lowered, capacity, lowered.program
        self.steps: list[Step] = []
        self.rows: list[Row] = []
        self.places: dict[Ref, int] = {}
        # The step that stored into a word last.
        self.stored_at: dict[int, int] = {}
        self.inputs = {ref: number for number, ref in enumerate(self.program.inputs)}
        self.supports = _supports(lowered)
        self.functions: dict[Ref, Pieces | None] = {}
        self.node_of = {
            ref: (layer, number)
            for layer in lowered.layers
            for number, ref in enumerate(layer.nodes)
        }
        self.families = _families(lowered)
        self.known = ranges(self.program)
        self.coefficients = self._coefficients()
        self._find_functions()
        # Last, since the functions decide which nodes count stored bits.
        self.wanted = self._wanted()

    def all(self) -> Image:
        self._fixed_parts()
        self._layers()
        self._tables()
        self.steps[-1] = replace(self.steps[-1], last=1)
        return Image(self.capacity, tuple(self.steps), tuple(self.rows))

    # What there is to compute

    def _coefficients(self) -> dict[Ref, np.ndarray]:
        """The coefficients of nodes that any output reads by themselves; equal nodes are one."""
        found: dict[Ref, np.ndarray] = defaultdict(
            lambda: np.zeros(len(self.lowered.scores), np.int64)
        )
        for ref, weights in zip(
            self.lowered.readout.refs, self.lowered.readout.weights, strict=True
        ):
            if weights.any():
                found[ref] = found[ref] + weights
        return dict(found)

    def _wanted(self) -> set[Ref]:
        """Bits that are stored: those that a node counts."""
        read = set(self.coefficients) | {bit for bits in self.families for bit in bits}
        stored: set[Ref] = set()
        # Backwards, since a node is computed only where a later one, or an output, reads it.
        for layer in reversed(self.lowered.layers):
            for number, node in enumerate(layer.nodes):
                if (node in read or node in stored) and self._counts(node, layer):
                    stored |= {layer.inputs[i] for i in np.flatnonzero(layer.weights[number])}
        # Others that families read take several steps each.
        uses = Counter(bit for bits in self.families for bit in bits)
        return stored | {bit for bit, count in uses.items() if count > 1 and not self._is_one(bit)}

    def _is_one(self, bit: Ref) -> bool:
        """Whether a bit takes a single step."""
        found = self.functions.get(bit)
        return found is not None and len(found.pieces) <= 1

    def _counts(self, node: Ref, layer: LoweredLayer) -> bool:
        """Whether a node counts stored bits, rather than adding codes."""
        if self.functions.get(node) is not None:
            return False
        return self.known[layer.inputs[0]].high <= 1

    # Functions of one input

    def _find_functions(self) -> None:
        """The pieces of everything that depends on one input; None where they are too many."""
        wanted: dict[int, set[Ref]] = defaultdict(set)
        read = {ref for ref, _ in self._linear()}
        for layer in self.lowered.layers:
            read |= {*layer.inputs, *layer.nodes}
        for ref in read:
            if len(self.supports[ref]) <= 1:
                wanted[min(self.supports[ref], default=0)].add(ref)
        for number, refs in wanted.items():
            source = self.program.inputs[number]
            op = self.program.ops[source]
            assert isinstance(op, Input)
            codes = np.arange(op.high + 1, dtype=np.int64)
            values = values_given(self.program, {source: codes}, sorted(refs))
            for ref in refs:
                self.functions[ref] = pieces_of(np.broadcast_to(values[ref], codes.shape))

    def _function(self, ref: Ref) -> Pieces:
        found = self.functions[ref]
        if found is None:
            name = self.program.ops[ref].name or "an input"
            raise UnsupportedModelError(
                f"model must have codes of a few steps for --reload all, not the table {name!r}; "
                "leave --reload all out, or train without --category columns of many labels"
            )
        return found

    def _terms(self, ref: Ref, weight: int, kind: Kind) -> tuple[int, list[Step]]:
        """A weighted function of one input: its constant, and its steps."""
        found, source = self._function(ref), min(self.supports[ref], default=0)
        steps = [
            Step(
                kind,
                source,
                piece.width,
                piece.low,
                piece.high,
                piece.shift,
                negative=int(piece.sign * weight < 0),
                above=int(piece.above),
            )
            for piece in found.pieces
        ]
        return weight * found.constant, steps

    # Fixed parts

    def _linear(self) -> list[tuple[Ref, np.ndarray]]:
        terms = self.lowered.linear
        return [(ref, row) for ref, row in zip(terms.refs, terms.weights, strict=True) if row.any()]

    def _fixed_parts(self) -> None:
        """The codes that the outputs weigh, then what is always added."""
        # Python's integers: a constant times coefficients may have more than 64 bits.
        constants = np.array(self.lowered.constants, dtype=object)
        for ref, weights in self._linear():
            constant, steps = self._terms(ref, 1, Kind.PRODUCT)
            constants = constants + constant * weights.astype(object)
            for step in steps:
                self._put(step)
                self._row(weights)
        # A constant may be wider than a coefficient: its high part is multiplied by a power of two,
        # its low part by 1, in two rows.
        unit = self.capacity.code_bits
        whole, rest = 1 << unit, constants & (1 << unit) - 1
        for value, row in ((whole, constants >> unit), (1, rest)):
            self._put(Step(Kind.PRODUCT, low=value, high=value))
            self._row(row, least=value == whole)

    def _row(self, values: np.ndarray, *, least: bool = False) -> None:
        """A row of the model's scores, in their places among the processor's outputs."""
        row = [0] * self.capacity.room.outputs
        first = self.first_output
        for place, value in enumerate(values.tolist(), start=first):
            if place >= len(row):
                raise OptionError(
                    f"model must fit a processor of {len(row):,} outputs, not "
                    f"{first + len(values):,}; build a processor with --capacity of more outputs"
                )
            row[place] = int(value)
        if least and self.capacity.classes:
            # Classes that the model doesn't have never win.
            for place in range(first + len(values), len(row)):
                row[place] = -(1 << COEFFICIENT_BITS - 1)
        self.rows.append(tuple(row))

    @property
    def first_output(self) -> int:
        """Two classes of one score: the first has none, and wins where the score is 0 or less."""
        program = self.program
        return int(self.capacity.classes and isinstance(program.ops[program.outputs[0]], AtLeast))

    # Bits

    def _layers(self) -> None:
        done: set[Ref] = set()
        for layer in self.lowered.layers:
            for ref in dict.fromkeys((*layer.inputs, *layer.nodes)):
                add = ref in self.coefficients
                if ref in done or not (add or ref in self.wanted):
                    continue
                done.add(ref)
                self._bit(ref, store=int(ref in self.wanted), add=int(add))
                if add:
                    self._row(self._scaled(self.coefficients[ref]))

    def _bit(
        self, ref: Ref, *, store: int = 0, add: int = 0, address: int = 0, look: int = 0
    ) -> None:
        """The steps of a bit, and what is done with it."""
        steps = self._bit_steps(ref)
        for step in steps[:-1]:
            self._put(step)
        self._put(replace(steps[-1], end=1, store=store, add=add, address=address, look=look))
        if store:
            place = self.places[ref] = len(self.places)
            self.stored_at[place // self.capacity.lanes] = len(self.steps) - 1

    def _bit_steps(self, ref: Ref) -> list[Step]:
        lanes = self.capacity.lanes
        if ref in self.places:
            word, lane = divmod(self.places[ref], lanes)
            return [Step(Kind.CHUNK, word, high=1 << lane, threshold=1)]
        if ref not in self.node_of or self.functions.get(ref) is not None:
            constant, steps = self._terms(ref, 1, Kind.TERM)
            return self._compared(steps, 1 - constant)
        layer, number = self.node_of[ref]
        weights, threshold = layer.weights[number], layer.thresholds[number]
        if self._counts(ref, layer):
            return self._counted(layer, weights, threshold)
        found: list[Step] = []
        for i in np.flatnonzero(weights).tolist():
            constant, steps = self._terms(layer.inputs[i], int(weights[i]), Kind.TERM)
            threshold -= constant
            found += steps
        return self._compared(found, threshold)

    def _counted(self, layer: LoweredLayer, weights: np.ndarray, threshold: int) -> list[Step]:
        """A word of stored bits in each step, those of weight -1 inverted."""
        words: dict[int, list[int]] = defaultdict(lambda: [0, 0])
        for i in np.flatnonzero(weights).tolist():
            word, lane = divmod(self.places[layer.inputs[i]], self.capacity.lanes)
            words[word][0] |= int(weights[i] < 0) << lane
            words[word][1] |= 1 << lane
        steps = [
            Step(Kind.CHUNK, word, low=flips, high=mask)
            for word, (flips, mask) in sorted(words.items())
        ]
        # A bit of weight -1 counts inverted, which adds one to the sum.
        return self._compared(steps, threshold + int((weights < 0).sum()))

    def _compared(self, steps: list[Step], threshold: int) -> list[Step]:
        # Beyond every sum, or below, a threshold may be anything that fits.
        half = 1 << self.capacity.sum_bits - 1
        steps = steps or [IDLE]
        return [*steps[:-1], replace(steps[-1], threshold=min(max(threshold, -half), half - 1))]

    def _put(self, step: Step) -> None:
        if step.kind == Kind.CHUNK:
            # Bits that have just been stored can't be read yet; idle steps fill the time.
            ready = self.stored_at.get(step.source, -STORE_DISTANCE) + STORE_DISTANCE
            self.steps += [IDLE] * (ready - len(self.steps))
        self.steps.append(step)

    # Families

    def _tables(self) -> None:
        for bits, table in self.families.items():
            if len(bits) > MAX_ADDRESS_BITS:
                raise UnsupportedModelError(
                    f"families must have at most {MAX_ADDRESS_BITS} bits for --reload all, not "
                    f"{len(bits)}; leave --reload all out"
                )
            # The highest bit of the address first.
            for bit in reversed(bits[1:]):
                self._bit(bit, address=1)
            self._bit(bits[0], look=1)
            for row in table:
                self._row(self._scaled(row))

    def _scaled(self, row: np.ndarray) -> np.ndarray:
        """Coefficients without the zeros that a product with a code's unit gives them."""
        unit = self.capacity.code_bits
        assert not (row & (1 << unit) - 1).any()
        return row >> unit


def _supports(lowered: Lowered) -> list[frozenset[int]]:
    """The inputs that each operation depends on."""
    numbers = {ref: number for number, ref in enumerate(lowered.program.inputs)}
    found: list[frozenset[int]] = []
    for ref, op in lowered.program:
        own = {numbers[ref]} if ref in numbers else set()
        found.append(frozenset(own.union(*(found[r] for r in operands(op)))))
    return found


def _families(lowered: Lowered) -> dict[tuple[Ref, ...], np.ndarray]:
    """The rows of each family by its bits, with a column for every score."""
    found: dict[tuple[Ref, ...], np.ndarray] = {}
    program = lowered.program
    for ref, weights in zip(lowered.families.refs, lowered.families.weights, strict=True):
        table = program.ops[ref]
        assert isinstance(table, Table)
        index = program.ops[table.index]
        bits = index.operands if isinstance(index, Concat) else (table.index,)
        # Families of the same bits share one table.
        rows = found.setdefault(bits, np.zeros((1 << len(bits), len(weights)), np.int64))
        contents = np.array(table.contents, np.int64)
        rows[: len(contents)] += contents[:, None] * weights
    return found
