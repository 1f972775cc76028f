"""The inputs of the first layer, and codes held inside the training range, as operations."""

from __future__ import annotations

from itertools import pairwise

from scm_hw.ir import AtLeast, Builder, Constant, Field, Ref, Select, Xor, level_bits
from scm_model import Model


def first_layer_inputs(build: Builder, model: Model, codes: list[Ref]) -> tuple[Ref, ...]:
    """What the nodes of the first layer read, feature after feature."""
    if model.encoder.kind == "none":
        return tuple(codes)
    return tuple(ref for i, code in enumerate(codes) for ref in _coded_bits(build, model, i, code))


def _coded_bits(build: Builder, model: Model, feature: int, code: Ref) -> list[Ref]:
    encoder, name = model.encoder, model.features[feature]
    if encoder.kind == "thermometer":
        return [
            build.add(AtLeast(code, threshold, name=f"{name}.ge{threshold}"))
            for threshold in encoder.thresholds[feature]
        ]
    level = _level(build, model, feature, code)
    if encoder.kind == "binary":
        return level
    gray = [
        build.add(Xor((low, high), name=f"{name}.gray{j}"))
        for j, (low, high) in enumerate(pairwise(level))
    ]
    return [*gray, level[-1]]


def _level(build: Builder, model: Model, feature: int, code: Ref) -> list[Ref]:
    """The bits of a feature's level, the lowest first."""
    encoder, name = model.encoder, model.features[feature]
    assert model.input_bits is not None
    if encoder.thresholds and encoder.thresholds[feature]:
        return level_bits(build, code, encoder.thresholds[feature], name)
    lowest = model.input_bits - encoder.bits[feature]
    return [
        build.add(Field(code, j, 1, name=f"{name}.bit{j}")) for j in range(lowest, model.input_bits)
    ]


def held_code(build: Builder, model: Model, feature: int, code: Ref) -> Ref:
    """A code held inside the training range, where a sensor reaches beyond it."""
    wanted, name = model.codes[feature], model.features[feature]
    # Where the range reaches the end of the code, the comparison would always hold.
    if wanted.low > 0:
        low = build.add(Constant(wanted.low))
        above = build.add(AtLeast(code, wanted.low, name=f"{name}.ge{wanted.low}"))
        code = build.add(Select(above, code, low, name=f"{name}.held"))
    if wanted.high < (1 << wanted.bits) - 1:
        high = build.add(Constant(wanted.high))
        beyond = build.add(AtLeast(code, wanted.high + 1, name=f"{name}.beyond"))
        code = build.add(Select(beyond, high, code, name=f"{name}.held"))
    return code
