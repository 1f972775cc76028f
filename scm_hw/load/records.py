"""Machines with memory: which codes of the past enter the machine, and what whole records mean.

A Program sees one row of taps. Around it stands a history: it takes a sample of each signal at a
time, with a bit that says whether a record begins, and hands the Program the codes of now and of
earlier rows. A machine that sees its own outputs gets their top bits back as codes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scm_hw.errors import OptionError
from scm_hw.ir import Program, Range, ranges
from scm_hw.ir.interp import interpret
from scm_model import Model
from scm_model.fixed_point import FixedPoint, quantise
from scm_model.memory import Tap, check_first, lagged, positions
from scm_model.reference import codes

Integers = NDArray[np.int64]

#: The ports of the bit that begins a record, and of the bit that says that the history is full.
FIRST, COMPLETE = "first", "complete"


@dataclass(frozen=True, eq=False)
class Records:
    """A history in integers: the taps of a Program's inputs, by source.

    Sources are the signals, behind them the outputs, and from `nodes_from` on the bits of nodes,
    which the Program gives behind its outputs. `widths` are the bits of a source's code, `rest` its
    code before a record begins. The code of an output is its bits from `shift` up; outputs that are
    fed back are held in [0, 2**(shift + width)). The code of a bit is the bit in all of its places.
    """

    signals: tuple[str, ...]
    taps: tuple[Tap, ...]
    widths: tuple[int, ...]
    rest: tuple[int, ...]
    shift: int
    nodes_from: int
    washout: int = 0

    @property
    def depth(self) -> int:
        """Rows of a record before the history is full."""
        return max(self.washout, *(tap.lag for tap in self.taps))

    @property
    def feedback(self) -> bool:
        """Whether outputs come back."""
        return any(len(self.signals) <= tap.source < self.nodes_from for tap in self.taps)

    @property
    def nodes(self) -> int:
        """How many nodes give their bits to the history; their places are those in the layer."""
        return max(0, len(self.widths) - self.nodes_from)

    @property
    def closed(self) -> bool:
        """Whether a sample needs what the one before it gave."""
        return self.feedback or self.nodes > 0

    @property
    def inputs(self) -> list[Range]:
        """A code of each signal, and the bit that begins a record."""
        codes = [Range(0, (1 << width) - 1) for width in self.widths[: len(self.signals)]]
        return [*codes, Range(0, 1)]

    def outputs(self, program: Program) -> list[Range]:
        """The outputs of the Program, and the bit that says that the history is full."""
        known = ranges(program)
        found = [known[ref] for ref in program.outputs[: len(program.outputs) - self.nodes]]
        if self.feedback:
            found = [Range(0, self.top(j)) for j in range(len(found))]
        return [*found, Range(0, 1)]

    def top(self, output: int) -> int:
        """The largest integer of an output that is fed back."""
        return (1 << (self.shift + self.widths[len(self.signals) + output])) - 1

    def interval(self, latency: int, interval: int, handshake: str) -> int:
        """Edges from a sample to the next, given the latency with history and the core's own."""
        if not self.closed:
            return interval
        # With a registered ready, the sample after a result enters an edge later.
        return max(latency + (handshake == "skid"), interval)

    def longest(self, source: int) -> int:
        """The largest lag at which a source is read."""
        return max((tap.lag for tap in self.taps if tap.source == source), default=0)

    @property
    def flip_flops(self) -> int:
        """The registers of the history itself, samples of now included."""
        signals = sum(
            width * (self.longest(source) + 1)
            for source, width in enumerate(self.widths[: len(self.signals)])
        )
        outputs = sum(
            width * self.longest(source)
            for source, width in enumerate(self.widths[: self.nodes_from])
            if source >= len(self.signals)
        )
        return signals + outputs + self.nodes + self.depth.bit_length() + 2

    def interpret(self, program: Program, inputs: NDArray[np.integer]) -> Integers:
        """Outputs and flag (n, m + 1) of the samples (n, s + 1) of records, in their order."""
        rows = np.atleast_2d(np.asarray(inputs, dtype=np.int64))
        begins = check_first(rows[:, -1] == 1, len(rows))
        place = positions(begins)
        taps = self._signal_taps(rows, place)
        found = self._run(program, taps, begins) if self.closed else interpret(program, taps)
        complete = (place >= self.depth).astype(np.int64)
        outputs = found[:, : found.shape[1] - self.nodes]
        return np.concatenate([outputs, complete[:, None]], axis=1)

    def tap_rows(self, program: Program, inputs: Integers) -> Integers:
        """What enters the Program in each row, its own outputs and bits included."""
        rows = np.atleast_2d(np.asarray(inputs, dtype=np.int64))
        begins = check_first(rows[:, -1] == 1, len(rows))
        taps = self._signal_taps(rows, positions(begins))
        if self.closed:
            self._run(program, taps, begins)
        return taps

    def _signal_taps(self, rows: Integers, place: NDArray[np.intp]) -> Integers:
        """Rows of taps, of which those of signals are there."""
        taps = np.empty((len(rows), len(self.taps)), dtype=np.int64)
        for column, (source, lag) in enumerate(self.taps):
            if source < len(self.signals):
                taps[:, column] = lagged(rows[:, source], place, lag, self.rest[source])
        return taps

    def _run(self, program: Program, taps: Integers, begins: NDArray[np.bool_]) -> Integers:
        """What the Program gives, row by row of records side by side; fills in the other taps."""
        begin = np.flatnonzero(begins)
        length = np.diff(np.append(begin, len(taps)))
        found = np.zeros((len(taps), len(program.outputs)), dtype=np.int64)
        for k in range(int(length.max(initial=0))):
            # Records don't depend on each other: row `k` of all of them is computed at once.
            now = begin[length > k] + k
            for column, (source, lag) in enumerate(self.taps):
                if source >= len(self.signals):
                    # Before the record begins, the index is only kept inside; the rest code is
                    # taken.
                    back = now - min(lag, k)
                    taps[now, column] = (
                        self.rest[source] if lag > k else self._code(found[back], source)
                    )
            found[now] = self._held(interpret(program, taps[now]))
        return found

    def _held(self, found: Integers) -> Integers:
        if not self.feedback:
            return found
        tops = [self.top(j) for j in range(found.shape[1] - self.nodes)]
        held: Integers = np.clip(found[:, : len(tops)], 0, tops)
        return np.concatenate([held, found[:, len(tops) :]], axis=1)

    def _code(self, found: Integers, source: int) -> Integers:
        """The code of an output or of a bit, of what the Program gave."""
        outputs = found.shape[1] - self.nodes
        if source >= self.nodes_from:
            bits: Integers = found[:, outputs + source - self.nodes_from]
            return bits * ((1 << self.widths[source]) - 1)
        return found[:, source - len(self.signals)] >> self.shift


def records_of_model(model: Model, built: Model, fixed: FixedPoint) -> Records | None:
    """The history of a model, `built` (its machine in the units of the ports) behind it."""
    memory = model.memory
    if memory is None:
        return None
    outside = len(memory.signals) + built.outputs
    sources = outside + built.bits if built.bits else outside
    widths, rest = [0] * sources, [0] * sources
    # One row in which every tap holds the rest of its source; taps of a source have equal codes.
    before = [*memory.rest, *[0.0] * built.bits]
    at_rest = np.array([[before[tap.source] for tap in memory.taps]])
    code = codes(built, at_rest)[0].tolist()
    for place, tap in enumerate(memory.taps):
        widths[tap.source], rest[tap.source] = built.codes[place].bits, code[place]
    # An output without taps is held in the same range as those that have them.
    assert built.input_bits is not None
    widths = [width or built.input_bits for width in widths]
    return Records(
        memory.signals,
        memory.taps,
        tuple(widths),
        tuple(rest),
        fixed.grid_bits - built.input_bits,
        outside,
        memory.washout,
    )


def least_bits(
    model: Model,
    output_bits: int | None = None,
    *,
    output_units: bool = False,
    handshake: str = "global",
) -> int:
    """Fraction bits that the outputs must have: as many as a code, where they come back as one.

    OptionError where the options of a build can't go with it.
    """
    memory, bits = model.memory, model.input_bits
    if memory is not None and memory.recurrent and handshake == "none":
        raise OptionError(
            "handshake must be global or skid for a machine whose nodes see their own bits, which "
            "can't take a sample in every cycle, not none"
        )
    if memory is None or not memory.feedback:
        return 0
    assert bits is not None
    if output_units:
        raise OptionError(
            "output units must be left out for a machine that sees its own outputs, which come "
            "back as codes of the training range; scale them outside"
        )
    if handshake == "none":
        raise OptionError(
            "handshake must be global or skid for a machine that sees its own outputs, which "
            "can't take a sample in every cycle, not none"
        )
    if output_bits is not None and output_bits < bits:
        raise OptionError(
            f"output bits must be at least {bits} for a machine that sees its own outputs as "
            f"codes of {bits} bits, not {output_bits}"
        )
    return bits


def with_fraction_bits(built: Model, fixed: FixedPoint, least: int) -> FixedPoint:
    """The same coefficients with more bits where the outputs would have fewer than `least`."""
    missing = least - fixed.grid_bits
    return fixed if missing <= 0 else quantise(built, fixed.frac_bits + missing)


def record_bit(signals: Sequence[str]) -> str:
    """What the input that begins a record is called."""
    name = FIRST
    while name in signals:
        name += "_row"
    return name
