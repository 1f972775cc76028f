"""The best trees under a budget of LUTs: chosen on validation rows, counted by Yosys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from time import perf_counter, process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.trees.boosting import Boosted, Boosting, boost
from bench.trees.codes import Codes
from bench.trees.cost import estimate, estimates
from bench.trees.icarus import simulate
from bench.trees.quantised import Quantised, quantise
from bench.trees.verilog import NAME, to_verilog
from scm_hw.tools.synthesis import synthesise

__all__ = ["GRIDS", "Grid", "Part", "best_under", "score"]

#: Designs synthesised for a budget at the most.
ATTEMPTS = 4
#: A design that leaves this share of the budget is followed by a larger one.
SLACK = 0.07
#: Rows on which the Verilog is compared with its meaning.
CHECKED_ROWS = 500


@dataclass(frozen=True)
class Grid:
    """What is tried: all combinations, and of each the first rounds of several numbers."""

    depths: Sequence[int] = (2, 3, 4, 5)
    rates: Sequence[float] = (0.1, 0.3)
    feature_bits: Sequence[int] = (4, 6, 8, 11)
    class_leaf_bits: Sequence[int] = (2, 3, 4, 5)
    leaf_bits: Sequence[int] = (4, 5, 6, 7, 8)
    most_trees: int = 800
    #: Numbers of rounds grow by this factor.
    step: float = 1.25
    #: Of few rows the mean over several validation parts decides; of these at most so many.
    validations: int = 3
    #: Larger tables are searched on so many of their training rows.
    search_rows: int = 20_000

    def leaf_bits_of(self, task: str) -> Sequence[int]:
        return self.leaf_bits if task == "regression" else self.class_leaf_bits

    def rounds(self, outputs: int) -> list[int]:
        """From 2 on, up to the most there may be."""
        most = min(400, self.most_trees // outputs)
        steps = np.unique(np.rint(2 * self.step ** np.arange(40)).astype(int))
        return [int(n) for n in steps if n <= most]


#: `coarse` takes a fiftieth of the time of `full`, so that all tables are done in an afternoon.
GRIDS = {
    "quick": Grid(
        depths=(2, 3), rates=(0.3,), feature_bits=(6,), class_leaf_bits=(3,), leaf_bits=(5,),
        most_trees=80, search_rows=5_000,
    ),
    "coarse": Grid(
        depths=(3, 5), feature_bits=(5, 8), class_leaf_bits=(3, 5), leaf_bits=(5, 7), step=1.6,
        validations=1, search_rows=10_000,
    ),
    "full": Grid(),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Part:
    """Inputs and targets."""

    X: NDArray
    y: NDArray


@dataclass(frozen=True)
class Candidate:
    """What decides a design, its score on validation rows, and its estimate."""

    settings: Boosting
    rounds: int
    leaf_bits: int
    score: float
    estimate: int


@dataclass(frozen=True)
class Built:
    """A candidate trained on all known rows, synthesised and checked."""

    candidate: Candidate
    rounds: int
    found: Mapping[str, Any]


def score(task: str, predicted: NDArray, y: NDArray) -> float:
    """The share of right classes; or RMSE over the standard deviation of the targets."""
    if task == "regression":
        return float(np.sqrt(np.mean((predicted - y) ** 2)) / np.std(y))
    return float(np.mean(predicted == y))


def best_under(
    budgets: Sequence[int],
    task: str,
    pairs: Sequence[tuple[Part, Part]],
    test: Part,
    grid: Grid,
    seed: int,
) -> dict[str, Any]:
    """For each budget the design with the best validation score among those that keep it.

    `pairs` are the same known rows parted into training and validation rows in one way or in
    several: with few rows the mean of several scores chooses better. A chosen candidate is trained
    again on all known rows. The estimate is scaled by what the last synthesis gave for its own.
    """
    start = process_time()
    pairs = pairs[: grid.validations]
    candidates = _candidates(task, pairs, grid, seed)
    seconds = process_time() - start
    known = Part(*(np.concatenate(part) for part in zip(*map(_arrays, pairs[0]), strict=True)))
    builder = _Builder(task, known, test, seed)
    for budget in sorted(budgets):
        _fill(budget, task, candidates, builder)
    return {
        "candidates": len(candidates),
        "search_seconds": round(seconds, 2),
        # Texts, as they are after a journal is read again.
        "budgets": {str(each): _chosen(each, task, builder.built) for each in sorted(budgets)},
        "built": [built.found for built in builder.built],
    }


def _arrays(part: Part) -> tuple[NDArray, NDArray]:
    return part.X, part.y


def _candidates(
    task: str, pairs: Sequence[tuple[Part, Part]], grid: Grid, seed: int
) -> list[Candidate]:
    """All of the grid with the mean of their scores, and the first pair's estimates."""
    found = [_scored(task, train, validation, grid, seed) for train, validation in pairs]
    return [
        replace(same[0], score=float(np.mean([c.score for c in same])))
        for same in zip(*found, strict=True)
    ]


def _scored(task: str, train: Part, validation: Part, grid: Grid, seed: int) -> list[Candidate]:
    rows = np.random.default_rng(seed).permutation(len(train.y))[: grid.search_rows]
    found: list[Candidate] = []
    for bits, depth, rate in product(grid.feature_bits, grid.depths, grid.rates):
        settings = Boosting(depth, rate, bits)
        codes = Codes.fitted(train.X[rows], bits)
        outputs = 1 if task == "regression" else len(np.unique(train.y))
        rounds = grid.rounds(1 if outputs == 2 else outputs)
        boosted = boost(codes(train.X[rows]), train.y[rows], task, settings, rounds[-1], seed)
        leaves = boosted.leaves(codes(validation.X))
        for leaf_bits in grid.leaf_bits_of(task):
            luts = estimates(quantise(boosted, rounds[-1], leaf_bits), rounds)
            for count, lut in zip(rounds, luts, strict=True):
                model = quantise(boosted, count, leaf_bits)
                reached = score(task, model.real(model.decide(model.sums(leaves))), validation.y)
                found.append(Candidate(settings, count, leaf_bits, reached, lut))
    return found


def _fill(budget: int, task: str, candidates: Sequence[Candidate], builder: _Builder) -> None:
    """Synthesise the likely winners under a budget."""
    kept: set[Candidate] = set()
    for _ in range(ATTEMPTS):
        within = [c for c in candidates if c.estimate * builder.ratio <= budget]
        if not within:
            return
        best = min(within, key=lambda c: (_loss(task, c.score), c.estimate))
        if best in kept or (built := builder.build(best, budget)) is None:
            return
        if built.found["lut"] <= budget:
            kept.add(best)
            if built.found["lut"] >= (1 - SLACK) * budget:
                return


def _chosen(budget: int, task: str, built: Sequence[Built]) -> dict[str, Any] | None:
    within = [b for b in built if b.found["lut"] <= budget]
    if not within:
        return None
    best = min(within, key=lambda b: (_loss(task, b.candidate.score), b.found["lut"]))
    return dict(best.found)


def _loss(task: str, reached: float) -> float:
    return reached if task == "regression" else -reached


class _Builder:
    """Trains and synthesises each design once."""

    def __init__(self, task: str, known: Part, test: Part, seed: int):
        self.task, self.known, self.test, self.seed = task, known, test, seed
        self.ratio = 1.0
        self.built: list[Built] = []
        self._done: set[tuple[Boosting, int, int]] = set()

    def build(self, candidate: Candidate, budget: int) -> Built | None:
        """As many rounds as fit, at most the candidate's; None if that was built before."""
        settings, bits = candidate.settings, candidate.leaf_bits
        codes = Codes.fitted(self.known.X, settings.feature_bits)
        start = process_time()
        boosted = boost(
            codes(self.known.X), self.known.y, self.task, settings, candidate.rounds, self.seed
        )
        seconds = process_time() - start
        model, rounds = self._fitting(boosted, candidate, budget)
        if (key := (settings, rounds, bits)) in self._done:
            return None
        self._done.add(key)
        expected = estimate(model)
        verilog = to_verilog(model)
        start = perf_counter()
        resources = synthesise({f"{NAME}.v": verilog}, NAME)
        synthesis_seconds = perf_counter() - start
        self.ratio = resources.lut / max(1, expected)
        test_codes = codes(self.test.X)
        outputs = model.outputs_of(test_codes)
        rows = slice(0, CHECKED_ROWS)
        simulated = simulate(verilog, model, test_codes[rows])
        np.testing.assert_array_equal(simulated, outputs[rows], "the Verilog differs from NumPy")
        found = {
            **asdict(settings),
            "leaf_bits": bits,
            "rounds": rounds,
            "trees": rounds * boosted.outputs,
            "validation": candidate.score,
            "test": score(self.task, model.real(outputs), self.test.y),
            "lut": resources.lut,
            "lut_sites": resources.lut_sites,
            "ff": resources.ff,
            "carry4": resources.carry4,
            "dsp": resources.dsp,
            "estimate": expected,
            "seconds": round(seconds, 3),
            "synthesis_seconds": round(synthesis_seconds, 1),
            "checked_rows": len(simulated),
        }
        built = Built(candidate, rounds, found)
        self.built.append(built)
        return built

    def _fitting(
        self, boosted: Boosted, candidate: Candidate, budget: int
    ) -> tuple[Quantised, int]:
        """Training on more rows makes larger trees: rounds are dropped until they fit."""
        counts = range(1, len(boosted.rounds) + 1)
        luts = estimates(quantise(boosted, counts[-1], candidate.leaf_bits), counts)
        within = [n for n, lut in zip(counts, luts, strict=True) if lut * self.ratio <= budget]
        rounds = max(within, default=1)
        return quantise(boosted, rounds, candidate.leaf_bits), rounds
