"""Random candidates for the next hidden node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from scm_train.errors import ParameterError
from scm_train.search.layer_inputs import LayerInputs
from scm_train.search.level_tables import LevelTables

__all__ = [
    "BiasRange",
    "CandidateDraw",
    "Candidates",
    "InputsPerNode",
    "SignPattern",
    "is_per_layer",
    "joined",
]

#: Of every node; or a list with an entry per layer, of which some are no plain numbers.
Fan = int | Sequence[int] | Mapping[int, float] | None
InputsPerNode = Fan | Sequence[Fan]
SignPattern = str | float
BiasRange = str | tuple[float, float]


#: Sums of inputs without any unit are thought of as multiples of the inverse.
FINEST = 1 << 24


@dataclass(frozen=True, eq=False)
class Candidates:
    """Candidate nodes before scaling by lambda, one per row.

    ``weights`` (T, inputs) are int8 in {-1, +1} or float64 in [-1, 1], and 0 where the mask hides
    an input; ``mask`` (T, groups) tells which groups a node sees, None meaning all; ``biases`` is
    (T,).
    """

    weights: NDArray
    mask: NDArray[np.bool_] | None
    biases: NDArray[np.float64]
    #: Tables of them, where those serve; they hold until the next draws are made.
    tables: LevelTables | None = None

    def __len__(self) -> int:
        return len(self.biases)

    def pick(self, index: int) -> Candidates:
        """One candidate, as a batch of one."""
        return self.subset(np.array([index]))

    def part(self, some: slice) -> Candidates:
        """Candidates in a row, with their tables."""
        mask = None if self.mask is None else self.mask[some]
        tables = None if self.tables is None else self.tables.part(some)
        return Candidates(self.weights[some], mask, self.biases[some], tables)

    def subset(self, which: NDArray[np.intp]) -> Candidates:
        """Some of the candidates, copied."""
        mask = None if self.mask is None else self.mask[which]
        return Candidates(self.weights[which], mask, self.biases[which])

    def put(self, which: NDArray[np.intp], others: Candidates) -> None:
        """Have other candidates in some places; of candidates without tables."""
        assert self.tables is None
        self.weights[which], self.biases[which] = others.weights, others.biases
        if self.mask is not None:
            self.mask[which] = others.mask


def joined(parts: Sequence[Candidates]) -> Candidates:
    """The candidates of several batches, copied."""
    weights = np.concatenate([part.weights for part in parts])
    masks = [part.mask for part in parts if part.mask is not None]
    mask = np.concatenate(masks) if masks else None
    return Candidates(weights, mask, np.concatenate([part.biases for part in parts]))


class CandidateDraw:
    """Draws candidates for the layers of a machine.

    ``weights`` is ``"binary"`` or ``"real"``. ``inputs_per_node`` is the number of groups that a
    candidate sees: None for all, a number, a sequence to choose from, or a mapping from numbers to
    their shares; or a list of such, one per layer (:meth:`of_layer`). ``sign_pattern`` is
    ``"free"``, ``"monotone"`` (one sign for all inputs of a group) or the share of monotone
    candidates. ``bias_range`` is a pair, ``"paper"`` for [-1, 1], ``"data"`` for a bias that puts
    the candidate's threshold next to its own sum on a random row, ``"middle"`` for the same draw,
    of which the engine moves the threshold of a node that joins, or ``"auto"``: the data's where
    the inputs are bits, elsewhere the paper's.
    """

    def __init__(
        self,
        weights: str = "binary",
        inputs_per_node: InputsPerNode = None,
        sign_pattern: SignPattern = "free",
        bias_range: BiasRange = "auto",
    ):
        if weights not in ("binary", "real"):
            raise ParameterError(f"weights must be 'binary' or 'real', not {weights!r}")
        self.weights = weights
        self.inputs_per_node = inputs_per_node
        self.sign_pattern = sign_pattern
        self.bias_range = bias_range
        self._layers = [_mixture(fan) for fan in _by_layer(inputs_per_node)]
        self._sizes, self._shares = self._layers[0]
        self._monotone = _monotone_share(sign_pattern)
        self._range = _bias_interval(bias_range)
        self._by_data = isinstance(bias_range, str) and bias_range in ("data", "middle")

    def of_layer(self, number: int) -> CandidateDraw:
        """The draw for one layer, from 0; beyond the last entry of ``inputs_per_node`` it stays."""
        own = copy(self)
        own._sizes, own._shares = self._layers[min(number, len(self._layers) - 1)]
        return own

    def __call__(
        self, rng: np.random.Generator, inputs: LayerInputs, rows: int, count: int
    ) -> Candidates:
        """Draw ``count`` candidates on ``inputs``, which has ``rows`` rows."""
        return self.several([rng], inputs, rows, count)

    def several(
        self, rngs: Iterable[np.random.Generator], inputs: LayerInputs, rows: int, count: int
    ) -> Candidates:
        """``count`` candidates from each generator, which may be the same one again and again."""
        drawn = [self._chance(rng, inputs, rows, count) for rng in rngs]
        # Chance keeps its order; what follows from it is made for all draws at once.
        chance = _Chance(*map(_concatenated, zip(*drawn, strict=True)))
        weights = chance.weights(inputs.groups, count)
        mask = chance.mask()
        if mask is not None:
            weights *= mask[:, inputs.groups]
        tables = inputs.tables(weights) if self.weights == "binary" else None
        biases = chance.offsets
        if chance.at is not None:
            # Sums never meet a threshold strictly between the values they can take: none can tie.
            biases = biases - _sums_at(inputs, weights, chance.at, tables)
        return Candidates(weights, mask, biases, tables)

    def _chance(
        self, rng: np.random.Generator, inputs: LayerInputs, rows: int, count: int
    ) -> _Chance:
        # Every number that a candidate takes from the generator is taken here and in this order:
        # another order would make another machine of the same seed.
        groups = int(inputs.groups[-1]) + 1
        signs = reals = monotone = common = sizes = order = at = None
        if self.weights == "binary":
            signs = _packed_signs(rng, count * len(inputs.groups))
        else:
            reals = rng.uniform(-1, 1, (count, len(inputs.groups)))
        if self._monotone:
            monotone = rng.random(count) < self._monotone
            common = _packed_signs(rng, count * groups)
        if self._sizes is not None:
            sizes = rng.choice(self._sizes, size=count, p=self._shares)
            order = rng.random((count, groups))
        if self._by_data or (self._range is None and inputs.unit == 1):
            at = rng.integers(rows, size=count)
            # Less than one step between sums on either side of the row's own sum.
            offsets = rng.uniform(-1, 1, count) / (inputs.unit or FINEST)
        else:
            offsets = rng.uniform(*(self._range or (-1.0, 1.0)), count)
        return _Chance(signs, reals, monotone, common, sizes, order, at, offsets)


class _Chance(NamedTuple):
    """What chance decides, for the candidates of one draw or of several.

    Weights are ``signs``, packed (draws, bytes), or ``reals``. Those of candidates that are
    ``monotone`` take the signs in ``common``, packed, one per group. A candidate sees the first of
    the groups by ``order``, as many as ``sizes`` has. Biases are ``offsets``, less the sums on the
    rows ``at``. What does not apply is None.
    """

    signs: NDArray[np.uint8] | None
    reals: NDArray[np.float64] | None
    monotone: NDArray[np.bool_] | None
    common: NDArray[np.uint8] | None
    sizes: NDArray[np.int64] | None
    order: NDArray[np.float64] | None
    at: NDArray[np.int64] | None
    offsets: NDArray[np.float64]

    def weights(self, group_of: NDArray[np.integer], count: int) -> NDArray:
        """The weights (candidates, inputs) of draws of ``count`` candidates, before any mask."""
        weights = self.reals
        if weights is None:
            assert self.signs is not None
            weights = _unpacked(self.signs, count, len(group_of))
        if self.monotone is not None:
            assert self.common is not None
            common = _unpacked(self.common, count, int(group_of[-1]) + 1)[self.monotone]
            # Real weights keep their sizes; the absolute value of a sign is 1.
            weights[self.monotone] = np.abs(weights[self.monotone]) * common[:, group_of]
        return weights

    def mask(self) -> NDArray[np.bool_] | None:
        """The groups that candidates see (candidates, groups); None for all."""
        if self.sizes is None or self.order is None:
            return None
        # The groups with the k smallest of independent uniform numbers are a uniform choice of k.
        sizes = np.minimum(self.sizes, self.order.shape[1])
        # Only the first few places by order are sorted.
        most = int(sizes.max())
        first = np.sort(np.partition(self.order, most - 1, axis=1)[:, :most], axis=1)
        return self.order <= np.take_along_axis(first, sizes[:, None] - 1, axis=1)


def _concatenated(parts: tuple[NDArray, ...]) -> NDArray | None:
    return None if parts[0] is None else np.concatenate(parts)


def _sums_at(
    inputs: LayerInputs, weights: NDArray, rows: NDArray[np.int64], tables: LevelTables | None
) -> NDArray:
    """The sum of every candidate on a row of its own."""
    if tables is not None:
        return tables.sums_at(rows)
    return np.einsum("ti,ti->t", inputs.take(rows), weights.astype(np.float64))


def _packed_signs(rng: np.random.Generator, count: int) -> NDArray[np.uint8]:
    return np.frombuffer(rng.bytes(-(-count // 8)), dtype=np.uint8)[None]


def _unpacked(packed: NDArray[np.uint8], count: int, inputs: int) -> NDArray[np.int8]:
    """Signs (draws * count, inputs) from their bits (draws, bytes)."""
    signs = np.unpackbits(packed, axis=1, count=count * inputs).view(np.int8)
    # In place: bits 0 and 1 become -1 and 1 without a second array.
    signs += signs
    signs -= 1
    return signs.reshape(-1, inputs)


def is_per_layer(inputs_per_node: InputsPerNode) -> bool:
    """Whether there is an entry for each layer: (1, 2) is none, [(1, 2), 6] is."""
    if not isinstance(inputs_per_node, Sequence) or isinstance(inputs_per_node, str):
        return False
    return any(one is None or isinstance(one, (Sequence, Mapping)) for one in inputs_per_node)


def _by_layer(inputs_per_node: InputsPerNode) -> Sequence[Fan]:
    if is_per_layer(inputs_per_node):
        return cast(Sequence[Fan], inputs_per_node)
    return [cast(Fan, inputs_per_node)]


def _mixture(
    inputs_per_node: Fan,
) -> tuple[NDArray[np.int64] | None, NDArray[np.float64] | None]:
    if inputs_per_node is None:
        return None, None
    shares: Sequence[float]
    if isinstance(inputs_per_node, Mapping):
        sizes, shares = list(inputs_per_node), list(inputs_per_node.values())
    else:
        sizes = list(np.atleast_1d(np.asarray(inputs_per_node, dtype=object)))
        shares = [1.0] * len(sizes)
    whole = all(isinstance(k, (int, np.integer)) and k >= 1 for k in sizes)
    if not sizes or not whole or min(shares) < 0 or not 0 < sum(shares) < np.inf:
        raise ParameterError(
            "inputs_per_node must be None, a positive whole number, several of them, or a mapping "
            f"from them to positive shares, or a list of such, not {inputs_per_node!r}"
        )
    return np.array(sizes, dtype=np.int64), np.array(shares, dtype=float) / sum(shares)


def _monotone_share(sign_pattern: SignPattern) -> float:
    named = {"free": 0.0, "monotone": 1.0}
    share = named.get(sign_pattern, sign_pattern) if isinstance(sign_pattern, str) else sign_pattern
    if isinstance(share, str) or not 0 <= share <= 1:
        raise ParameterError(
            "sign_pattern must be 'free', 'monotone' or the share of monotone candidates from 0 to "
            f"1, not {sign_pattern!r}"
        )
    return float(share)


def _bias_interval(bias_range: BiasRange) -> tuple[float, float] | None:
    """The interval of the bias draw, None for the data's own."""
    if isinstance(bias_range, str):
        if bias_range in ("auto", "data", "middle", "paper"):
            # Algorithm 1 draws b from [-1, 1].
            return (-1.0, 1.0) if bias_range == "paper" else None
    elif np.shape(bias_range) == (2,) and -np.inf < bias_range[0] < bias_range[1] < np.inf:
        return float(bias_range[0]), float(bias_range[1])
    raise ParameterError(
        "bias_range must be 'auto', 'data', 'middle', 'paper' or a pair (low, high) with "
        f"low < high, not {bias_range!r}"
    )
