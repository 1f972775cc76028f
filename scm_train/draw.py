"""Random candidates for the next hidden node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scm_train._level_tables import LevelTables
from scm_train.errors import ParameterError
from scm_train.inputs import LayerInputs

__all__ = ["BiasRange", "CandidateDraw", "Candidates", "InputsPerNode", "SignPattern"]

InputsPerNode = int | Sequence[int] | Mapping[int, float] | None
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


class CandidateDraw:
    """Draws candidates for the layers of a machine.

    ``weights`` is ``"binary"`` or ``"real"``. ``inputs_per_node`` is the number of groups that a
    candidate sees: None for all, a number, a sequence to choose from, or a mapping from numbers to
    their shares. ``sign_pattern`` is ``"free"``, ``"monotone"`` (one sign for all inputs of a
    group) or the share of monotone candidates. ``bias_range`` is a pair, ``"paper"`` for [-1, 1],
    ``"data"`` for a bias that puts the candidate's threshold next to its own sum on a random row,
    ``"middle"`` for the same draw, of which the engine moves the threshold of a node that joins, or
    ``"auto"``: the data's where the inputs are bits, elsewhere the paper's.
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
        self._sizes, self._shares = _mixture(inputs_per_node)
        self._monotone = _monotone_share(sign_pattern)
        self._range = _bias_interval(bias_range)
        self._by_data = isinstance(bias_range, str) and bias_range in ("data", "middle")

    def __call__(
        self, rng: np.random.Generator, inputs: LayerInputs, rows: int, count: int
    ) -> Candidates:
        """Draw ``count`` candidates on ``inputs``, which has ``rows`` rows."""
        return self.several([rng], inputs, rows, count)

    def several(
        self, rngs: Iterable[np.random.Generator], inputs: LayerInputs, rows: int, count: int
    ) -> Candidates:
        """``count`` candidates from each generator, which may be the same one again and again."""
        groups = int(inputs.groups[-1]) + 1
        drawn = [self._draw(rng, inputs, groups, rows, count) for rng in rngs]
        weights = np.concatenate([d.weights for d in drawn])
        masks = [d.mask for d in drawn if d.mask is not None]
        tables = inputs.tables(weights) if self.weights == "binary" else None
        biases = np.concatenate([d.offsets for d in drawn])
        at = [d.at for d in drawn if d.at is not None]
        if at:
            # Sums never meet a threshold strictly between the values they can take: none can tie.
            biases -= _sums_at(inputs, weights, np.concatenate(at), tables)
        return Candidates(weights, np.concatenate(masks) if masks else None, biases, tables)

    def _draw(
        self, rng: np.random.Generator, inputs: LayerInputs, groups: int, rows: int, count: int
    ) -> _Drawn:
        weights = self._weights(rng, inputs.groups, groups, count)
        mask = self._mask(rng, groups, count)
        if mask is not None:
            weights *= mask[:, inputs.groups]
        if self._by_data or (self._range is None and inputs.unit == 1):
            at = rng.integers(rows, size=count)
            return _Drawn(weights, mask, rng.uniform(-1, 1, count) / (inputs.unit or FINEST), at)
        low, high = self._range or (-1.0, 1.0)
        return _Drawn(weights, mask, rng.uniform(low, high, count), None)

    def _weights(
        self, rng: np.random.Generator, group_of: NDArray, groups: int, count: int
    ) -> NDArray:
        if self.weights == "binary":
            weights = _signs(rng, (count, len(group_of)))
        else:
            weights = rng.uniform(-1, 1, (count, len(group_of)))
        if self._monotone:
            monotone = rng.random(count) < self._monotone
            signs = _signs(rng, (count, groups))[monotone][:, group_of]
            weights[monotone] = np.abs(weights[monotone]) * signs
        return weights

    def _mask(self, rng: np.random.Generator, groups: int, count: int) -> NDArray[np.bool_] | None:
        if self._sizes is None:
            return None
        sizes = rng.choice(self._sizes, size=count, p=self._shares)
        order = rng.random((count, groups)).argsort(axis=1)
        mask = np.zeros((count, groups), dtype=bool)
        np.put_along_axis(mask, order, np.arange(groups) < sizes[:, None], axis=1)
        return mask


@dataclass(frozen=True, eq=False)
class _Drawn:
    """What chance decides: biases are ``offsets``, less the sums on the rows ``at`` if given."""

    weights: NDArray
    mask: NDArray[np.bool_] | None
    offsets: NDArray[np.float64]
    at: NDArray[np.int64] | None


def _sums_at(
    inputs: LayerInputs, weights: NDArray, rows: NDArray[np.int64], tables: LevelTables | None
) -> NDArray:
    """The sum of every candidate on a row of its own."""
    if tables is not None:
        return tables.sums_at(rows)
    return np.einsum("ti,ti->t", inputs.take(rows), weights.astype(np.float64))


def _signs(rng: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.int8]:
    count = shape[0] * shape[1]
    drawn = np.frombuffer(rng.bytes(-(-count // 8)), dtype=np.uint8)
    signs = np.unpackbits(drawn, count=count).view(np.int8).reshape(shape)
    signs *= 2
    signs -= 1
    return signs


def _mixture(
    inputs_per_node: InputsPerNode,
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
            f"from them to positive shares, not {inputs_per_node!r}"
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
            return (-1.0, 1.0) if bias_range == "paper" else None
    elif np.shape(bias_range) == (2,) and -np.inf < bias_range[0] < bias_range[1] < np.inf:
        return float(bias_range[0]), float(bias_range[1])
    raise ParameterError(
        "bias_range must be 'auto', 'data', 'middle', 'paper' or a pair (low, high) with "
        f"low < high, not {bias_range!r}"
    )
