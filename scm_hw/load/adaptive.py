"""A machine that learns on the chip: its hidden bits beside its scores, and more fields.

The trained machine stays as it is. Behind it stands a readout of changes, whose meaning is
`scm_model.adaptation`; both together are what an adaptive core answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from scm_hw.ir import Program, Range, ranges
from scm_hw.ir.interp import interpret
from scm_hw.load.lowered import Lowered
from scm_model import Model
from scm_model.adaptation import (
    TARGET_BITS,
    UPDATE_DELAY,
    Adaptation,
    AdaptiveReadout,
    AdaptSettings,
    Controls,
    adaptation_for,
    evaluation_errors,
)
from scm_model.fixed_point import FixedPoint

Integers = NDArray[np.int64]

#: Fields of a sample behind its inputs, one bit each, but for the targets before them and the age.
AGE, LEARN, FREEZE, RESTART = "age", "learn", "freeze", "restart"
#: Fields of a result behind its outputs.
ERROR, DRIFT = "error", "drift"


@dataclass(frozen=True, eq=False)
class Adaptive:
    """The scores of `program` come first among its outputs, then the hidden bits.

    `places` are those of the bits that address each family's table, the first the lowest; without
    families every bit is of a node.
    """

    program: Program
    adaptation: Adaptation
    places: tuple[tuple[int, ...], ...]

    @property
    def scores(self) -> list[Range]:
        known = ranges(self.program)
        return [known[ref] for ref in self.program.outputs[: self.adaptation.outputs]]

    @property
    def samples(self) -> list[Range]:
        """The inputs of the machine itself."""
        known = ranges(self.program)
        return [known[ref] for ref in self.program.inputs]

    @property
    def controls(self) -> list[Range]:
        """Targets, age where there can be one, learn, freeze and restart."""
        own = self.adaptation
        targets = [Range(*own.target_range)] * own.outputs
        age = [Range(0, (1 << own.most_age.bit_length()) - 1)] if own.most_age else []
        return [*targets, *age, *[Range(0, 1)] * 3]

    @property
    def inputs(self) -> list[Range]:
        return [*self.samples, *self.controls]

    @property
    def corrections(self) -> Range:
        """What the changes can add to an answer."""
        own = self.adaptation
        # All terms at their ends, rounded as their sum is.
        half, most = 1 << own.guard_bits >> 1, own.terms << (own.width - 1)
        return Range((half - most) >> own.guard_bits, (half + most) >> own.guard_bits)

    @property
    def answers(self) -> list[Range]:
        by = self.corrections
        return [Range(low + by.low, high + by.high) for low, high in self.scores]

    @property
    def errors(self) -> list[Range]:
        low, high = self.adaptation.target_range
        return [Range(low - reach.high, high - reach.low) for reach in self.answers]

    @property
    def most_error(self) -> int:
        """The greatest sum of the absolute errors of all outputs."""
        return sum(max(-low, high) for low, high in self.errors)

    @property
    def outputs(self) -> list[Range]:
        """Answers, the mean of the absolute error, and the drift flag."""
        return [*self.answers, Range(0, self.most_error), Range(0, 1)]

    def split(self, rows: Integers) -> tuple[Integers, Controls]:
        """The inputs of the machine, and what else comes with each sample."""
        own, first = self.adaptation, len(self.program.inputs)
        machine, targets = rows[:, :first], rows[:, first : first + own.outputs]
        age = np.zeros(len(rows), dtype=np.int64)
        if own.most_age:
            age = rows[:, first + own.outputs]
        learn, freeze, restart = (rows[:, -3:] == 1).T
        return machine, Controls(targets, age, learn, freeze, restart)

    def join(self, machine: Integers, controls: Controls) -> Integers:
        """Rows as they enter the core."""
        age = [controls.age[:, None]] if self.adaptation.most_age else []
        flags = np.stack([controls.learn, controls.freeze, controls.restart], axis=1)
        return np.hstack([machine, controls.targets, *age, flags.astype(np.int64)])

    def interpret(self, rows: NDArray[np.integer]) -> Integers:
        """Answers and flags (n, m + 2) of samples in order, after a reset."""
        machine, controls = self.split(np.atleast_2d(np.asarray(rows, dtype=np.int64)))
        found = interpret(self.program, machine)
        scores, bits = np.split(found, [self.adaptation.outputs], axis=1)
        hidden = bits
        if self.places:
            columns = [
                (bits[:, list(own)] << np.arange(len(own))).sum(axis=1) for own in self.places
            ]
            hidden = np.stack(columns, axis=1)
        answers = AdaptiveReadout(self.adaptation).run(hidden, scores, controls)
        flags = np.stack([answers.error, answers.drift], axis=1)
        return np.hstack([answers.outputs, flags])


def adaptive(
    model: Model, lowered: Lowered, fixed: FixedPoint, settings: AdaptSettings
) -> Adaptive:
    """The machine with its hidden bits laid open, and how its readout learns."""
    adaptation = adaptation_for(model, fixed, settings, evaluation_errors(model, fixed))
    program = lowered.program
    if model.families is None:
        bits = lowered.readout.refs
        places: tuple[tuple[int, ...], ...] = ()
    else:
        last = lowered.layers[-1].nodes
        supports = [
            tuple(last[place] for place in support if place >= 0)
            for support in model.families.supports.tolist()
        ]
        # Families may have bits in common; each leaves the program once.
        bits = tuple(dict.fromkeys(ref for refs in supports for ref in refs))
        order = {ref: place for place, ref in enumerate(bits)}
        places = tuple(tuple(order[ref] for ref in refs) for refs in supports)
    laid_open = replace(program, outputs=(*program.outputs, *bits))
    return Adaptive(laid_open, adaptation, places)


def without_learning(found: Adaptive, machine: Integers) -> Integers:
    """Rows that are answered and nothing is learned from."""
    zeros = np.zeros((len(machine), len(found.controls)), dtype=np.int64)
    return np.hstack([machine, zeros])


def learning_stream(found: Adaptive, machine: Integers, seed: int) -> Integers:
    """Rows of inputs (n, d) with targets for most of them, of all ages and some of them far off.

    It restarts now and then, rarely enough for tables to be cleared and to learn in between.
    """
    own, rng, count = found.adaptation, np.random.default_rng(seed), len(machine)
    targets = rng.integers(*own.target_range, (count, own.outputs), endpoint=True)
    # Most are in the range of training, or all changes would soon be at their ends.
    targets >>= np.where(rng.random(count) < 0.2, 0, TARGET_BITS + 1)[:, None]
    age = rng.integers(0, 1 << own.most_age.bit_length(), count)
    restart = rng.random(count) < 1 / (3 * (own.cleared_in + 2 * UPDATE_DELAY))
    restart[0] = True
    learn, freeze = rng.random(count) < 0.8, rng.random(count) < 0.1
    return found.join(machine, Controls(targets, age, learn, freeze, restart))


def control_names(signals: Sequence[str], targets: Sequence[str], most_age: int) -> list[str]:
    """What the fields behind the inputs are called, unlike any of these."""
    age = [AGE] if most_age else []
    found = list(signals)
    for name in (*(f"target_{name}" for name in targets), *age, LEARN, FREEZE, RESTART):
        while name in found:
            name += "_"
        found.append(name)
    return found[len(signals) :]
