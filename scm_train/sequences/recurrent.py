"""Recurrent nodes: a layer of sign nodes that see bits of the row before, their own among them.

Nodes join one at a time, as the supervisory inequality has it. A node sees a few inputs through
random signs: features, bits of nodes that joined before it, and its own. So a node that joins
changes none that are there, and the layer's rows are known as it grows. A bit has as many coded
bits as a feature, all of them equal; with signs of both kinds it counts an odd number of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from scm_model import Layer, Model
from scm_model.memory import MAX_LAG, Memory, Tap, positions
from scm_model.scaling import to_unit
from scm_train.encode.encoders import fit_encoder
from scm_train.errors import DataError, ParameterError
from scm_train.history import History
from scm_train.learner import Learner
from scm_train.sequences.candidates import Candidate, source_ranges, validation_error
from scm_train.sequences.records import Records

__all__ = ["RecurrentSettings", "grow_recurrent", "recurrent_settings"]

Floats = NDArray[np.float64]
Bits = NDArray[np.bool_]

INPUT_BITS, LEVELS = 12, 15
#: What a bit may count: that many of its coded bits have one sign more than the other.
COUNTS = np.r_[-LEVELS:0:2, 1 : LEVELS + 1 : 2]
DEFAULT_NODES = 64
CANDIDATES, MOST_SEEN, OWN_SHARE = 200, 4, 0.5
#: The inequality's r, least strict last; a draw in which no candidate meets any of them ends it.
R_VALUES = (0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999)
#: Nodes between looks at the validation records, and looks without gain before the end.
LOOK, PATIENCE = 8, 4
RIDGES = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
#: A smaller layer is taken where its validation error is within this of the least.
SLACK = 1.005


@dataclass(frozen=True)
class RecurrentSettings:
    """At most ``nodes``; each input of a candidate is a bit with probability ``share``. In
    ``washout`` rows of a record nothing is learned from."""

    nodes: int
    share: float
    washout: int
    seed: int


def recurrent_settings(learner: Learner, share: float, washout: int) -> RecurrentSettings:
    """Checked, with what the learner says of nodes and seed."""
    if not isinstance(share, int | float) or not 0 <= share <= 1:
        raise ParameterError(f"recurrent_share must be from 0 to 1, not {share!r}")
    whole = isinstance(washout, int) and not isinstance(washout, bool)
    if not whole or not 0 <= washout <= MAX_LAG:
        raise ParameterError(
            f"washout must be a whole number of rows up to {MAX_LAG}, not {washout!r}"
        )
    nodes = learner.max_nodes
    if isinstance(nodes, str) or nodes is None:
        nodes = DEFAULT_NODES
    if not isinstance(nodes, int) or nodes < 1:
        raise ParameterError(
            f"max_nodes must be one positive whole number with recurrent, not {nodes!r}"
        )
    seed = int(check_random_state(learner.random_state).randint(np.iinfo(np.int32).max))
    return RecurrentSettings(nodes, float(share), washout, seed)


@dataclass(frozen=True, eq=False)
class _Drawn:
    """Candidates (rows of all arrays): signs of coded bits of features, how much the bits of nodes
    count, and the own bit (0: unseen), and thresholds."""

    features: NDArray[np.int8]
    bits: NDArray[np.int8]
    own: NDArray[np.int8]
    bias: Floats
    outputs: Bits


class _Rows:
    """Records as a growing layer sees them."""

    def __init__(self, records: Records, memory: Memory, low: Floats, high: Floats) -> None:
        self.records, self.first = records, records.first
        taps = memory.tap_rows(records.signals, records.first)
        self.unit = to_unit(taps, low, high)
        self.scored = records.scored(memory)
        self.coded: NDArray[np.int8] = np.zeros((0, 0), np.int8)
        self.hidden = np.zeros((len(records), 0), dtype=bool)

    def before(self, bits: Bits) -> Bits:
        """Bits of the row before, clear where a record begins."""
        found = np.zeros_like(bits)
        found[1:] = bits[:-1]
        found[self.first] = False
        return found

    def nodes(self, drawn: _Drawn, sums: Floats) -> Bits:
        """What nodes (rows, candidates) give, of sums without the own bit.

        A sum that is beyond the own bit's reach decides; within it a bit of positive sign stays as
        it was, and one of negative sign turns over.
        """
        reach = np.abs(drawn.own.astype(np.float64))[None]
        total = sums + drawn.bias
        rows = np.arange(len(total))[:, None]
        place = positions(self.first)[:, None]
        settled = np.abs(total) > reach
        # Sums are whole numbers and thresholds lie between them: there are no ties.
        since = np.maximum.accumulate(np.where(settled, rows, -1), axis=0)
        begin = rows - place
        start = np.where(since >= begin, since, begin - 1)
        known = np.where(since >= begin, np.take_along_axis(total > 0, np.maximum(since, 0), 0),
                         False)  # fmt: skip
        # A bit of negative own sign turns over in each row since the last that was settled.
        turned = (drawn.own[None] < 0) & ((rows - start) % 2 == 1)
        return known ^ turned


def grow_recurrent(
    memory: Memory,
    parts: tuple[Records, Records],
    names: tuple[str, ...],
    settings: RecurrentSettings,
) -> Candidate:
    """The machine of recurrent nodes, and a linear part, with the least validation error."""
    return _Growth(memory, parts, names, settings).run()


class _Growth:
    def __init__(
        self,
        memory: Memory,
        parts: tuple[Records, Records],
        names: tuple[str, ...],
        settings: RecurrentSettings,
    ) -> None:
        self.settings, self.names = settings, names
        self.memory = replace(memory, washout=settings.washout)
        self.rng = np.random.default_rng(settings.seed)
        X, y = parts[0].taps(memory)
        y = y.reshape(len(y), -1).astype(np.float64)
        low, high = source_ranges(memory, X, None)
        sources = [tap.source for tap in memory.taps]
        self.low, self.high = low[sources], high[sources]
        self.target_min, self.target_max = y.min(axis=0), y.max(axis=0)
        if not (self.target_max > self.target_min).all():
            raise DataError("targets must vary for recurrent nodes, not be constant")
        self.rows = [_Rows(part, self.memory, self.low, self.high) for part in parts]
        if any(not one.scored.any() for one in self.rows):
            raise DataError(f"records must be longer than the washout of {settings.washout} rows")
        spec = f"thermometer:{LEVELS}:uniform"
        self.encoder = fit_encoder(spec, self.rows[0].unit, input_bits=INPUT_BITS)
        for one in self.rows:
            one.coded = self.encoder.encode(one.unit, np.int8)
        self.width = len(memory.taps)
        self.chosen: list[_Drawn] = []

    def run(self) -> Candidate:
        errors: list[tuple[float, int]] = []
        residual = self._residual()
        for number in range(1, self.settings.nodes + 1):
            drawn = self._best(residual)
            if drawn is None:
                break
            self._join(drawn)
            residual = self._residual()
            if number % LOOK == 0 or number == self.settings.nodes:
                errors.append((self._readout(number)[1], number))
                least = min(range(len(errors)), key=lambda i: errors[i])
                if len(errors) - least > PATIENCE:
                    break
        return self._finished(errors)

    # One node

    def _best(self, residual: Floats) -> _Drawn | None:
        """The candidate that takes most off the residual (rows, outputs), if it is enough."""
        drawn = self._draw()
        rows = self.rows[0]
        hidden = drawn.outputs[rows.scored] * 2.0 - 1.0
        # Only what lies outside the span of the nodes before can lower the least-squares error.
        hidden = hidden - self.basis @ (self.basis.T @ hidden)
        norms = np.maximum((hidden**2).sum(axis=0), 1e-9 * len(hidden))
        gains = ((hidden.T @ residual) ** 2).sum(axis=1) / norms
        best, whole = int(np.argmax(gains)), float((residual**2).sum())
        # The theorem of SCNs has 1 - r - mu_L with a mu_L that tends to 0; mu_L = (1 - r) / (L + 1)
        # makes that (1 - r) (1 - mu) for the L-th node.
        mu = 1.0 / (len(self.chosen) + 2)
        if not any(gains[best] >= (1 - r) * (1 - mu) * whole for r in R_VALUES) or whole <= 0:
            return None
        one = slice(best, best + 1)
        return _Drawn(drawn.features[one], drawn.bits[one], drawn.own[one], drawn.bias[one],
                      drawn.outputs[:, one])  # fmt: skip

    def _draw(self) -> _Drawn:
        """Candidates with what they give on the rows to learn from."""
        rng, known, rows = self.rng, len(self.chosen), self.rows[0]
        groups = self.encoder.groups
        seen = np.zeros((CANDIDATES, self.width), dtype=bool)
        bits = np.zeros((CANDIDATES, known), dtype=np.int8)
        own = np.zeros(CANDIDATES, dtype=np.int8)
        for one in range(CANDIDATES):
            for k in range(int(rng.integers(1, MOST_SEEN + 1))):
                if k and rng.random() < self.settings.share:
                    # Its own bit is what lets a node remember for long.
                    itself = not known or rng.random() < OWN_SHARE
                    place = known if itself else int(rng.integers(known))
                    count = rng.choice(COUNTS)
                    if place == known:
                        own[one] = count
                    else:
                        bits[one, place] = count
                else:
                    seen[one, rng.integers(self.width)] = True
        signs = np.where(rng.random(seen.shape) < 0.5, 1, -1)
        features = np.where(seen, signs, 0)[:, groups].astype(np.int8)
        drawn = _Drawn(features, bits, own, np.zeros(CANDIDATES), np.zeros((0, 0), bool))
        sums = self._sums(rows, drawn)
        # A threshold between two sums of the rows; sums are odd or even together.
        at = rng.integers(len(sums), size=CANDIDATES)
        bias = -sums[at, np.arange(CANDIDATES)] + rng.choice([-0.5, 0.5], CANDIDATES)
        drawn = replace(drawn, bias=bias)
        return replace(drawn, outputs=rows.nodes(drawn, sums))

    def _sums(self, rows: _Rows, drawn: _Drawn) -> Floats:
        """What candidates add up without their own bit, (rows, candidates)."""
        before = 2.0 * rows.before(rows.hidden) - 1.0
        sums = rows.coded.astype(np.float32) @ drawn.features.T.astype(np.float32)
        found: Floats = sums.astype(np.float64) + before @ drawn.bits.T.astype(np.float64)
        return found

    def _join(self, drawn: _Drawn) -> None:
        held = self.rows[1]
        outputs = held.nodes(drawn, self._sums(held, drawn))
        self.rows[0].hidden = np.concatenate([self.rows[0].hidden, drawn.outputs], axis=1)
        held.hidden = np.concatenate([held.hidden, outputs], axis=1)
        self.chosen.append(drawn)

    # The readout

    def _design(self, rows: _Rows, nodes: int) -> Floats:
        hidden = rows.hidden[rows.scored][:, :nodes] * 2.0 - 1.0
        seen = self.encoder.quantised(rows.unit[rows.scored])
        return np.concatenate([np.ones((len(seen), 1)), seen, hidden], axis=1)

    def _targets(self, rows: _Rows) -> Floats:
        span = self.target_max - self.target_min
        return (rows.records.measured[rows.scored] - self.target_min) / span

    def _residual(self) -> Floats:
        """What linear part and nodes leave of the targets; keeps an orthonormal basis of both."""
        rows = self.rows[0]
        self.basis = np.linalg.qr(self._design(rows, len(self.chosen)))[0]
        y = self._targets(rows)
        left: Floats = y - self.basis @ (self.basis.T @ y)
        return left

    def _readout(self, nodes: int) -> tuple[Floats, float]:
        """Weights (1 + features + nodes, outputs) by the best ridge, and their error."""
        rows, held = self.rows
        design, y = self._design(rows, nodes), self._targets(rows)
        gram, cross = design.T @ design, design.T @ y
        wanted, seen = self._targets(held), self._design(held, nodes)
        found = []
        for ridge in RIDGES:
            pull = np.full(len(gram), ridge * len(design))
            # The constant is not pulled to 0, but for rounding.
            pull[0] = 1e-9 * len(design)
            weights = np.linalg.solve(gram + np.diag(pull), cross)
            error = float(np.sqrt(np.mean((seen @ weights - wanted) ** 2)))
            found.append((error, ridge, weights))
        error, _, weights = min(found, key=lambda one: one[:2])
        return weights, error

    # The machine

    def _finished(self, errors: list[tuple[float, int]]) -> Candidate:
        if not errors:
            errors = [(self._readout(len(self.chosen))[1], len(self.chosen))]
        least = min(errors)[0]
        nodes = next(count for error, count in sorted(errors, key=lambda one: one[1])
                     if error <= SLACK * least)  # fmt: skip
        machine = self._machine(nodes, self._readout(nodes)[0])
        return Candidate(machine, History(), [validation_error(machine, self.rows[1].records)])

    def _machine(self, nodes: int, weights: Floats) -> Model:
        """Features are taps and the bits that some node sees."""
        chosen, count = self.chosen[:nodes], self.width
        seen = [j for j in range(nodes) if any(self._sees(k, j) for k in range(nodes))]
        sources = self.memory.sources
        memory = replace(
            self.memory,
            taps=(*self.memory.taps, *(Tap(sources + node, 1) for node in seen)),
        )
        low = np.r_[self.low, np.zeros(len(seen))]
        high = np.r_[self.high, np.ones(len(seen))]
        levels = self.encoder.thresholds[0]
        encoder = replace(
            self.encoder,
            bits=self.encoder.bits + (LEVELS,) * len(seen),
            thresholds=self.encoder.thresholds + (levels,) * len(seen),
            n_features=count + len(seen),
        )
        counts = np.array([self._counts(k, seen) for k in range(nodes)], dtype=np.int64)
        counts = counts.reshape(nodes, len(seen), 1)
        # Of the LEVELS equal coded bits of a node, (LEVELS + count) / 2 are added and the others
        # subtracted, which leaves count times the bit. Both numbers are odd, so that this is whole.
        own = np.where(2 * np.arange(LEVELS) < LEVELS + counts, 1, -1)
        own = np.where(counts == 0, 0, own).reshape(nodes, -1).astype(np.int8)
        features = [one.features for one in chosen]
        signs = np.concatenate(
            [np.concatenate([np.zeros((0, self.encoder.width), np.int8), *features]), own], axis=1
        )
        ends = np.cumsum([0, *encoder.bits])[:-1]
        mask = signs[:, ends] != 0
        layer = Layer(
            np.where(signs == 0, -1, signs).astype(np.int8),
            np.ones(nodes),
            np.array([float(one.bias[0]) for one in chosen]),
            "sign",
            mask,
        )
        outputs = weights.shape[1]
        return Model(
            task="regression",
            algorithm="SCM",
            encoder=encoder,
            layers=(layer,) if nodes else (),
            readout=weights[1 + count :],
            linear=np.concatenate([weights[1 : 1 + count], np.zeros((len(seen), outputs))]),
            intercept=weights[0],
            input_min=low,
            input_max=high,
            target_min=self.target_min,
            target_max=self.target_max,
            features=memory.names(self.names),
            targets=self.names,
            memory=memory,
        )

    def _counts(self, node: int, seen: list[int]) -> list[int]:
        bits = self.chosen[node].bits[0]
        own = int(self.chosen[node].own[0])
        return [own if j == node else int(bits[j]) if j < len(bits) else 0 for j in seen]

    def _sees(self, node: int, other: int) -> bool:
        return self._counts(node, [other])[0] != 0
