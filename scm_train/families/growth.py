"""Families join one at a time: a support of a few bits, and with it all nodes that see no more.

A node on five first-layer bits is some function of them, and the readout adds all such nodes up to
one table of 32 entries. So a whole *family*, every node on one support, costs what its table costs,
and joins at once. Its bits are chosen one after the other, each the best of the pool for what is
left of the targets; its 32 coefficients are fitted to what is left on part of the rows, shrunk, and
rounded to a few bits. The supervisory inequality decides, as for a node, whether it may join.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from scm_train.families.bits import SupportSearch, addresses, find_support
from scm_train.families.costs import Prices
from scm_train.families.entries import Entries, round_entries
from scm_train.families.rows import Part, Rows, Scale, Sums, scale_of
from scm_train.families.signals import MOST_THRESHOLDS, SignalPool

__all__ = ["Family", "FamilyGrowth", "FamilySettings", "apply"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class FamilySettings:
    """How families grow.

    ``bits`` per support, or a random number from ``fewest_bits`` on; ``shrinkage`` is the share of
    the fitted coefficients that is taken; ``penalty`` (in rows) pulls those of cells with few rows
    to 0. Each family sees a ``row_share`` of the rows, and its bits are chosen on ``search_rows``
    of them at most. ``signals`` of one feature are drawn for each family where there are more. Of
    two features as many are drawn as fill up that number, or as many as of one, if that is more.
    Entries have ``widths`` bits, on no finer grid than ``2**lowest_place``. A signal has up to
    ``thresholds``, of which a family sees about ``drawn_thresholds`` at random, or all; new ones
    count ``threshold_share`` of their LUTs. There are ``pairs`` of features for each feature. A
    refit goes ``refit_step`` of the way, by ``refit_penalty``.
    """

    bits: int = 5
    fewest_bits: int = 5
    shrinkage: float = 0.3
    penalty: float = 2.0
    row_share: float = 0.8
    search_rows: int = 20_000
    signals: int = 32
    widths: range = range(2, 6)
    lowest_place: int = -16
    thresholds: int = MOST_THRESHOLDS
    drawn_thresholds: int | None = None
    threshold_share: float = 0.5
    refit_step: float = 0.5
    refit_penalty: float = 5.0
    pairs: int = 0
    r_values: tuple[float, ...] = (0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999)

    @classmethod
    def for_budget(cls, luts: float, classifier: bool) -> FamilySettings:
        """Many families take small steps, few large ones; few share few, round thresholds."""
        return cls(
            # Most of a cell's rows are sure of their class and have little weight: few rows' worth
            # of the mean is much there.
            penalty=0.5 if classifier else 2.0,
            shrinkage=float(np.clip(0.25 * np.sqrt(1000 / luts), 0.08, 0.4)),
            widths=range(2 if classifier else 3, 6),
            thresholds=63 if luts < 600 else 127 if luts < 2000 else MOST_THRESHOLDS,
            threshold_share=0.5 if luts < 2000 else 0.0,
        )


@dataclass(frozen=True, eq=False)
class Family:
    """A support, its entries, and the output that they add to.

    ``signals`` and ``thresholds`` (bits,) are positions in the pool; the first bit is the lowest of
    the address. ``luts`` is what the family added to the cost; ``r`` the inequality's parameter.
    """

    signals: NDArray[np.int64]
    thresholds: NDArray[np.int64]
    entries: Entries
    output: int
    luts: float
    r: float


class FamilyGrowth:
    """A machine while it grows, by sums over ``rows``, which keep what it answers so far."""

    def __init__(
        self,
        pool: SignalPool,
        rows: Rows,
        outputs: int,
        settings: FamilySettings,
        prices: Prices,
        rng: np.random.Generator,
    ):
        self.pool, self.rows, self.outputs = pool, rows, outputs
        self.settings, self.prices = settings, prices
        self.families: list[Family] = []
        #: The family found last takes more than the budget has left.
        self.full = False
        self._counts, self._rng = pool.counts, rng

    def grow(self, luts: float, most: int | None) -> Iterator[Family]:
        """Families until none fits the budget, ``most`` have joined, or none can be found."""
        failures = 0
        while self.prices.total < luts and (most is None or len(self.families) < most):
            family = self._next(len(self.families) % self.outputs, luts)
            if family is None:
                # Another draw of rows may do better, or fit, but not for ever.
                failures += 1
                if failures > 3 * self.outputs:
                    return
                continue
            failures = 0
            self.families.append(family)
            yield family

    def refit(self) -> None:
        """Fit the entries of each family again, to what all others leave on all rows.

        Each keeps its bits, so that the machine costs what it did.
        """
        for place, family in enumerate(self.families):
            scale = scale_of([self.rows.extent(family.output)], len(self.rows))
            sums = self.rows.sums(Part(0, 1.0), scale, family.signals, family.thresholds)
            entries = self._refitted(family.entries, sums)
            if entries is not None:
                self.rows.add(family.output, entries.values - family.entries.values)
                self.families[place] = replace(family, entries=entries)

    def _refitted(self, own: Entries, sums: Sums) -> Entries | None:
        """New entries, if what is left of the error after rounding is less."""
        g, w = sums.gradients.astype(np.float64), sums.weights.astype(np.float64)
        # A change d of an entry lowers the loss by g d - w d^2 / 2. A ridge of pull / 2 on the
        # square of the new entry, own + d, takes pull own d + pull d^2 / 2 more off that. The
        # penalty is in rows, each of which has w.sum() / rows on average.
        pull = self.settings.refit_penalty * float(w.sum()) / len(self.rows)
        g -= pull * own.values
        w_pulled = w + pull
        wanted = own.values + self.settings.refit_step * g / w_pulled
        width = range(own.bits, own.bits + 1)
        entries = round_entries(wanted, w, width, 0.0, self.settings.lowest_place)
        if entries is None:
            return None
        change = entries.values - own.values
        gain = float(np.sum(change * (g - 0.5 * w_pulled * change)))
        return entries if gain > 0 else None

    def _next(self, output: int, luts: float) -> Family | None:
        """The next family, unless none gains anything or the one found takes more than ``luts``."""
        rows = self.rows
        # First, because this renews slopes and curvatures for what the machine answers now.
        scale = scale_of([rows.extent(output)], len(rows))
        part = Part(int(self._rng.integers(2**63)), self.settings.row_share)
        support, penalty = self._support(part, scale)
        signals, thresholds = support
        if not len(signals):
            return None
        # The search saw at most `search_rows` of the part; entries are fitted to all of it.
        sums = rows.sums(part, scale, signals, thresholds)
        r = self._satisfied(sums, scale)
        if r is None:
            return None
        g, w = sums.gradients.astype(np.float64), sums.weights.astype(np.float64)
        entries = round_entries(
            self.settings.shrinkage * g / (w + penalty),
            w,
            self.settings.widths,
            self.prices.overhead,
            self.settings.lowest_place,
        )
        if entries is None:
            return None
        price = self.prices.of(signals, thresholds, entries.bits)
        self.full = self.prices.total + price > luts
        if self.full:
            return None
        self.prices.add(signals, thresholds, entries.bits)
        rows.add(output, entries.values)
        return Family(signals, thresholds, entries, output, price, r)

    def _support(
        self, part: Part, scale: Scale
    ) -> tuple[tuple[NDArray[np.int64], NDArray[np.int64]], float]:
        """Signals and thresholds of the bits of a support, and the penalty in units of weights."""
        drawn = self._draw_signals()
        share = min(part.share, self.settings.search_rows / len(self.rows))
        searched = self.rows.searched(replace(part, share=share), scale, drawn)
        none = np.empty(0, dtype=np.int64)
        if not len(searched.weights):
            return (none, none), 0.0
        penalty = self.settings.penalty * float(searched.weights.mean())
        prices = self._draw_thresholds(drawn)
        search = SupportSearch(self._counts[drawn], prices, penalty, self.prices.family)
        support = find_support(searched, search, self._draw_bits())
        signals, thresholds = np.array(support, dtype=np.int64).reshape(-1, 2).T
        return (drawn[signals], np.ascontiguousarray(thresholds)), penalty

    def _draw_signals(self) -> NDArray[np.int64]:
        """Of many signals enough that good ones are among them, and families differ."""
        pair = np.array([len(signal.features) > 1 for signal in self.pool.signals], dtype=bool)
        singles = self._drawn(np.flatnonzero(~pair), self.settings.signals)
        # Sums of two features are many, and none of them takes the place of a single one.
        room = max(len(singles), self.settings.signals - len(singles))
        pairs = self._drawn(np.flatnonzero(pair), room)
        return np.sort(np.concatenate([singles, pairs]))

    def _drawn(self, signals: NDArray[np.int64], most: int) -> NDArray[np.int64]:
        if len(signals) <= most:
            return signals
        drawn = max(most, int(1.5 * np.sqrt(len(signals))))
        return self._rng.choice(signals, drawn, replace=False)

    def _draw_thresholds(self, drawn: NDArray[np.int64]) -> Floats:
        """What new thresholds count, infinitely much where they are not drawn."""
        prices = self.settings.threshold_share * self.prices.new[drawn]
        if self.settings.drawn_thresholds is not None:
            share = self.settings.drawn_thresholds / self._counts[drawn, None]
            prices[self._rng.random(prices.shape) >= share] = np.inf
        return prices

    def _draw_bits(self) -> int:
        fewest, most = self.settings.fewest_bits, self.settings.bits
        return int(self._rng.integers(fewest, most + 1)) if fewest < most else most

    def _satisfied(self, sums: Sums, scale: Scale) -> float | None:
        """The smallest ``r`` for which the family satisfies the supervisory inequality.

        ``<e, h>^2 / <h, h>`` of the family's best combination is ``sum g^2 / w``, and it must be at
        least ``(1 - r) |e|^2``, where ``e`` is the residual (weighted, for other losses than the
        squared one).
        """
        g, w = sums.gradients.astype(np.float64), sums.weights.astype(np.float64)
        seen = w > 0
        # Gradients and weights are multiples of one scale, of which g^2 / w keeps one factor.
        taken = float(np.sum(g[seen] ** 2 / w[seen])) / scale.slope
        residual = sums.energy / scale.energy
        # In rising order as in the paper's Algorithm 1, so that the strictest condition comes
        # first.
        for r in self.settings.r_values:
            if taken >= (1 - r) * residual:
                return r
        return None


def apply(families: list[Family], reached: NDArray[np.uint8], scores: Floats) -> None:
    """Add what families answer to ``scores`` (outputs, rows)."""
    cell = np.empty(reached.shape[1], dtype=np.uint8)
    for family in families:
        addresses(reached, family.signals, family.thresholds, cell)
        scores[family.output] += family.entries.values[cell]
