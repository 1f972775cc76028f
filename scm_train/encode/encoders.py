"""Encoders fitted to data: where a feature's thresholds lie, and how an encoder is written.

What a fitted encoder does is said in :mod:`scm_model.encoder`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from scm_model.encoder import ENCODER_KINDS, MAX_INPUT_BITS, Encoder, most_bits, quantise
from scm_model.suggestions import did_you_mean
from scm_train.errors import ParameterError

__all__ = ["SPACINGS", "fit_encoder", "parse_encoder"]

SPACINGS = ("uniform", "quantile")

_DEFAULT_BITS = {"thermometer": 31, "binary": 5, "gray": 5}

Bits = int | Sequence[int]


def parse_encoder(spec: str) -> tuple[str, Bits | None, str | None]:
    """Split ``kind[:bits[:spacing]]`` into kind, bits and spacing, with defaults filled in.

    ``bits`` is one number or a comma-separated one per feature; ``none`` takes neither.
    """
    if not isinstance(spec, str):
        raise ParameterError(f"encoder must be text like 'thermometer:31', not {spec!r}")
    kind, *rest = (part.strip() for part in spec.split(":"))
    if kind not in ENCODER_KINDS:
        raise ParameterError(
            f"encoder must be one of {', '.join(ENCODER_KINDS)}, not {spec!r}; "
            f"{did_you_mean(kind, ENCODER_KINDS)}"
        )
    # Thermometers have bits and a spacing, codes have bits alone.
    if len(rest) > {"thermometer": 2, "none": 0}.get(kind, 1):
        raise ParameterError(
            f"encoder must be like 'thermometer:31:quantile', 'binary:5', 'gray:5' or 'none', "
            f"not {spec!r}"
        )
    if kind == "none":
        return kind, None, None
    bits = _parse_bits(rest[0], spec) if rest else _DEFAULT_BITS[kind]
    spacing = (rest[1] if len(rest) > 1 else "uniform") if kind == "thermometer" else None
    return kind, bits, spacing


def fit_encoder(
    spec: str,
    x_norm: NDArray,
    *,
    input_bits: int | None,
    bits: Bits | None = None,
    spacing: str | None = None,
) -> Encoder:
    """Fit an encoder to normalised training inputs (n, d).

    ``spec`` is what :func:`parse_encoder` takes; ``bits`` and ``spacing`` overrule its parts. Only
    quantile thresholds look at the data: a feature gets no more of them than it has steps between
    distinct codes, and a constant one gets a single threshold that never fires.
    """
    kind, spec_bits, spec_spacing = parse_encoder(spec)
    n_features = x_norm.shape[1]
    _check_input_bits(kind, input_bits)
    if kind == "none":
        return Encoder(kind, input_bits, (), (), None, n_features)
    assert input_bits is not None
    per_feature = _bits_per_feature(bits if bits is not None else spec_bits, n_features)
    _check_bits(kind, per_feature, input_bits)
    if kind != "thermometer":
        return Encoder(kind, input_bits, per_feature, (), None, n_features)
    spacing = spacing or spec_spacing
    fitted = _fit_thresholds(x_norm, per_feature, input_bits, spacing)
    thresholds = tuple(tuple(feature.tolist()) for feature in fitted)
    return Encoder(kind, input_bits, tuple(map(len, thresholds)), thresholds, spacing, n_features)


def _parse_bits(text: str, spec: str) -> Bits:
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        raise ParameterError(
            f"bits of an encoder must be a number, or one per feature, not {spec!r}; "
            "write 'thermometer:31', say"
        ) from None
    return numbers[0] if len(numbers) == 1 else numbers


def _bits_per_feature(bits: Bits | None, n_features: int) -> tuple[int, ...]:
    if isinstance(bits, (int, np.integer)):
        return (int(bits),) * n_features
    per_feature = tuple(int(b) for b in bits or ())
    if len(per_feature) != n_features:
        raise ParameterError(
            f"bits of an encoder must be one number or one per feature ({n_features}), "
            f"not {len(per_feature)} numbers"
        )
    return per_feature


def _check_input_bits(kind: str, input_bits: int | None) -> None:
    if input_bits is None:
        if kind != "none":
            raise ParameterError(
                f"input_bits must be a number for encoder {kind!r}, not None; give input_bits=12, "
                "or take encoder 'none'"
            )
        return
    whole = isinstance(input_bits, (int, np.integer)) and not isinstance(input_bits, bool)
    if not whole or not 1 <= input_bits <= MAX_INPUT_BITS:
        raise ParameterError(
            f"input_bits must be a whole number from 1 to {MAX_INPUT_BITS}, not {input_bits!r}"
        )


def _check_bits(kind: str, per_feature: tuple[int, ...], input_bits: int) -> None:
    most = most_bits(kind, input_bits)
    for bits in per_feature:
        if not 1 <= bits <= most:
            raise ParameterError(
                f"bits of encoder {kind!r} must be from 1 to {most} with input_bits={input_bits}, "
                f"not {bits!r}; raise input_bits or take fewer"
            )


def _fit_thresholds(
    x_norm: NDArray, per_feature: tuple[int, ...], input_bits: int, spacing: str | None
) -> tuple[NDArray[np.int64], ...]:
    if spacing == "uniform":
        return tuple(_uniform_thresholds(bits, input_bits) for bits in per_feature)
    if spacing == "quantile":
        return tuple(
            _quantile_thresholds(quantise(x_norm[:, i], input_bits), bits, input_bits)
            for i, bits in enumerate(per_feature)
        )
    raise ParameterError(
        f"spacing of thresholds must be one of {', '.join(SPACINGS)}, not {spacing!r}"
    )


def _uniform_thresholds(count: int, input_bits: int) -> NDArray[np.int64]:
    """``round(j * 2**b / (count + 1))``: with ``count = 2**k - 1``, exactly the top k bits."""
    # In whole numbers: rounding in floating point could differ between machines.
    j = np.arange(1, count + 1, dtype=np.int64)
    return (2 * j * 2**input_bits + count + 1) // (2 * (count + 1))


def _quantile_thresholds(codes: NDArray, count: int, input_bits: int) -> NDArray[np.int64]:
    values, counts = np.unique(codes.astype(np.int64), return_counts=True)
    top = 2**input_bits - 1
    # A constant feature: one threshold above it, which no row reaches.
    if len(values) == 1:
        return np.minimum(values + 1, top)
    if len(values) <= count + 1:
        # Few distinct codes, as of a switch: quantiles could miss the rare ones, midpoints can't.
        return (values[:-1] + values[1:] + 1) // 2
    # As many rows between two thresholds as between any others.
    shares = np.arange(1, count + 1) * (counts.sum() / (count + 1))
    at_quantiles = values[np.searchsorted(np.cumsum(counts), shares)]
    # A threshold at the least code would be set on every row; one above splits that code off.
    return np.unique(np.maximum(at_quantiles, values[0] + 1))
