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

    Sources are the signals and behind them the outputs. `widths` are the bits of a source's code,
    `rest` its code before a record begins. The code of an output is its bits from `shift` up;
    outputs that are fed back are held in [0, 2**(shift + width)).
    """

    signals: tuple[str, ...]
    taps: tuple[Tap, ...]
    widths: tuple[int, ...]
    rest: tuple[int, ...]
    shift: int

    @property
    def depth(self) -> int:
        """Rows of a record before the history is full."""
        return max(tap.lag for tap in self.taps)

    @property
    def feedback(self) -> bool:
        return any(tap.source >= len(self.signals) for tap in self.taps)

    @property
    def inputs(self) -> list[Range]:
        """A code of each signal, and the bit that begins a record."""
        codes = [Range(0, (1 << width) - 1) for width in self.widths[: len(self.signals)]]
        return [*codes, Range(0, 1)]

    def outputs(self, program: Program) -> list[Range]:
        """The outputs of the Program, and the bit that says that the history is full."""
        known = ranges(program)
        found = [known[ref] for ref in program.outputs]
        if self.feedback:
            found = [Range(0, self.top(j)) for j in range(len(found))]
        return [*found, Range(0, 1)]

    def top(self, output: int) -> int:
        """The largest integer of an output that is fed back."""
        return (1 << (self.shift + self.widths[len(self.signals) + output])) - 1

    def interval(self, latency: int, interval: int, handshake: str) -> int:
        """Edges from a sample to the next, given the latency with history and the core's own."""
        if not self.feedback:
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
            for source, width in enumerate(self.widths)
            if source >= len(self.signals)
        )
        return signals + outputs + self.depth.bit_length() + 2

    def interpret(self, program: Program, inputs: NDArray[np.integer]) -> Integers:
        """Outputs and flag (n, m + 1) of the samples (n, s + 1) of records, in their order."""
        rows = np.atleast_2d(np.asarray(inputs, dtype=np.int64))
        begins = check_first(rows[:, -1] == 1, len(rows))
        place = positions(begins)
        taps = np.empty((len(rows), len(self.taps)), dtype=np.int64)
        for column, (source, lag) in enumerate(self.taps):
            if source < len(self.signals):
                taps[:, column] = lagged(rows[:, source], place, lag, self.rest[source])
        found = self._free_run(program, taps, begins) if self.feedback else interpret(program, taps)
        complete = (place >= self.depth).astype(np.int64)
        return np.concatenate([found, complete[:, None]], axis=1)

    def tap_rows(self, program: Program, inputs: Integers) -> Integers:
        """What enters the Program in each row, its own outputs included."""
        rows = np.atleast_2d(np.asarray(inputs, dtype=np.int64))
        begins = check_first(rows[:, -1] == 1, len(rows))
        place = positions(begins)
        outputs = self.interpret(program, rows) if self.feedback else None
        taps = np.empty((len(rows), len(self.taps)), dtype=np.int64)
        for column, (source, lag) in enumerate(self.taps):
            own = source - len(self.signals)
            values = rows[:, source] if outputs is None or own < 0 else self._code(outputs[:, own])
            taps[:, column] = lagged(values, place, lag, self.rest[source])
        return taps

    def _free_run(self, program: Program, taps: Integers, begins: NDArray[np.bool_]) -> Integers:
        """Records side by side, a row of each at a time."""
        begin = np.flatnonzero(begins)
        length = np.diff(np.append(begin, len(taps)))
        tops = [self.top(j) for j in range(len(program.outputs))]
        found = np.zeros((len(taps), len(tops)), dtype=np.int64)
        own = [
            (i, source - len(self.signals), lag, self.rest[source])
            for i, (source, lag) in enumerate(self.taps)
            if source >= len(self.signals)
        ]
        for k in range(int(length.max(initial=0))):
            now = begin[length > k] + k
            for column, output, lag, rest in own:
                taps[now, column] = rest if lag > k else self._code(found[now - lag, output])
            found[now] = np.clip(interpret(program, taps[now]), 0, tops)
        return found

    def _code(self, output: Integers) -> Integers:
        return output >> self.shift


def records_of_model(model: Model, built: Model, fixed: FixedPoint) -> Records | None:
    """The history of a model, `built` (its machine in the units of the ports) behind it."""
    memory = model.memory
    if memory is None:
        return None
    sources = len(memory.signals) + (built.outputs if memory.feedback else 0)
    widths, rest = [0] * sources, [0] * sources
    # One row in which every tap holds the rest of its source; taps of a source have equal codes.
    at_rest = np.array([[memory.rest[tap.source] for tap in memory.taps]])
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
