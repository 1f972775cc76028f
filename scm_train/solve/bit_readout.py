"""The least-squares readout of nodes that fire or not, from the rows on which pairs of them fire.

Products of such nodes are counts, taken 64 rows at a time and exact. The factor ``R`` of
``H = Q R`` follows from them (by Cholesky), and ``Q`` itself, which would take 64 times the memory
of the nodes, is never written down: with ``U``, the inverse of ``R``, products with ``Q = H U`` are
products with ``H`` times ``U``, and the readout is ``U C`` with ``C = Q^T T``.

That squares the condition of ``H``: nodes must keep some of their norm outside of the others' span,
as the search for them sees to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scm_train.chunks import ChunkMap
from scm_train.solve import packed

__all__ = ["BitNodes", "BitReadout", "Residual", "WholeNumbers"]

Floats = NDArray[np.float64]
Words = NDArray[np.uint64]

#: Less of a node's square norm than this outside of the others' span could be rounding. The search
#: asks for much more.
INDEPENDENT = 1e-9
#: Rows per chunk of a pass over the rows.
CHUNK = 65536
#: Nodes for which there is room at first.
ROOM = 64
#: Columns of a triangular factor that are multiplied at a time.
BLOCK = 256
#: Below this share of the targets' square norm what is left is measured on the rows.
MEASURED = 1e-6
#: A sum of targets is at most this many of their units, so that it is exact.
MOST_UNITS = 2.0**62


@dataclass(frozen=True, eq=False)
class BitNodes:
    """Outputs ``shift + gain * bit`` of nodes on all rows: signs are ``2 bit - 1``."""

    words: Words
    counts: NDArray[np.int64]
    gain: NDArray[np.float64]
    shift: NDArray[np.float64]
    rows: int

    @classmethod
    def of(cls, words: Words, activation: str, rows: int) -> BitNodes:
        """Nodes of one activation by their bits (nodes, words)."""
        counts = packed.overlaps(words, np.full((1, words.shape[1]), ~np.uint64(0)))[:, 0]
        gain, shift = (2.0, -1.0) if activation == "sign" else (1.0, 0.0)
        return cls(words, counts, np.full(len(words), gain), np.full(len(words), shift), rows)

    @classmethod
    def joined(cls, parts: Sequence[BitNodes]) -> BitNodes:
        """The nodes of several batches on the same rows, copied."""
        names = ("words", "counts", "gain", "shift")
        arrays = (np.concatenate([getattr(part, name) for part in parts]) for name in names)
        return cls(*arrays, parts[0].rows)

    def subset(self, which: NDArray[np.intp] | slice) -> BitNodes:
        """Some of the nodes."""
        return BitNodes(
            self.words[which], self.counts[which], self.gain[which], self.shift[which], self.rows
        )

    def put(self, which: NDArray[np.intp], others: BitNodes) -> None:
        """Have other nodes in some places."""
        self.words[which], self.counts[which] = others.words, others.counts
        self.gain[which], self.shift[which] = others.gain, others.shift

    def outputs(self, k: int) -> Floats:
        """The outputs (rows,) of one node."""
        return self.shift[k] + self.gain[k] * packed.unpack(self.words[k : k + 1], self.rows)[0]

    def products(self, others: BitNodes) -> Floats:
        """``<h, g>`` (nodes, others) of all pairs, exact."""
        return self._products(others, packed.overlaps(self.words, others.words))

    @property
    def gram(self) -> Floats:
        """``<h, g>`` of all pairs of these nodes."""
        return self._products(self, packed.overlaps_within(self.words))

    def _products(self, others: BitNodes, both: NDArray[np.int64]) -> Floats:
        # The sum of (s + g b)(s' + g' b') over the rows: that of b b' is the overlap, those of b
        # and b' are the counts, and that of 1 is the number of rows.
        gain, shift = self.gain[:, None], self.shift[:, None]
        return (
            gain * others.gain * both
            + gain * self.counts[:, None] * others.shift
            + shift * others.gain * others.counts
            + shift * others.shift * self.rows
        )

    @property
    def square_norms(self) -> Floats:
        """``<h, h>`` (nodes,)."""
        # (g + s)^2 for each row on which a node fires, s^2 for each of the others.
        return self.counts * (self.gain + self.shift) ** 2 + (self.rows - self.counts) * (
            self.shift**2
        )


@dataclass(frozen=True, eq=False)
class WholeNumbers:
    """Values as whole multiples (outputs, rows) of a unit, so that their sums are exact."""

    whole: NDArray[np.int64]
    unit: float

    @classmethod
    def of(cls, values: Floats) -> WholeNumbers:
        """Values (rows, outputs) to the finest power of two with sums that fit an int64."""
        most = float(np.abs(values).max(initial=0.0)) * len(values)
        # Dividing by a power of two is exact, so that values are rounded once, to the unit.
        unit = float(2.0 ** np.ceil(np.log2(most / MOST_UNITS))) if most else 1.0
        return cls(np.ascontiguousarray(np.rint(values.T / unit).astype(np.int64)), unit)

    def products(self, nodes: BitNodes) -> Floats:
        """The products (nodes, outputs) of nodes with the values, rounded once."""
        sums, totals = packed.sums(nodes.words, self.whole), self.whole.sum(axis=1)
        return self.unit * (nodes.gain[:, None] * sums + nodes.shift[:, None] * totals)


class Residual:
    """What the nodes leave of some rows' targets; ``rmse`` is over all outputs.

    The bits of eight nodes make a byte, and what the eight add to a row is looked up by it.
    """

    def __init__(self, targets: Floats, chunk_map: ChunkMap):
        self._targets = np.ascontiguousarray(targets.T)
        self._left = self._targets.copy()
        #: What the nodes take, until the rows are renewed by it.
        self._waiting: tuple[Floats, Floats] | None = None
        self._map = chunk_map
        self._codes = np.zeros((ROOM // 8, len(targets)), dtype=np.uint8)
        self._measure()

    @property
    def left(self) -> Floats:
        """What is left (rows, outputs)."""
        self._renew()
        return self._left.T

    @property
    def energy(self) -> Floats:
        """Its square norm, of every output."""
        self._renew()
        return self._energy

    @property
    def rmse(self) -> float:
        return float(np.sqrt(self.energy.mean() / self._left.shape[1]))

    def add(self, fires: NDArray[np.bool_], number: int) -> None:
        """Take on the bits of a node."""
        block, bit = divmod(number, 8)
        self._codes = _with_room(self._codes, block, axes=(0,))
        self._codes[block] |= fires.astype(np.uint8) << np.uint8(bit)

    def rewind(self, count: int) -> None:
        """Keep the bits of the first ``count`` nodes."""
        block, bit = divmod(count, 8)
        if block < len(self._codes):
            self._codes[block] &= np.uint8((1 << bit) - 1)
        self._codes[block + 1 :] = 0

    def take(self, coefficients: Floats, constant: Floats) -> None:
        """Leave what the nodes with coefficients (nodes, outputs), and a constant, leave."""
        self._waiting = coefficients, constant

    def _renew(self) -> None:
        if self._waiting is None:
            return
        coefficients, constant = self._waiting
        self._waiting = None
        tables = _tables_of_eight(coefficients)
        self._left[:] = self._targets - constant[:, None]
        self._map(
            lambda rows: packed.subtract_sums(self._codes, tables, rows, self._left),
            self._left.shape[1],
            CHUNK,
        )
        self._measure()

    def _measure(self) -> None:
        self._energy: Floats = np.einsum("qi,qi->q", self._left, self._left)


class BitReadout:
    """Least squares of ``targets`` (rows, outputs) on the nodes added so far, all sign or step.

    As :class:`scm_train.readout.Readout`, for nodes that are independent of each other.
    """

    def __init__(self, targets: Floats, chunk_map: ChunkMap, shadow: Residual | None = None):
        self.targets = targets
        self.shadow = shadow
        self._own = Residual(targets, chunk_map)
        self._whole_energy = self._own.energy
        self._targets = WholeNumbers.of(targets)
        #: The residual, once it was asked for.
        self._residual: WholeNumbers | None = None
        self._count = 0
        self._words = np.zeros((ROOM, packed.words_of(len(targets))), dtype=np.uint64)
        self._counts = np.zeros(ROOM, dtype=np.int64)
        self._gain, self._shift = np.zeros((2, ROOM))
        self._factor, self._inverse = np.zeros((2, ROOM, ROOM))
        self._moments, self._readout = np.zeros((2, ROOM, targets.shape[1]))

    def __len__(self) -> int:
        return self._count

    @property
    def residual(self) -> Floats:
        return self._own.left

    @property
    def energy(self) -> Floats:
        """The residual's square norm, of every output.

        A node takes the square of its part in ``Q^T T`` off it, so that rows need not be looked at.
        """
        # Next to a perfect fit this is a difference of nearly equal numbers, of which no digits are
        # left; the rows are looked at instead.
        taken = self._moments[: self._count]
        told = self._whole_energy - np.einsum("kq,kq->q", taken, taken)
        return told if (told > MEASURED * self._whole_energy).all() else self._own.energy

    @property
    def rmse(self) -> float:
        return float(np.sqrt(self.energy.mean() / len(self.targets)))

    @property
    def validation_rmse(self) -> float:
        return float("nan") if self.shadow is None else self.shadow.rmse

    def nodes(self, some: slice = slice(None)) -> BitNodes:
        """The nodes, or some of them."""
        rows = len(self.targets)
        every = BitNodes(self._words, self._counts, self._gain, self._shift, rows)
        return every.subset(slice(*some.indices(self._count)))

    def correlations(self, nodes: BitNodes) -> Floats:
        """``<h, E>`` (nodes, outputs) of any nodes with the residual."""
        if self._residual is None:
            self._residual = WholeNumbers.of(self.residual)
        return self._residual.products(nodes)

    def correlation(self, node: BitNodes) -> Floats:
        """``<h, E>`` (outputs,) of one node, by counts of pairs with those of the readout."""
        # E = T - H b, so that <h, E> = <h, T> - <h, H> b.
        inside = node.products(self.nodes())[0] @ self._readout[: self._count]
        return self._targets.products(node)[0] - inside

    def projections(self, nodes: BitNodes) -> Floats:
        """``<h, q>`` (nodes, columns of Q) of any nodes."""
        k = self._count
        return _times_upper(nodes.products(self.nodes()), self._inverse[:k, :k])

    def column(self, k: int) -> tuple[Floats, float, Floats]:
        """``r``, ``norm`` and ``c`` of a node: ``h = Q r + norm q`` and ``c = <q, T>``."""
        return self._factor[:k, k], float(self._factor[k, k]), self._moments[k]

    def add(self, h: Floats, shadow_h: Floats | None = None) -> None:
        """Add a node by its outputs (rows,), and on the shadow's rows if there is one."""
        fires = h > 0
        # A sign node may fire on all rows, and show only on the shadow's that it is one.
        signed = h.min() < 0 or (shadow_h is not None and shadow_h.min() < 0)
        node = BitNodes.of(packed.pack(fires[None]), "sign" if signed else "step", len(h))
        k = self._count
        r = self.projections(node)[0]
        square = float(node.square_norms[0])
        assert square - r @ r > INDEPENDENT * square
        norm = float(np.sqrt(square - r @ r))
        self._make_room()
        # Pythagoras: <h, h> = |Q^T h|^2 + norm^2.
        self._factor[:k, k], self._factor[k, k] = r, norm
        # The inverse of [[R, r], [0, norm]] is [[U, -U r / norm], [0, 1 / norm]], with U that of R.
        self._inverse[:k, k] = _upper_times(self._inverse[:k, :k], r) / -norm
        self._inverse[k, k] = 1 / norm
        self._moments[k] = (self._targets.products(node)[0] - r @ self._moments[:k]) / norm
        self._words[k], self._counts[k] = node.words[0], node.counts[0]
        self._gain[k], self._shift[k] = node.gain[0], node.shift[0]
        self._count += 1
        self._include(k)
        self._own.add(fires, k)
        if self.shadow is not None:
            assert shadow_h is not None
            self.shadow.add(shadow_h > 0, k)
        self._solve()

    def rewind(self, count: int) -> None:
        """Keep the first ``count`` nodes, with the residual exactly as it was after them."""
        self._count = count
        # The same additions in the same order as before, for a readout that is equal to the last
        # bit.
        self._readout[:] = 0
        for k in range(count):
            self._include(k)
        for rows in self._rows():
            rows.rewind(count)
        self._solve()

    def factors(self) -> tuple[Floats, Floats]:
        """``R`` (nodes, nodes) and ``Q^T T`` (nodes, outputs)."""
        k = self._count
        return self._factor[:k, :k].copy(), self._moments[:k].copy()

    def _include(self, k: int) -> None:
        """Renew the readout by a node's own share of it."""
        # b = U C, to which node k adds column k of U times row k of C.
        self._readout[: k + 1] += np.outer(self._inverse[: k + 1, k], self._moments[k])

    def _solve(self) -> None:
        """Renew the residuals by the readout of all nodes."""
        k, readout = self._count, self._readout[: self._count]
        self._residual = None
        for rows in self._rows():
            # H b with h = shift + gain bit: coefficients of the bits, and a constant.
            rows.take(self._gain[:k, None] * readout, self._shift[:k] @ readout)

    def _rows(self) -> list[Residual]:
        return [self._own] if self.shadow is None else [self._own, self.shadow]

    def _make_room(self) -> None:
        k = self._count
        for name in ("_words", "_counts", "_gain", "_shift", "_moments", "_readout"):
            setattr(self, name, _with_room(getattr(self, name), k, axes=(0,)))
        for name in ("_factor", "_inverse"):
            setattr(self, name, _with_room(getattr(self, name), k, axes=(0, 1)))


def _times_upper(left: Floats, upper: Floats) -> Floats:
    """``left @ upper``, without looking at most of what is below the diagonal."""
    starts = range(0, len(upper), BLOCK)
    parts = [slice(start, min(start + BLOCK, len(upper))) for start in starts]
    blocks = [left[:, : part.stop] @ upper[: part.stop, part] for part in parts]
    return np.concatenate([left[:, :0], *blocks], axis=1)


def _upper_times(upper: Floats, right: Floats) -> Floats:
    """``upper @ right``, likewise."""
    starts = range(0, len(upper), BLOCK)
    blocks = [upper[start : start + BLOCK, start:] @ right[start:] for start in starts]
    return np.concatenate([*blocks, right[:0]])


def _tables_of_eight(coefficients: Floats) -> Floats:
    """The sums (blocks, outputs, 256) of all subsets of eight nodes' coefficients at a time."""
    nodes, outputs = coefficients.shape
    # The loop that looks them up takes four at a time.
    blocks = 4 * -(-nodes // 32)
    eight = np.zeros((8 * blocks, outputs))
    eight[:nodes] = coefficients
    eight = eight.reshape(blocks, 8, outputs)
    tables = np.zeros((blocks, outputs, 256))
    for bit in range(8):
        known = 1 << bit
        tables[:, :, known : 2 * known] = tables[:, :, :known] + eight[:, bit, :, None]
    return tables


def _with_room(array: NDArray, index: int, axes: tuple[int, ...]) -> NDArray:
    """The array, twice as large along some axes where it has no place ``index`` yet."""
    if index < array.shape[axes[0]]:
        return array
    larger = np.zeros([2 * n if a in axes else n for a, n in enumerate(array.shape)], array.dtype)
    larger[tuple(slice(n) for n in array.shape)] = array
    return larger
