"""The float reference: what a model predicts, step by step as ``model_file.md`` says it.

It decides in double precision what trainer, compiler and reports call the model's output. Rows are
taken in chunks, so that memory stays bounded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from scm_model.columns import column_names, has_default_names, in_order
from scm_model.encoder import quantise
from scm_model.errors import DataError, ParameterError
from scm_model.mechanism import ExternalModel
from scm_model.scaling import Floats, to_unit

if TYPE_CHECKING:
    from scm_model.model import Model

__all__ = [
    "Activity",
    "classes_of",
    "codes",
    "decision",
    "evaluate",
    "family_output",
    "held_codes",
    "hidden_layers",
    "hidden_output",
    "input_codes",
    "mechanism_values",
    "normalise",
    "raw_rows",
    "rows_of",
]

#: Numbers per array that a prediction holds at once; it takes rows in chunks accordingly.
CHUNK_NUMBERS = 2**22


Integer = TypeVar("Integer", bound=np.integer[Any])


@dataclass(frozen=True, eq=False)
class Activity:
    """What a model sees and does on some rows.

    ``x`` are the inputs of linear part and mechanism, ``hidden`` the outputs of all nodes, layer
    after layer, without those of families: of these ``firing`` (n, F) has which one fires, as rows
    of the readout. ``mechanism`` and ``output`` are in normalised units.
    """

    x: Floats
    hidden: Floats
    firing: NDArray[np.int64]
    mechanism: Floats
    output: Floats


def hidden_output(activity: Activity, readout: NDArray[Any]) -> NDArray[Any]:
    """What all nodes add to the outputs (n, m) with this readout (N, m)."""
    nodes = activity.hidden @ readout[: activity.hidden.shape[1]]
    return nodes + family_output(activity.firing, readout)


def family_output(firing: NDArray[np.int64], readout: NDArray[Any]) -> NDArray[Any]:
    """The sum of the readouts (N, m) of the nodes that fire (n, F), one family after the other."""
    total = np.zeros((len(firing), readout.shape[1]), dtype=readout.dtype)
    for family in firing.T:
        total += readout[family]
    return total


def normalise(model: Model, X: ArrayLike) -> Floats:
    """Raw inputs (n, d), which must be finite, scaled by the training range; unclipped."""
    _, rows = _behind_columns(model, X)
    if not np.isfinite(rows).all():
        raise DataError("inputs must be finite, not NaN or infinite; mend or drop those rows")
    return to_unit(rows, model.input_min, model.input_max)


def codes(model: Model, X: ArrayLike) -> NDArray[np.int64]:
    """The unsigned integer codes of the features."""
    return _codes(model, normalise(model, X)).astype(np.int64)


def input_codes(model: Model, X: ArrayLike) -> NDArray[np.int64]:
    """The unsigned integer codes that enter hardware: of the features, or of the columns that
    they are made of."""
    columns = model.columns
    if columns is None:
        return codes(model, X)
    read = columns.read(X)
    features = _codes(model, normalise(model.static, _expanded(model, read)))
    found = np.empty(read.shape, dtype=np.int64)
    for place, column in enumerate(columns.columns):
        values, feature = read[:, place], columns.value_feature(place)
        if column.is_category:
            found[:, place] = values
        else:
            # The greatest code is kept for missing values.
            missing, top = np.isnan(values), model.input_codes[place].high
            number = 0 if feature is None else features[:, feature]
            found[:, place] = np.where(missing, top, number)
    return found


def held_codes(model: Model, code: NDArray[Integer]) -> NDArray[Integer]:
    """The codes as the linear part and the mechanism see them, held inside the training range."""
    low, high = [c.low for c in model.codes], [c.high for c in model.codes]
    return np.clip(code, low, high).astype(code.dtype)


def hidden_layers(model: Model, X: ArrayLike) -> list[Floats]:
    """``[H_1, ..., H_M]`` of raw inputs, each (n, N_k) in float64."""
    model, X = _behind_columns(model, X)
    hidden = [np.empty((len(X), layer.nodes)) for layer in model.hidden.layers]
    for rows in _chunks(model, len(X)):
        _, first = _seen(model, X[rows], model.hidden.dtype)
        for whole, part in zip(hidden, model.hidden.after(first), strict=True):
            whole[rows] = part
    return hidden


def mechanism_values(model: Model, X: ArrayLike, given: ArrayLike | None = None) -> Floats:
    """P0 of raw rows in normalised units; ``given`` in target units, of an external mechanism."""
    model, X = _behind_columns(model, X)
    checked = _given_mechanism(model, given, len(X))
    if checked is not None:
        return checked
    x, _ = _seen(model, X, np.float32)
    return model.mechanism.values(X, x, model.target_min, model.target_max)


def decision(model: Model, X: ArrayLike, mechanism: ArrayLike | None = None) -> Floats:
    """``y_norm`` (n, m): outputs in normalised units, for a classifier one per class.

    ``mechanism`` is P0 of each row in target units, for an external mechanism only.
    """
    model, rows = _behind_columns(model, X)
    y_norm = np.empty((len(rows), model.outputs))
    for chosen, chunk in _evaluated(model, rows, mechanism):
        y_norm[chosen] = chunk.output
    return y_norm


def evaluate(model: Model, X: ArrayLike, mechanism: ArrayLike | None = None) -> Activity:
    """What the model sees and does on raw rows; ``mechanism`` as in :func:`decision`."""
    chunks = [chunk for _, chunk in _evaluated(model, X, mechanism)]
    return Activity(
        np.concatenate([chunk.x for chunk in chunks]),
        np.concatenate([_side_by_side(chunk.hidden, len(chunk.x)) for chunk in chunks]),
        np.concatenate([chunk.firing for chunk in chunks]),
        np.concatenate([chunk.mechanism for chunk in chunks]),
        np.concatenate([chunk.output for chunk in chunks]),
    )


def classes_of(output: NDArray[Any]) -> NDArray[np.int64]:
    """The winning class of every row, ties to the lower; of one output, 1 where it is positive."""
    if np.shape(output)[1] == 1:
        return (np.asarray(output)[:, 0] > 0).astype(np.int64)
    return np.asarray(output).argmax(axis=1).astype(np.int64)


@dataclass(frozen=True, eq=False)
class _Chunk:
    """The activity on a chunk of rows; the nodes still by layers."""

    x: Floats
    hidden: list[Floats]
    firing: NDArray[np.int64]
    mechanism: Floats
    output: Floats


def _evaluated(
    model: Model, X: ArrayLike, mechanism: ArrayLike | None
) -> Iterator[tuple[slice, _Chunk]]:
    model, X = _behind_columns(model, X)
    given = _given_mechanism(model, mechanism, len(X))
    for rows in _chunks(model, len(X)):
        yield rows, _evaluate_chunk(model, X[rows], None if given is None else given[rows])


def _evaluate_chunk(model: Model, X: NDArray[Any], given: Floats | None) -> _Chunk:
    x, first = _seen(model, X, model.hidden.dtype)
    p0 = given
    if p0 is None:
        p0 = model.mechanism.values(X, x, model.target_min, model.target_max)
    y_norm = p0 + x @ model.linear + model.intercept
    hidden, start = list(model.hidden.after(first)), 0
    # Layer by layer: the order of the sums decides their last bits, which version 1 files keep.
    for h in hidden:
        y_norm += h @ model.readout[start : start + h.shape[1]]
        start += h.shape[1]
    firing = np.empty((len(x), 0), np.int64)
    if model.families is not None:
        firing = start + model.families.firing(hidden[-1])
        y_norm += family_output(firing, model.readout)
    return _Chunk(x, hidden, firing, p0, y_norm)


def _seen(model: Model, X: NDArray[Any], dtype: DTypeLike) -> tuple[Floats, NDArray[Any]]:
    """The inputs of linear part and mechanism, and ``H_0`` in the type asked for."""
    x_norm = normalise(model, X)
    if model.input_bits is None:
        return x_norm, x_norm.astype(dtype)
    code = _codes(model, x_norm)
    # Exact in float64: a code of 24 bits and its half step, by a power of two.
    x = (held_codes(model, code) + 0.5) / np.ldexp(1.0, [c.bits for c in model.codes])
    if not model.encoder.coded:
        return x, x.astype(dtype)
    return x, model.encoder.encode_codes(code, dtype)


def _codes(model: Model, x_norm: Floats) -> NDArray[np.int32]:
    return quantise(x_norm, [code.bits for code in model.codes])


def _side_by_side(layers: list[Floats], rows: int) -> Floats:
    return np.concatenate([np.empty((rows, 0)), *layers], axis=1)


def _given_mechanism(model: Model, values: ArrayLike | None, n: int) -> Floats | None:
    """Check P0 handed over by the caller, and normalise it."""
    if values is None:
        return None
    if not isinstance(model.mechanism, ExternalModel):
        raise ParameterError(
            f"mechanism_values must be None for a mechanism of kind {model.mechanism.kind!r}, "
            "not an array; the model computes its own"
        )
    if set(model.targets) == set(column_names(values) or ()):
        values = in_order(values, model.targets)
    values = np.asarray(values, dtype=np.float64)
    if values.shape == (n,) and model.outputs == 1:
        values = values[:, None]
    if values.shape != (n, model.outputs) or not np.isfinite(values).all():
        raise DataError(
            f"mechanism_values must be finite and of shape {(n, model.outputs)}, "
            f"not of shape {values.shape}"
        )
    return to_unit(values, model.target_min, model.target_max)


def raw_rows(model: Model, X: ArrayLike) -> NDArray[Any]:
    """Raw rows as an array, as a model carries them: of features, or of columns with labels."""
    if model.columns is None:
        return rows_of(model, X)
    return model.columns.raw(model.columns.read(X))


def _behind_columns(model: Model, X: ArrayLike) -> tuple[Model, NDArray[Any]]:
    """The machine with numbers for features, and the features (n, d) of raw rows."""
    rows = rows_of(model, X)
    return (model if model.columns is None else model.static), rows


def _expanded(model: Model, read: Floats) -> Floats:
    assert model.columns is not None
    return model.columns.expand(read, model.input_min, model.input_max, model.input_bits)


def rows_of(model: Model, X: ArrayLike) -> NDArray[Any]:
    """The features (n, d) of raw rows."""
    if model.columns is not None:
        return _expanded(model, model.columns.read(X))
    if not has_default_names(model):
        X = in_order(X, model.features)
    rows = np.asarray(X)
    if rows.ndim != 2 or rows.shape[1] != len(model.features):
        raise DataError(
            f"inputs must be rows of {len(model.features)} features, not of shape {rows.shape}"
        )
    return rows


def _chunks(model: Model, n: int) -> Iterator[slice]:
    sizes = [layer.nodes for layer in model.hidden.layers]
    families = 0 if model.families is None else len(model.families.supports)
    widest = max(model.encoder.width, len(model.features), model.outputs, *sizes, families, 1)
    size = max(1, CHUNK_NUMBERS // widest)
    # No rows are one chunk of none, so that what is put together has its shape.
    return (slice(start, start + size) for start in range(0, max(n, 1), size))
