"""From arrays and JSON to a checked :class:`~scm_model.model.Model`.

Every rule of ``model_file.md`` is enforced here or in the schema.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scm_model.archive import read_archive
from scm_model.column_entries import check_column_ranges, check_column_rows, read_columns
from scm_model.encoder import Encoder, most_bits
from scm_model.entries import Arrays, Entry
from scm_model.errors import ModelFileError
from scm_model.flags import Flags, read_flags
from scm_model.interval import check_interval
from scm_model.layers import AnyLayer, FamilyLayer, Layer
from scm_model.mechanism import (
    ExternalModel,
    Mechanism,
    NoMechanism,
    PolynomialModel,
    TableModel,
)
from scm_model.memory import Memory
from scm_model.memory_entries import check_bits, read_memory, tap_ranges
from scm_model.meta import Meta, layer_kind, layer_meta
from scm_model.model import Curve, Evaluation, Model
from scm_model.raw_columns import Columns
from scm_model.scaling import Floats
from scm_model.schema import (
    ENCODER_BITS,
    ENCODERS,
    HISTORY,
    MAX_EVALUATION_ROWS,
    MAX_FAMILY_BITS,
    MAX_FAMILY_NODES,
    MAX_GRID_STEPS,
    MAX_TABLE_INPUTS,
    MECHANISMS,
    OUTPUT,
    RANGES,
    SIGNAL_RANGES,
    TARGET_RANGES,
    THRESHOLDS,
    column_rows,
    evaluation_entries,
    family_entries,
    layer_entries,
    record_entries,
)

# Rows that are more training ranges away than this are no measurements, and their squares overflow.
FARTHEST = 1e60
META = Entry("meta", np.uint8, ("bytes",))


def read_model(path: str | os.PathLike[str]) -> Model:
    """The model in a file, or a `ModelFileError` that says what is wrong with it."""
    try:
        return model_from_arrays(read_archive(path))
    except ModelFileError as error:
        if str(path) in str(error):
            raise
        raise ModelFileError(f"model file {path}: {error}") from None


def model_from_arrays(entries: dict[str, NDArray[Any]]) -> Model:
    """The model that a file's entries describe."""
    arrays = Arrays(entries)
    meta = Meta(arrays.get(META))
    features, targets = meta.names("features"), meta.names("targets")
    arrays.lengths |= {"d": len(features), "s": len(features), "m": len(targets)}
    task, input_bits = meta.task, meta.input_bits
    if "interval" in meta.info:
        check_interval(meta.info["interval"], task, len(targets))
    memory = read_memory(arrays, meta, features)
    if memory is not None:
        arrays.lengths["d"] = len(memory.taps)
    columns = read_columns(arrays, meta, features)
    encoder = _read_encoder(arrays, meta, arrays.lengths["d"], input_bits)
    layers = _read_layers(arrays, meta, encoder)
    ranges = _read_ranges(arrays, RANGES if memory is None else (*SIGNAL_RANGES, *TARGET_RANGES))
    seen = ranges if memory is None else tap_ranges(ranges, memory)
    if columns is not None:
        check_column_ranges(columns, ranges)
    # The readout has a row for each node, whose number only the layers say.
    output = arrays.part(OUTPUT, N=sum(layer.nodes for layer in layers))
    mechanism = _read_mechanism(arrays, meta, input_bits)
    check_bits(memory, output["linear"], mechanism)
    return Model(
        task=task,
        algorithm=meta.algorithm,
        encoder=encoder,
        layers=layers,
        features=_feature_names(features, targets, memory, columns),
        targets=targets,
        classes=meta.classes(len(targets)),
        input_min=seen["input_min"],
        input_max=seen["input_max"],
        target_min=ranges["target_min"],
        target_max=ranges["target_max"],
        readout=output["readout"],
        linear=output["linear"],
        intercept=output["intercept"],
        mechanism=mechanism,
        info=meta.info,
        history=_read_history(arrays),
        evaluation=_read_evaluation(arrays, meta, ranges, columns, records=memory is not None),
        memory=memory,
        columns=columns,
        flags=_read_flags(arrays, meta, task, layers, memory),
    )


def _read_flags(
    arrays: Arrays, meta: Meta, task: str, layers: tuple[AnyLayer, ...], memory: Memory | None
) -> Flags | None:
    if meta.flags is None:
        return None
    if memory is not None:
        raise ModelFileError("meta 'flags' must not be beside meta 'memory'")
    return read_flags(arrays, meta.flags, task, layers)


def _feature_names(
    told: tuple[str, ...], targets: tuple[str, ...], memory: Memory | None, columns: Columns | None
) -> tuple[str, ...]:
    if columns is not None:
        return columns.feature_names
    return told if memory is None else memory.names(targets)


def _read_ranges(arrays: Arrays, entries: tuple[Entry, ...]) -> dict[str, Floats]:
    found = arrays.part(entries)
    if (found["input_min"] > found["input_max"]).any():
        raise ModelFileError("entry 'input_max' must be at least 'input_min' for every feature")
    if not (found["target_min"] < found["target_max"]).all():
        raise ModelFileError("entry 'target_max' must be above 'target_min' for every target")
    for kind in ("input", "target"):
        with np.errstate(over="ignore"):
            span = found[f"{kind}_max"] - found[f"{kind}_min"]
        if not np.isfinite(span).all():
            raise ModelFileError(f"entry '{kind}_max' must be at a finite distance of '{kind}_min'")
    return found


def _read_encoder(arrays: Arrays, meta: Meta, d: int, input_bits: int | None) -> Encoder:
    kind, about = meta.section("encoder", ENCODERS)
    if kind == "none":
        return Encoder(kind, input_bits, (), (), None, d)
    if input_bits is None:
        raise ModelFileError(f"meta 'input_bits' must be a number for encoder {kind!r}, not null")
    bits = arrays.get(ENCODER_BITS)
    most = most_bits(kind, input_bits)
    if bits.min() < 1 or bits.max() > most:
        raise ModelFileError(f"entry 'encoder_bits' must be in [1, {most}] for {kind!r} codes")
    counts = tuple(bits.tolist())
    if kind != "thermometer":
        return Encoder(kind, input_bits, counts, (), None, d)
    arrays.lengths["coded"] = sum(counts)
    # All features' thresholds are one entry, cut by their numbers of bits.
    parts = np.split(arrays.get(THRESHOLDS), np.cumsum(bits)[:-1])
    for feature, part in enumerate(parts):
        if (np.diff(part) <= 0).any() or part[0] < 1 or part[-1] > most:
            raise ModelFileError(
                f"entry 'thresholds' of feature {feature} must increase strictly within [1, {most}]"
            )
    thresholds = tuple(tuple(part.tolist()) for part in parts)
    return Encoder(kind, input_bits, counts, thresholds, about.get("thresholds"), d)


def _read_layers(arrays: Arrays, meta: Meta, encoder: Encoder) -> tuple[AnyLayer, ...]:
    layers: list[AnyLayer] = []
    inputs, groups = encoder.width, encoder.n_features
    for number, item in enumerate(meta.layers, start=1):
        layer: AnyLayer
        if layer_kind(number, item, meta.version) == "families":
            layer = _read_families(arrays, number, layers)
            if number < len(meta.layers):
                raise ModelFileError(f"layer {number} must be the last, as it is of families")
        else:
            layer = _read_layer(arrays, number, item, inputs, groups)
        layers.append(layer)
        inputs = groups = layer.nodes
    return tuple(layers)


def _read_families(arrays: Arrays, number: int, before: list[AnyLayer]) -> FamilyLayer:
    if not before or not before[-1].hard:
        raise ModelFileError(
            f"layer {number} of families must follow a layer of sign or step nodes"
        )
    entries = family_entries(number)
    supports = arrays.part(entries)["supports"]
    name = entries[0].name
    if not len(supports) or not 1 <= supports.shape[1] <= MAX_FAMILY_BITS:
        raise ModelFileError(
            f"entry {name!r} must have families of 1 to {MAX_FAMILY_BITS} bits, "
            f"not shape {supports.shape}"
        )
    nodes = before[-1].nodes
    if supports.min() < -1 or supports.max() >= nodes:
        raise ModelFileError(f"entry {name!r} must be -1 or places of {nodes} nodes")
    absent = supports < 0
    if absent[:, 0].any() or (absent[:, :-1] & ~absent[:, 1:]).any():
        raise ModelFileError(f"entry {name!r} must have -1 behind the bits of a family alone")
    # Places that are absent get values of their own, so that they are distinct too.
    ordered = np.sort(np.where(absent, -1 - np.arange(supports.shape[1]), supports), axis=1)
    if (np.diff(ordered, axis=1) == 0).any():
        raise ModelFileError(f"entry {name!r} must have distinct bits in each family")
    layer = FamilyLayer(supports)
    if layer.nodes > MAX_FAMILY_NODES:
        raise ModelFileError(
            f"layer {number} must have at most {MAX_FAMILY_NODES} nodes, not {layer.nodes}"
        )
    return layer


def _read_layer(
    arrays: Arrays, number: int, item: dict[str, Any], inputs: int, groups: int
) -> Layer:
    about = layer_meta(number, item, inputs)
    entries = layer_entries(number, binary=about.binary)
    part = arrays.part(entries, n=about.nodes, a=inputs, groups=groups)
    if about.binary:
        part["weights"] = np.where(part["weights"], np.int8(1), np.int8(-1))
    if "mask" in part and not part["mask"].any(axis=1).all():
        raise ModelFileError(f"entry 'layer{number}_mask' must leave every node an input")
    if (part["lambdas"] <= 0).any():
        raise ModelFileError(f"entry 'layer{number}_lambda' must be positive")
    return Layer(activation=about.activation, **part)


def _read_mechanism(arrays: Arrays, meta: Meta, input_bits: int | None) -> Mechanism:
    kind, _ = meta.section("mechanism", MECHANISMS)
    worst = meta.worst_error
    if kind == "table":
        return _read_table(arrays, input_bits, worst)
    part = arrays.part(MECHANISMS[kind])
    if kind == "polynomial":
        return PolynomialModel(part["exponents"], part["coefficients"], worst)
    if kind == "external":
        if (part["range"][0] > part["range"][1]).any():
            raise ModelFileError("entry 'mechanism_range' must have its least value first")
        return ExternalModel(part["range"])
    return NoMechanism()


def _read_table(arrays: Arrays, input_bits: int | None, worst: float | None) -> TableModel:
    chosen, grid = MECHANISMS["table"]
    inputs = arrays.get(chosen)
    distinct = len(set(inputs.tolist())) == len(inputs)
    known = ((inputs >= 0) & (inputs < arrays.lengths["d"])).all()
    if not 1 <= len(inputs) <= MAX_TABLE_INPUTS or not distinct or not known:
        raise ModelFileError(
            f"entry 'mechanism_inputs' must name one to three distinct features, "
            f"not {tuple(inputs.tolist())}"
        )
    sides = grid.shape[: len(inputs)]
    values = arrays.get(replace(grid, shape=(*sides, "m")))
    most = min(MAX_GRID_STEPS, input_bits or MAX_GRID_STEPS)
    # Cells in powers of two: their number is the top bits of a code.
    allowed = [(1 << s) + 1 for s in range(1, most + 1)]
    if any(points not in allowed for points in values.shape[:-1]):
        raise ModelFileError(
            f"entry 'mechanism_grid' must have 2**s + 1 points a side, s from 1 to {most}, "
            f"not {values.shape[:-1]}"
        )
    return TableModel(inputs, values, worst)


def _read_evaluation(
    arrays: Arrays,
    meta: Meta,
    ranges: dict[str, Floats],
    columns: Columns | None,
    *,
    records: bool,
) -> Evaluation | None:
    if "eval_inputs" not in arrays.arrays:
        return None
    classifier = meta.task == "classification"
    external = meta.section("mechanism", MECHANISMS)[0] == "external"
    entries = evaluation_entries(classifier=classifier, external=external)
    if records:
        entries = record_entries(classifier=classifier)
    if columns is not None:
        entries = column_rows(entries)
    # The number of rows comes first: it bounds what is looked at.
    rows = len(arrays.part(entries[:1])["inputs"])
    if rows > MAX_EVALUATION_ROWS:
        raise ModelFileError(
            f"entry 'eval_inputs' must have at most {MAX_EVALUATION_ROWS} rows, not {rows}"
        )
    if rows == 0:
        return None
    part = arrays.part(entries)
    if records:
        part["first"] = part["first"] > 0
        if not part["first"][0]:
            raise ModelFileError("entry 'eval_first' must be set in the first row")
    if columns is not None:
        check_column_rows(columns, part["inputs"])
        low, high = ranges["input_min"], ranges["input_max"]
        seen = columns.expand(part["inputs"], low, high, meta.input_bits)
        part["inputs"] = columns.raw(part["inputs"])
    else:
        seen = part["inputs"]
    _check_near("eval_inputs", seen, ranges["input_min"], ranges["input_max"])
    if classifier:
        # Two classes may have one output.
        count = max(arrays.lengths["m"], 2)
        if ((part["targets"] < 0) | (part["targets"] >= count)).any():
            raise ModelFileError(f"entry 'eval_targets' must be class indices below {count}")
    # Class indices have no range to be near to.
    for name in ("targets", "mechanism")[classifier:]:
        if name in part:
            _check_near(f"eval_{name}", part[name], ranges["target_min"], ranges["target_max"])
    return Evaluation(**part)


def _check_near(name: str, values: Floats, low: Floats, high: Floats) -> None:
    # Ranges of no width and huge values: what comes of them is compared, not computed with.
    with np.errstate(all="ignore"):
        far = np.abs((values - low) / (high - low)) > FARTHEST
    far &= high > low
    if far.any():
        where = tuple(int(i) for i in np.argwhere(far)[0])
        raise ModelFileError(
            f"entry {name!r} must be within {FARTHEST:g} training ranges of the lower end, "
            f"not {values[where]} at {where}"
        )


def _read_history(arrays: Arrays) -> Curve | None:
    """What there is of the training's history; what the file leaves out is filled in."""
    part = arrays.part(HISTORY)
    if "train_rmse" not in part:
        return None
    steps = len(part["train_rmse"])
    # Files of other programs may have the training error alone.
    part.setdefault("validation_rmse", np.full(steps, np.nan))
    part.setdefault("layer", np.ones(steps, np.int32))
    return Curve(**part)
