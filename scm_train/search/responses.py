"""The outputs of candidates: all of a draw in float32 on a chunk of rows, or one in float64."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from scm_train.activations import HARDWARE_ACTIVATIONS, activate
from scm_train.chunks import ChunkMap, Scratch
from scm_train.search import kernels
from scm_train.search.candidates import Candidates
from scm_train.search.layer_inputs import LayerInputs, exact_in_float32
from scm_train.solve import packed

__all__ = [
    "Batch",
    "Responses",
    "logistic",
    "node_outputs",
    "outputs_by_rows",
    "packed_outputs",
    "responses",
]

Floats = NDArray[np.float64]

#: Rows per chunk where single nodes are evaluated.
CHUNK_ROWS = 1 << 16
#: Rows per chunk of packed outputs, whole words.
PACKED_ROWS = 1 << 13
#: Bound on the rounding error of a float32 correlation between a candidate and the residual.
ROUNDING = 4e-6
#: What a steep activation adds to it, per unit of lambda and of the root of its inputs.
STEEPNESS = 2.4e-7
#: Beyond this every activation is a step, and sums would leave the range of float32.
MOST_LAMBDA = 1e30


@dataclass(frozen=True, eq=False)
class Batch:
    """Candidates under one lambda, on the inputs of their layer."""

    candidates: Candidates
    lambda_: float
    inputs: LayerInputs
    activation: str

    @property
    def rounding(self) -> float:
        """Bound on the float32 error of a correlation; outputs of sign and step are exact."""
        if self.activation in HARDWARE_ACTIVATIONS:
            return ROUNDING
        # A weight of 0 adds nothing to round.
        seen = np.count_nonzero(self.candidates.weights, axis=1).max()
        steep = STEEPNESS * self.lambda_ * np.sqrt(seen)
        # Whatever the error, a correlation stays between -1 and 1.
        return min(ROUNDING + steep, 2.0)

    def part(self, some: slice) -> Batch:
        return replace(self, candidates=self.candidates.part(some))

    def subset(self, which: NDArray[np.intp]) -> Batch:
        return replace(self, candidates=self.candidates.subset(which))

    @property
    def whole(self) -> bool:
        """Whether sums are of whole multiples of the inputs' unit, and exact."""
        return exact_in_float32(self.inputs, self.candidates.weights)

    @cached_property
    def limits(self) -> NDArray[np.int64]:
        """The least sums at which candidates fire, in units of the inputs."""
        # The unit is a power of two, so that nothing is rounded.
        biases = self.candidates.biases * self.inputs.unit
        # For a whole number s, s + b > 0 where s >= floor(-b) + 1, and s + b >= 0 where
        # s >= ceil(-b); s itself is within the number of weights.
        limits = np.floor(-biases) + 1 if self.activation == "sign" else np.ceil(-biases)
        most = self.candidates.weights.shape[1] * self.inputs.unit + 1
        return np.minimum(np.maximum(limits, -most), most).astype(np.int64)

    def outputs(self, which: NDArray[np.intp], rows: int, chunk_map: ChunkMap) -> Floats:
        """Some candidates' outputs (candidates, rows) in float64."""
        tables = self.candidates.tables
        if tables is not None and self.activation in HARDWARE_ACTIVATIONS:
            least = -1.0 if self.activation == "sign" else 0.0
            write = tables.outputs(which, self.limits[which], least)
            h = np.empty((len(which), rows))
            chunk_map(lambda chunk: write(chunk, h[:, chunk]), rows, CHUNK_ROWS)
            return h
        nodes = self.candidates.subset(which)
        return node_outputs(nodes, self.lambda_, self.inputs, self.activation, rows, chunk_map)


def node_outputs(
    nodes: Candidates,
    lambda_: float,
    inputs: LayerInputs,
    activation: str,
    rows: int,
    chunk_map: ChunkMap,
) -> Floats:
    """``phi(lambda (w h + b))`` of a few candidates on all rows, (candidates, rows) in float64."""
    on = outputs_by_rows(nodes, lambda_, inputs, activation)
    h = np.empty((len(nodes), rows))
    chunk_map(lambda chunk: on(chunk, h[:, chunk]), rows, CHUNK_ROWS)
    return h


def outputs_by_rows(
    nodes: Candidates, lambda_: float, inputs: LayerInputs, activation: str
) -> Callable[[slice, Floats], None]:
    """Prepare likewise: a function that writes the outputs on some rows to an array.

    Sums that are exact in float32 are left there.
    """
    whole = exact_in_float32(inputs, nodes.weights)
    sums = inputs.sums(nodes.weights, np.zeros(len(nodes)), np.float32 if whole else np.float64)

    def on(chunk: slice, out: Floats) -> None:
        z = sums(chunk).T + nodes.biases[:, None]
        # Sign and step look at the sign alone, which a positive lambda does not change.
        if activation not in HARDWARE_ACTIVATIONS:
            # Out of range is far in the saturated part, where it belongs.
            with np.errstate(over="ignore"):
                z *= lambda_
        activate(activation, z, out=out)

    return on


@dataclass(frozen=True)
class Responses:
    """Candidates on a chunk of rows: ``h = shift + gain t``, ``t = on(chunk)`` (rows, T)."""

    on: Callable[[slice], NDArray[np.float32]]
    shift: float = 0.0
    gain: float = 1.0

    def outputs(self, t: NDArray[np.float32]) -> Floats:
        """``h`` (T, rows) in float64."""
        return self.shift + self.gain * t.T.astype(np.float64, order="C")


def responses(batch: Batch, scratch: Scratch) -> Responses:
    if batch.activation == "sign":
        return Responses(_bits(batch, scratch), -1.0, 2.0)
    if batch.activation == "step":
        return Responses(_bits(batch, scratch))
    # 1 / (1 + exp(-z)) = 1/2 + tanh(z / 2) / 2.
    if batch.activation == "sigmoid":
        # Half the price of the exponential, but imprecise next to 0.
        return Responses(_smooth(batch, _tanh, 0.5), 0.5, 0.5)
    if batch.activation == "tanh":
        return Responses(_smooth(batch, _tanh, 1.0))
    return Responses(_smooth(batch, lambda z: np.clip(z, 0, 1, out=z), 1.0))


def _tanh(z: NDArray[np.float32]) -> None:
    loops = kernels.loops
    if loops is not None and (z.flags.c_contiguous or z.flags.f_contiguous):
        loops.tanh(z.ravel(order="K"))
    else:
        np.tanh(z, out=z)


def logistic(batch: Batch) -> Responses:
    """Sigmoid candidates, as precise next to 0 as elsewhere."""
    return Responses(_smooth(batch, _logistic_of_negative, -1.0))


def _logistic_of_negative(z: NDArray[np.float32]) -> None:
    """``1 / (1 + exp(z))``; overflow to 0 is meant."""
    with np.errstate(over="ignore"):
        np.exp(z, out=z)
    z += 1
    np.reciprocal(z, out=z)


def _smooth(
    batch: Batch, in_place: Callable[[NDArray[np.float32]], object], scale: float
) -> Callable[[slice], NDArray[np.float32]]:
    # More saturates just as well, and float32 can hold this.
    factor = min(batch.lambda_, MOST_LAMBDA) * scale
    candidates = batch.candidates
    # Lambda scales the weights once, and not the sums of all rows.
    sums = batch.inputs.sums(candidates.weights * factor, candidates.biases * factor, np.float32)

    def on(chunk: slice) -> NDArray[np.float32]:
        z = sums(chunk)
        in_place(z)
        return z

    return on


def packed_outputs(batch: Batch, rows: int, chunk_map: ChunkMap) -> NDArray[np.uint64]:
    """Whether candidates fire (T, rows), exactly, as words of 64 rows each."""
    candidates = batch.candidates
    words = np.zeros((len(candidates), packed.words_of(rows)), dtype=np.uint64)
    write = None
    if batch.whole:
        write = batch.inputs.packs(candidates.weights, batch.limits)
    if write is None:
        fires = _fires(batch)

        def write(chunk: slice, out: NDArray[np.uint64]) -> None:
            out[:] = packed.pack(fires(chunk).T)

    def on(chunk: slice) -> None:
        write(
            chunk,
            words[:, chunk.start // packed.WORD :][:, : packed.words_of(chunk.stop - chunk.start)],
        )

    chunk_map(on, rows, PACKED_ROWS)
    return words


def _bits(batch: Batch, scratch: Scratch) -> Callable[[slice], NDArray[np.float32]]:
    """The bits as numbers."""
    fires = _fires(batch)

    def on(chunk: slice) -> NDArray[np.float32]:
        fired = fires(chunk)
        # In the order of what is copied, whichever it is.
        if fired.flags.c_contiguous:
            out = scratch("bits", fired.shape, np.float32)
        else:
            out = scratch("bits", fired.shape[::-1], np.float32).T
        np.copyto(out, fired)
        return out

    return on


def _fires(batch: Batch) -> Callable[[slice], NDArray[np.bool_]]:
    """Whether each row fires, exactly: rounding near the threshold would flip whole rows."""
    candidates = batch.candidates
    if candidates.tables is not None:
        return candidates.tables.fires(batch.limits)
    if batch.whole:
        return batch.inputs.fires(candidates.weights, batch.limits)
    sums = batch.inputs.sums(candidates.weights, candidates.biases, np.float64)
    compare = np.greater if batch.activation == "sign" else np.greater_equal
    return lambda chunk: compare(sums(chunk), 0)
