"""What a machine with memory predicts of records: by taps, one step ahead or running free."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scm_model.columns import in_order
from scm_model.errors import DataError, ParameterError
from scm_model.layers import Layer
from scm_model.memory import Memory, check_first
from scm_model.scaling import Floats, from_unit, to_unit

if TYPE_CHECKING:
    from scm_model.model import Model

__all__ = ["sequence_decision", "signal_rows", "tap_rows", "without_memory"]


def without_memory(model: Model) -> Model:
    """The same machine with taps for features, as it is inside; it carries complete rows alone."""
    memory, rows = model.memory, model.evaluation
    if memory is None:
        return model
    # Bits that come back leave the machine beside its outputs.
    inner = replace(
        model, memory=None, evaluation=None, bits=model.layers[0].nodes if memory.recurrent else 0
    )
    if rows is None:
        return inner
    first = check_first(rows.first, len(rows))
    full = memory.complete(first)
    fed = rows.targets.astype(np.float64) if memory.feedback else None
    if not full.any():
        return inner
    taps = tap_rows(model, rows.inputs, first, fed)[full]
    return replace(
        inner, evaluation=replace(rows, inputs=taps, targets=rows.targets[full], first=None)
    )


def sequence_decision(
    model: Model,
    X: ArrayLike,
    first: ArrayLike | None,
    outputs: ArrayLike | None,
    simulate: bool | None,
) -> Floats:
    """``y_norm`` (n, m) of records of signals; see :meth:`scm_model.model.Model.decision`."""
    memory = model.memory
    assert memory is not None
    rows = signal_rows(model, X)
    begins = check_first(first, len(rows))
    known = _known(model, outputs, len(rows))
    if not memory.feedback:
        if simulate or known is not None:
            what = "simulate" if simulate else "outputs"
            raise ParameterError(f"{what} must be left out for a model without feedback")
        return model.static.decision(tap_rows(model, rows, begins))
    if simulate is None:
        simulate = known is None
    if not simulate:
        if known is None:
            raise ParameterError(
                "outputs must be given to predict one step ahead, not None; "
                "give the measured targets, or simulate=True"
            )
        return _clipped(model, memory.tap_rows(rows, begins, known))
    span = (model.target_min, model.target_max)

    def step(taps: NDArray[Any]) -> Floats:
        return from_unit(_clipped(model, taps), *span)

    return to_unit(memory.free_run(rows, begins, step, known), *span)


def tap_rows(
    model: Model, X: NDArray[Any], first: NDArray[np.bool_], outputs: Floats | None = None
) -> NDArray[Any]:
    """The features of records of signals, with the bits that come back; see
    :meth:`~scm_model.memory.Memory.tap_rows`."""
    memory = model.memory
    assert memory is not None
    taps = memory.tap_rows(X, first, outputs)
    if memory.recurrent:
        places = [place for place, _ in memory.bits]
        nodes = [node for _, node in memory.bits]
        taps[:, places] = _bits_before(model, taps, first)[:, nodes]
    return taps


def _bits_before(model: Model, taps: NDArray[Any], first: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The bits of the first layer's nodes in the row before, clear before a record.

    What a node sees of the row itself is summed up for all rows; only what it sees of bits is done
    row by row. Sums are of whole numbers, and exact.
    """
    memory, layer, encoder = model.memory, model.layers[0], model.encoder
    assert memory is not None and isinstance(layer, Layer)
    x_norm = to_unit(taps, model.input_min, model.input_max)
    weights = layer.effective_weights(encoder.groups).astype(np.float64)
    sums = encoder.encode(x_norm, np.float64) @ weights.T
    # A bit that is set instead of clear turns all coded bits of its feature from -1 to +1.
    turned = np.zeros((layer.nodes, layer.nodes))
    for place, node in memory.bits:
        turned[node] += 2.0 * weights[:, encoder.groups == place].sum(axis=1)
    before = np.zeros((len(taps), layer.nodes), dtype=np.bool_)
    begin = np.flatnonzero(first)
    length = np.diff(np.append(begin, len(first)))
    for k in range(int(length.max(initial=0))):
        now = begin[length > k] + k
        own = sums[now] + before[now] @ turned + layer.biases
        # The next rows of the records that go on.
        following = begin[length > k + 1] + k + 1
        found = own > 0 if layer.activation == "sign" else own >= 0
        before[following] = found[: len(now)][(length > k + 1)[length > k]]
    return before


def _clipped(model: Model, taps: NDArray[Any]) -> Floats:
    """Outputs that are fed back stay within the range of the training targets."""
    return np.clip(model.static.decision(taps), 0.0, 1.0)


def signal_rows(model: Model, X: ArrayLike) -> NDArray[Any]:
    """Rows of a model's signals, which are found by name in a frame."""
    memory = model.memory
    assert memory is not None
    if not _default_names(memory):
        X = in_order(X, memory.signals)
    rows = np.asarray(X)
    if rows.ndim != 2 or rows.shape[1] != len(memory.signals):
        raise DataError(
            f"inputs must be rows of {len(memory.signals)} signals, not of shape {rows.shape}"
        )
    if not np.isfinite(rows).all():
        raise DataError("inputs must be finite numbers in every row of a record")
    return rows


def _known(model: Model, outputs: ArrayLike | None, rows: int) -> Floats | None:
    if outputs is None:
        return None
    values = np.asarray(outputs, dtype=np.float64).reshape(len(np.asarray(outputs)), -1)
    if values.shape != (rows, model.outputs) or not np.isfinite(values).all():
        raise DataError(
            f"outputs must be finite and of shape {(rows, model.outputs)}, not of shape "
            f"{values.shape}"
        )
    return values


def _default_names(memory: Memory) -> bool:
    return memory.signals == tuple(f"x{i}" for i in range(len(memory.signals)))
