"""Which plant: the taps of its polynomial, its ridge and its bound, by validation records."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from scm_model.memory import Memory
from scm_train.sequences.free_run import FreeRun, fit_free_run
from scm_train.sequences.plant import Plant, Scale, plant_rows, scaled_taps, terms_of
from scm_train.sequences.records import Records, folds, records_of, segments

__all__ = ["Structure", "fitted_plant", "identify"]

Floats = NDArray[np.float64]

#: Of the largest singular value's square. Differences of neighbouring samples need the least.
RIDGES = (0.0, 1e-10, 1e-8, 1e-6, 1e-4, 1e-3, 1e-2)
#: Polynomials that are fitted, of those that explain most in one step.
TRIED = 8
#: Rows on which they are compared first, and on which free runs are fitted.
SCREENED_ROWS, FITTED_ROWS = 5000, 30_000
#: To what share a polynomial of no tap, one or two has to lower the validation error: it costs a
#: table and multipliers, and one of two taps several.
POLYNOMIAL_GAINS = (1.0, 0.97, 0.9)
#: What holding outputs within the training range has to bring, to give up what lies beyond.
BOUND_GAIN = 0.98
#: Signals further out by this share must not drive outputs against their bound in more rows.
FURTHER, MOST_AT_BOUND = 0.25, 0.05
#: Rows of the pieces that run free side by side while weights are fitted, and steps of that.
PIECE_ROWS = 150
SCREENING_STEPS, STEPS = 10, 40


@dataclass(frozen=True, eq=False)
class Structure:
    """What validation chose: the places of the polynomial, the ridge, and the steps with which the
    free run is fitted. ``error`` is in units of the scale."""

    places: tuple[int, ...]
    scale: Scale
    ridge: float = 0.0
    steps: int = 0
    error: float = np.inf


def identify(records: Records, memory: Memory, scale: Scale) -> Structure:
    """The structure with the least validation error, running free where outputs come back.

    A polynomial of more taps has to be better by a share for each.
    """
    parts = folds(records, memory.depth + memory.horizon)
    if memory.feedback:
        return _Closed(parts, memory, scale).best()
    return _open(parts, memory, scale)


def fitted_plant(structure: Structure, records: Records, memory: Memory) -> Plant:
    """The plant of a structure, fitted to all of the records."""
    z, y = _rows(records, memory, structure.scale)
    plant = _least_squares(z, y, structure.places, (structure.ridge,))[0]
    if not structure.steps:
        return plant
    pieces = _some_records(segments(records, memory.depth, PIECE_ROWS), FITTED_ROWS)
    return fit_free_run(plant, FreeRun(pieces, memory, structure.scale), structure.steps)


def _rows(records: Records, memory: Memory, scale: Scale) -> tuple[Floats, Floats]:
    z, y = scaled_taps(records, memory, scale)
    # What the machine sees ends with its range.
    return np.clip(z, -scale.reach, scale.reach), y


def _least_squares(
    z: Floats, y: Floats, places: tuple[int, ...], ridges: Sequence[float]
) -> list[Plant]:
    """A plant for each ridge. By singular values: the normal equations would lose differences
    between samples that are nearly equal."""
    rows = plant_rows(z, terms_of(places))[:, 1:]
    middle, spread = rows.mean(axis=0), rows.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    left, sizes, right = np.linalg.svd((rows - middle) / spread, full_matrices=False)
    along = left.T @ (y - y.mean(axis=0))
    least = sizes[0] * len(rows) * np.finfo(np.float64).eps
    plants = []
    for ridge in ridges:
        # Ridge by singular values: weights V diag(s / (s^2 + ridge s_1^2)) U^T y.
        shrunk = sizes / (sizes**2 + ridge * sizes[0] ** 2)
        shrunk = np.where(sizes > least, shrunk, 0.0)
        weights = right.T @ (shrunk[:, None] * along) / spread[:, None]
        constant = y.mean(axis=0) - middle @ weights
        plants.append(Plant(z.shape[1], places, np.vstack([constant, weights])))
    return plants


def _promising(
    z: Floats, y: Floats, places: Iterable[tuple[int, ...]], most: int
) -> list[tuple[int, ...]]:
    """The places whose products explain most of what a linear plant leaves."""
    some = slice(None, None, -(-len(z) // SCREENED_ROWS))
    z, y = z[some], y[some]
    basis = np.linalg.qr(plant_rows(z, []))[0]
    # Residual and products are both made orthogonal to constant and taps (Frisch-Waugh), so that a
    # fit of the products alone has the error of the whole polynomial.
    rest = y - basis @ (basis.T @ y)
    left = []
    for one in places:
        products = plant_rows(z, terms_of(one))[:, 1 + z.shape[1] :]
        products = products - basis @ (basis.T @ products)
        fitted = np.linalg.lstsq(products, rest, rcond=1e-8)[0]
        # A product more explains some of any noise.
        freedom = max(1, len(z) - z.shape[1] - products.shape[1])
        left.append((float(np.sum((rest - products @ fitted) ** 2)) / freedom, one))
    return [one for _, one in sorted(left)[:most]]


def _price(one: Structure) -> float:
    """The error, with what a polynomial and a narrow bound have to bring."""
    bound = 1.0 if one.scale.margin else BOUND_GAIN
    return one.error / (POLYNOMIAL_GAINS[len(one.places)] * bound)


# Without feedback


def _open(parts: list[tuple[Records, Records]], memory: Memory, scale: Scale) -> Structure:
    rows = [(_rows(learn, memory, scale), _rows(held, memory, scale)) for learn, held in parts]
    z, y = rows[-1][0]
    taps = range(z.shape[1])
    places = [(), *_promising(z, y, [(i,) for i in taps], TRIED // 2)]
    places += _promising(z, y, combinations(taps, 2), TRIED // 2)
    found = []
    for one in places:
        errors = [
            [_squares(plant.values(held[0]) - held[1]) for plant in _least_squares(*learn, one,
                                                                                   RIDGES)]
            for learn, held in rows
        ]  # fmt: skip
        means = np.sqrt(np.mean(errors, axis=0))
        ridge = RIDGES[int(np.argmin(means))]
        found.append(Structure(one, scale, ridge, error=float(means.min())))
    return min(found, key=_price)


def _squares(errors: Floats) -> float:
    return float(np.mean(errors**2))


# With feedback


class _Closed:
    """Plants that see their own outputs, fitted and judged by their free runs."""

    def __init__(self, parts: list[tuple[Records, Records]], memory: Memory, scale: Scale) -> None:
        self.memory, self.scale = memory, scale
        self.parts = [
            (_some_records(segments(learn, memory.depth, PIECE_ROWS), SCREENED_ROWS), held)
            for learn, held in parts
        ]
        self.z, self.y = _rows(parts[-1][0], memory, scale)

    def best(self) -> Structure:
        """The best by error; one whose outputs end with the training range has to pay for that,
        and one whose outputs reach further must be stable there."""
        within = replace(self.scale, margin=0.0)
        found = []
        for places in [(), *self._places()]:
            for steps in (0, SCREENING_STEPS):
                further, reached = self._judged(places, self.scale, steps)
                found.append(further)
                if reached > 1.0:
                    found.append(self._judged(places, within, steps)[0])
        for one in sorted(found, key=_price):
            chosen = replace(one, steps=STEPS) if one.steps else one
            if not chosen.scale.margin or self._stable(chosen):
                return chosen
        return replace(found[0], scale=within)

    def _judged(self, places: tuple[int, ...], scale: Scale, steps: int) -> tuple[Structure, float]:
        """A structure with its error, and how far its outputs reach."""
        squares, reached = [], 0.0
        for learn, held in self.parts:
            z, y = _rows(learn, self.memory, scale)
            plant = _least_squares(z, y, places, RIDGES[:1])[0]
            if steps:
                plant = fit_free_run(plant, FreeRun(learn, self.memory, scale), steps)
            off, reach = FreeRun(held, self.memory, scale).rmse_and_reach(plant)
            squares.append(off**2)
            reached = max(reached, reach)
        error = float(np.sqrt(np.mean(squares)))
        return Structure(places, scale, RIDGES[0], steps, error), reached

    def _stable(self, structure: Structure) -> bool:
        """Whether signals that reach further than in training leave the outputs off their bound."""
        learn, held = self.parts[-1]
        plant = fitted_plant(structure, learn, self.memory)
        runs = FreeRun(held, self.memory, structure.scale).amplified(FURTHER)
        return runs.share_at_bound(plant) <= MOST_AT_BOUND

    def _places(self) -> list[tuple[int, ...]]:
        """One or two taps: the newest outputs, and the newest samples of each signal with them."""
        own: dict[int, list[int]] = {}
        for place, tap in enumerate(self.memory.taps):
            own.setdefault(tap.source, []).append(place)
        outputs = [places for source, places in own.items() if source >= self.scale.signals]
        signals = [places for source, places in own.items() if source < self.scale.signals]
        newest = [place for places in signals for place in places[:2]]
        singles = [(place,) for places in outputs for place in places[:2]]
        pairs = [(i, places[0]) for i in newest for places in outputs]
        pairs += [(places[0], places[1]) for places in outputs if len(places) > 1]
        most = TRIED // 2
        return [
            *singles[:most],
            *_promising(self.z, self.y, [(place,) for place in newest], most - len(singles[:most])),
            *_promising(self.z, self.y, pairs, most),
        ]


def _some_records(records: Records, most: int) -> Records:
    """Evenly spread records, of which all have about ``most`` rows together."""
    step = -(-len(records) // most)
    if step == 1:
        return records
    kept = np.zeros(len(records), dtype=bool)
    for rows in records_of(records.first)[::step]:
        kept[rows] = True
    return records.taken(kept)
