"""Writes a :class:`~scm_model.model.Model` as a file, by the same schema as it is read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scm_model.archive import read_archive, write_archive
from scm_model.column_entries import columns_meta
from scm_model.entries import arrays_of
from scm_model.flags import NOVELTY, flags_meta
from scm_model.layers import AnyLayer, FamilyLayer
from scm_model.meta import meta_to_bytes
from scm_model.model import Model
from scm_model.reader import model_from_arrays
from scm_model.schema import (
    ENCODERS,
    FEATURE_SOURCES,
    FORMAT,
    HISTORY,
    INFO_KEYS,
    MECHANISMS,
    MEMORY,
    OUTPUT,
    RANGES,
    RECORDS_VERSION,
    SIGNAL_RANGES,
    TARGET_RANGES,
    VERSION,
    column_rows,
    evaluation_entries,
    family_entries,
    layer_entries,
    record_entries,
)


def write_model(model: Model, path: str | Path) -> None:
    """Write a model to ``path``, whole or not at all; equal models give equal bytes.

    Models that hardware can't take are saved as well, and the file says so. What the reader would
    refuse is refused here with the same :class:`ModelFileError`.
    """
    write_archive(
        Path(path),
        model_to_arrays(model),
        check=lambda part: model_from_arrays(read_archive(part)),
    )


def model_to_arrays(model: Model) -> dict[str, NDArray[Any]]:
    """The entries of a model's file."""
    entries = {"meta": meta_to_bytes(_meta(model)), **_ranges(model), **arrays_of(model, OUTPUT)}
    entries |= arrays_of(model.encoder, ENCODERS[model.encoder.kind])
    for number, layer in enumerate(model.layers, start=1):
        if isinstance(layer, FamilyLayer):
            entries |= arrays_of(layer, family_entries(number))
        else:
            entries |= arrays_of(layer, layer_entries(number, binary=layer.binary))
    entries |= arrays_of(model.mechanism, MECHANISMS[model.mechanism.kind])
    if model.evaluation is not None and model.memory is not None:
        entries |= arrays_of(model.evaluation, record_entries(classifier=model.is_classifier))
    elif model.evaluation is not None:
        external = model.evaluation.mechanism is not None
        rows = evaluation_entries(classifier=model.is_classifier, external=external)
        evaluation = model.evaluation
        if model.columns is not None:
            rows = column_rows(rows)
            evaluation = replace(evaluation, inputs=model.columns.read(evaluation.inputs))
        entries |= arrays_of(evaluation, rows)
    if model.flags is not None and model.flags.novelty is not None:
        entries |= arrays_of(model.flags.novelty, NOVELTY)
    if model.history is not None:
        entries |= arrays_of(model.history, HISTORY)
    return {name: np.ascontiguousarray(array) for name, array in entries.items()}


def _ranges(model: Model) -> dict[str, NDArray[Any]]:
    """The ranges of what comes in and goes out; with memory that of each signal, and the taps."""
    memory = model.memory
    if model.columns is not None:
        sources = np.array(model.columns.features, dtype=FEATURE_SOURCES.dtype)
        return arrays_of(model, RANGES) | {FEATURE_SOURCES.name: sources}
    if memory is None:
        return arrays_of(model, RANGES)
    # All taps of a signal have its range, so that any of them will do.
    place = {tap.source: column for column, tap in enumerate(memory.taps)}
    columns = [place[source] for source in range(len(memory.signals))]
    seen = replace(model, input_min=model.input_min[columns], input_max=model.input_max[columns])
    return arrays_of(seen, (*SIGNAL_RANGES, *TARGET_RANGES)) | arrays_of(memory, MEMORY)


def _meta(model: Model) -> dict[str, Any]:
    reasons = model.hardware_reasons
    encoder: dict[str, Any] = {"kind": model.encoder.kind}
    if model.encoder.spacing is not None:
        encoder["thresholds"] = model.encoder.spacing
    mechanism: dict[str, Any] = {"kind": model.mechanism.kind}
    if model.mechanism.worst_error is not None:
        mechanism["worst_error"] = model.mechanism.worst_error
    meta = {
        "format": FORMAT,
        "version": _version(model),
        "task": model.task,
        "algorithm": model.algorithm,
        "input_bits": model.input_bits,
        "features": model.signals,
        "targets": model.targets,
        "encoder": encoder,
        "layers": [_layer_meta(layer) for layer in model.layers],
        "mechanism": mechanism,
        "hardware": {"ready": not reasons, "reasons": reasons},
    }
    if model.classes is not None:
        meta["classes"] = model.classes
    if model.memory is not None:
        washout = {"washout": model.memory.washout} if model.memory.washout else {}
        meta["memory"] = {"horizon": model.memory.horizon} | washout
    if model.columns is not None:
        meta["columns"] = columns_meta(model.columns)
    if model.flags is not None:
        meta["flags"] = flags_meta(model.flags)
    return meta | {key: model.info[key] for key in INFO_KEYS if model.info.get(key) is not None}


def _version(model: Model) -> int:
    """The oldest version that can say it, for readers that know no newer one."""
    if model.flags is not None:
        return VERSION
    if model.memory is not None and (model.memory.recurrent or model.memory.washout):
        return VERSION
    if model.memory is not None or model.columns is not None:
        return RECORDS_VERSION
    families = any(isinstance(layer, FamilyLayer) for layer in model.layers)
    return 2 if families or model.decides_by_sign else 1


def _layer_meta(layer: AnyLayer) -> dict[str, Any]:
    if isinstance(layer, FamilyLayer):
        return {"kind": layer.kind, "families": len(layer.supports), "nodes": layer.nodes}
    return {
        "nodes": layer.nodes,
        "activation": layer.activation,
        "weights": "binary" if layer.binary else "real",
    }
