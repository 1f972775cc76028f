"""Model files: a :class:`~scm_train.machine.Machine` as one ``.npz``.

The format is ``scm-model`` version 1, described in ``scm_hw/load/model_file.md``. Loading a file
that :func:`save` wrote gives a machine whose predictions are the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scm_train._archive import Archive, write_archive
from scm_train._model_meta import (
    FORMAT,
    INFO_KEYS,
    MAX_META_BYTES,
    VERSION,
    meta_from_bytes,
    meta_to_bytes,
)
from scm_train.encoders import Encoder
from scm_train.errors import ModelFileError, ParameterError
from scm_train.machine import Curve, EvaluationRows, Layer, Machine, hardware_reasons
from scm_train.mechanisms import (
    ExternalModel,
    Mechanism,
    NoMechanism,
    PolynomialModel,
    TableModel,
)

__all__ = ["MAX_EVALUATION_ROWS", "load", "save"]

MAX_EVALUATION_ROWS = 20_000
MAX_TABLE_STEPS = 10


def save(machine: Machine, path: str | Path) -> None:
    """Write a machine to ``path``, whole or not at all; equal machines give equal bytes.

    Machines that hardware can't take are saved as well, and the file says so. What :func:`load`
    would refuse is refused here with the same :class:`ModelFileError`.
    """
    entries = {"meta": meta_to_bytes(_meta(machine)), **_arrays(machine)}
    write_archive(Path(path), entries, check=_load)


def load(path: str | Path, mechanism: Callable[[NDArray], ArrayLike] | None = None) -> Machine:
    """Read a machine; ``mechanism`` is the callable of one with an external mechanism.

    Raises :class:`ModelFileError`, one line with the file's name, if anything in the file breaks a
    rule of the format.
    """
    try:
        machine = _load(Path(path), mechanism)
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from error
    if mechanism is not None and not isinstance(machine.mechanism, ExternalModel):
        raise ParameterError(
            f"mechanism must be None for a model whose mechanism is of kind "
            f"{machine.mechanism.kind!r}, not {mechanism!r}; the file holds all of it"
        )
    return machine


# ---------------------------------------------------------------------------------- writing


def _meta(machine: Machine) -> dict[str, Any]:
    reasons = hardware_reasons(machine)
    encoder: dict[str, Any] = {"kind": machine.encoder.kind}
    if machine.encoder.spacing is not None:
        encoder["thresholds"] = machine.encoder.spacing
    mechanism: dict[str, Any] = {"kind": machine.mechanism.kind}
    if machine.mechanism.worst_error is not None:
        mechanism["worst_error"] = machine.mechanism.worst_error
    meta = {
        "format": FORMAT,
        "version": VERSION,
        "task": machine.task,
        "algorithm": machine.algorithm,
        "input_bits": machine.encoder.input_bits,
        "features": machine.feature_names,
        "targets": machine.target_names,
        "encoder": encoder,
        "layers": [_layer_meta(layer) for layer in machine.layers],
        "mechanism": mechanism,
        "hardware": {"ready": not reasons, "reasons": reasons},
    }
    if machine.classes is not None:
        meta["classes"] = machine.classes
    return meta | {key: machine.info[key] for key in INFO_KEYS if machine.info.get(key) is not None}


def _layer_meta(layer: Layer) -> dict[str, Any]:
    return {
        "nodes": layer.nodes,
        "activation": layer.activation,
        "weights": "binary" if layer.binary else "real",
    }


def _arrays(machine: Machine) -> dict[str, NDArray]:
    arrays: dict[str, NDArray] = {
        name: np.asarray(getattr(machine, name), dtype=np.float64)
        for name in (
            "input_min",
            "input_max",
            "target_min",
            "target_max",
            "readout",
            "linear",
            "intercept",
        )
    }
    encoder = machine.encoder
    if encoder.coded:
        arrays["encoder_bits"] = np.array(encoder.bits, dtype=np.int32)
    if encoder.kind == "thermometer":
        arrays["thresholds"] = np.concatenate(encoder.thresholds).astype(np.int64)
    for number, layer in enumerate(machine.layers, start=1):
        arrays |= _layer_arrays(f"layer{number}", layer)
    return arrays | _mechanism_arrays(machine.mechanism) | _optional_arrays(machine)


def _layer_arrays(name: str, layer: Layer) -> dict[str, NDArray]:
    arrays = {f"{name}_weights": _pack(layer.weights > 0) if layer.binary else layer.weights}
    if layer.mask is not None:
        arrays[f"{name}_mask"] = _pack(layer.mask)
    arrays[f"{name}_lambda"] = np.asarray(layer.lambdas, dtype=np.float64)
    arrays[f"{name}_bias"] = np.asarray(layer.biases, dtype=np.float64)
    return arrays


def _mechanism_arrays(mechanism: Mechanism) -> dict[str, NDArray]:
    if isinstance(mechanism, PolynomialModel):
        return {
            "mechanism_exponents": mechanism.exponents,
            "mechanism_coefficients": mechanism.coefficients,
        }
    if isinstance(mechanism, TableModel):
        return {"mechanism_inputs": mechanism.inputs, "mechanism_grid": mechanism.grid}
    if isinstance(mechanism, ExternalModel):
        return {"mechanism_range": mechanism.range}
    return {}


def _optional_arrays(machine: Machine) -> dict[str, NDArray]:
    arrays: dict[str, NDArray] = {}
    rows, history = machine.evaluation, machine.history
    if rows is not None:
        kind = np.float64 if machine.classes is None else np.int64
        arrays["eval_inputs"] = np.asarray(rows.inputs, dtype=np.float64)
        arrays["eval_targets"] = np.asarray(rows.targets, dtype=kind)
        if rows.mechanism is not None:
            arrays["eval_mechanism"] = np.asarray(rows.mechanism, dtype=np.float64)
    if history is not None:
        arrays["history_train_rmse"] = np.asarray(history.train_rmse, dtype=np.float64)
        arrays["history_validation_rmse"] = np.asarray(history.validation_rmse, dtype=np.float64)
        arrays["history_layer"] = np.asarray(history.layer, dtype=np.int32)
    return arrays


def _pack(bits: NDArray[np.bool_]) -> NDArray[np.uint8]:
    return np.packbits(bits, axis=1, bitorder="little")


# ---------------------------------------------------------------------------------- reading


def _load(path: Path, mechanism: Callable[[NDArray], ArrayLike] | None = None) -> Machine:
    with Archive(path) as archive:
        if "meta" in archive and archive.shape("meta") > (MAX_META_BYTES,):
            raise ModelFileError(f"meta must be at most {MAX_META_BYTES} bytes")
        meta = meta_from_bytes(archive.take("meta", np.uint8, (None,)))
        d, m = len(meta["features"]), len(meta["targets"])
        encoder = _load_encoder(archive, meta, d)
        layers = _load_layers(archive, meta, encoder)
        machine = Machine(
            task=meta["task"],
            algorithm=meta["algorithm"],
            encoder=encoder,
            layers=layers,
            readout=archive.take("readout", np.float64, (sum(k.nodes for k in layers), m)),
            linear=archive.take("linear", np.float64, (d, m)),
            intercept=archive.take("intercept", np.float64, (m,)),
            **_load_ranges(archive, d, m),
            feature_names=tuple(meta["features"]),
            target_names=tuple(meta["targets"]),
            mechanism=_load_mechanism(archive, meta, d, m, mechanism),
            classes=tuple(meta["classes"]) if meta["task"] == "classification" else None,
            info={key: meta[key] for key in INFO_KEYS if key in meta},
            history=_load_history(archive),
            evaluation=_load_evaluation(archive, meta, d, m),
        )
    return machine


def _load_ranges(archive: Archive, d: int, m: int) -> dict[str, NDArray]:
    sizes = {"input_min": d, "input_max": d, "target_min": m, "target_max": m}
    ranges = {name: archive.take(name, np.float64, (size,)) for name, size in sizes.items()}
    if (ranges["input_min"] > ranges["input_max"]).any():
        raise ModelFileError("input_min must be at most input_max")
    if (ranges["target_min"] >= ranges["target_max"]).any():
        raise ModelFileError("target_min must be below target_max")
    return ranges


def _load_encoder(archive: Archive, meta: dict[str, Any], d: int) -> Encoder:
    kind, input_bits = meta["encoder"]["kind"], meta["input_bits"]
    if kind == "none":
        return Encoder(kind, input_bits, (), (), None, d)
    bits = archive.take("encoder_bits", np.int32, (d,))
    most = 2**input_bits - 1 if kind == "thermometer" else input_bits
    if bits.min() < 1 or bits.max() > most:
        raise ModelFileError(f"encoder_bits must be from 1 to {most}, not {bits.tolist()}")
    thresholds: tuple[NDArray[np.int64], ...] = ()
    spacing = None
    if kind == "thermometer":
        total = int(bits.sum(dtype=np.int64))
        flat = archive.take("thresholds", np.int64, (total,))
        thresholds = tuple(np.split(flat, np.cumsum(bits)[:-1]))
        spacing = meta["encoder"].get("thresholds")
        for feature in thresholds:
            if feature[0] < 1 or feature[-1] > most or (np.diff(feature) <= 0).any():
                raise ModelFileError(f"thresholds must increase strictly from 1 to {most} at most")
    return Encoder(kind, input_bits, tuple(bits.tolist()), thresholds, spacing, d)


def _load_layers(archive: Archive, meta: dict[str, Any], encoder: Encoder) -> tuple[Layer, ...]:
    layers = []
    inputs, groups = encoder.width, encoder.n_features
    for number, about in enumerate(meta["layers"], start=1):
        layers.append(_load_layer(archive, f"layer{number}", about, inputs, groups))
        inputs = groups = about["nodes"]
    return tuple(layers)


def _load_layer(
    archive: Archive, name: str, about: dict[str, Any], inputs: int, groups: int
) -> Layer:
    nodes = about["nodes"]
    if about["weights"] == "binary":
        signs = _take_packed(archive, f"{name}_weights", nodes, inputs)
        weights: NDArray = np.where(signs, np.int8(1), np.int8(-1))
    else:
        weights = archive.take(f"{name}_weights", np.float64, (nodes, inputs))
    mask = None
    if f"{name}_mask" in archive:
        mask = _take_packed(archive, f"{name}_mask", nodes, groups)
        if not mask.any(axis=1).all():
            raise ModelFileError(f"{name}_mask must leave every node at least one input")
    lambdas = archive.take(f"{name}_lambda", np.float64, (nodes,))
    if (lambdas <= 0).any():
        raise ModelFileError(f"{name}_lambda must be positive, not {lambdas.min()}")
    biases = archive.take(f"{name}_bias", np.float64, (nodes,))
    return Layer(weights, lambdas, biases, about["activation"], mask)


def _take_packed(archive: Archive, name: str, rows: int, columns: int) -> NDArray[np.bool_]:
    packed = archive.take(name, np.uint8, (rows, -(-columns // 8)))
    bits = np.unpackbits(packed, axis=1, bitorder="little")
    if bits[:, columns:].any():
        raise ModelFileError(f"{name} must be 0 in its padding bits")
    return bits[:, :columns].astype(bool)


def _load_mechanism(
    archive: Archive,
    meta: dict[str, Any],
    d: int,
    m: int,
    function: Callable[[NDArray], ArrayLike] | None,
) -> Mechanism:
    about = meta["mechanism"]
    worst = about.get("worst_error")
    if worst is not None and not isinstance(worst, (int, float)):
        raise ModelFileError(f"worst_error of the mechanism must be a number, not {worst!r}")
    if about["kind"] == "external":
        span = archive.take("mechanism_range", np.float64, (2, m))
        if (span[0] > span[1]).any():
            raise ModelFileError("mechanism_range must be the least P0, then the greatest")
        return ExternalModel(span, function)
    if about["kind"] == "polynomial":
        exponents = archive.take("mechanism_exponents", np.uint8, (None, d))
        coefficients = archive.take("mechanism_coefficients", np.float64, (len(exponents), m))
        return PolynomialModel(exponents, coefficients, worst)
    if about["kind"] == "table":
        return _load_table(archive, d, m, meta["input_bits"], worst)
    return NoMechanism()


def _load_table(
    archive: Archive, d: int, m: int, input_bits: int | None, worst: float | None
) -> TableModel:
    inputs = archive.take("mechanism_inputs", np.int32, (None,))
    distinct = len(set(inputs.tolist())) == len(inputs)
    if not 1 <= len(inputs) <= 3 or not distinct or inputs.min() < 0 or inputs.max() >= d:
        raise ModelFileError(
            f"mechanism_inputs must be one to three distinct features of {d}, not {inputs.tolist()}"
        )
    grid = archive.take("mechanism_grid", np.float64, (None,) * len(inputs) + (m,))
    finest = min(MAX_TABLE_STEPS, input_bits or MAX_TABLE_STEPS)
    allowed = {2**s + 1 for s in range(1, finest + 1)}
    if not set(grid.shape[:-1]) <= allowed:
        raise ModelFileError(
            f"mechanism_grid must have 2**s + 1 points per input, s from 1 to {finest}, "
            f"not {grid.shape[:-1]}"
        )
    return TableModel(inputs, grid, worst)


def _load_evaluation(
    archive: Archive, meta: dict[str, Any], d: int, m: int
) -> EvaluationRows | None:
    if "eval_inputs" not in archive:
        return None
    rows = archive.shape("eval_inputs")[0] if archive.shape("eval_inputs") else 0
    if rows > MAX_EVALUATION_ROWS:
        raise ModelFileError(f"eval_inputs must be at most {MAX_EVALUATION_ROWS} rows, not {rows}")
    inputs = archive.take("eval_inputs", np.float64, (None, d))
    if meta["task"] == "regression":
        targets = archive.take("eval_targets", np.float64, (rows, m))
    else:
        targets = archive.take("eval_targets", np.int64, (rows,))
        if rows and not (targets.min() >= 0 and targets.max() < m):
            raise ModelFileError(f"eval_targets must be indices of the {m} classes")
    mechanism = None
    if meta["mechanism"]["kind"] == "external":
        mechanism = archive.take("eval_mechanism", np.float64, (rows, m))
    return EvaluationRows(inputs, targets, mechanism)


def _load_history(archive: Archive) -> Curve | None:
    if "history_train_rmse" not in archive:
        return None
    train = archive.take("history_train_rmse", np.float64, (None,))
    return Curve(
        train,
        archive.take("history_validation_rmse", np.float64, (len(train),)),
        archive.take("history_layer", np.int32, (len(train),)),
    )
