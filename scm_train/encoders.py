"""Encoders: from normalised inputs to the inputs ``H_0`` of the first layer.

An input in [0, 1] becomes an unsigned code of ``input_bits``, and the code becomes bits. Trainer
and hardware share this arithmetic on integers, so their hidden bits agree by construction. A coded
bit enters the first layer as +1 where it is set and as -1 where it is clear; with kind ``none``
the (quantised) input itself enters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import DTypeLike, NDArray

from scm_train.errors import ParameterError
from scm_train.suggestions import did_you_mean

__all__ = ["ENCODER_KINDS", "SPACINGS", "Encoder", "fit_encoder", "parse_encoder"]

ENCODER_KINDS = ("thermometer", "binary", "gray", "none")
SPACINGS = ("uniform", "quantile")
MAX_INPUT_BITS = 24

_DEFAULT_BITS = {"thermometer": 31, "binary": 5, "gray": 5}

Bits = int | Sequence[int]


@dataclass(frozen=True, eq=False)
class Encoder:
    """A fitted encoder. Its arithmetic is that of ``scm_hw/load/model_file.md``, steps 2 and 3."""

    kind: str
    input_bits: int | None
    bits: tuple[int, ...]
    thresholds: tuple[NDArray[np.int64], ...]
    spacing: str | None
    n_features: int

    @property
    def coded(self) -> bool:
        """Whether ``H_0`` holds bits (+-1) rather than reals."""
        return self.kind != "none"

    @property
    def unit(self) -> int:
        """``H_0`` is made of whole multiples of its inverse; 0 without quantisation."""
        if self.coded:
            return 1
        return 0 if self.input_bits is None else 2 << self.input_bits

    @property
    def width(self) -> int:
        """Number of columns of ``H_0``."""
        return sum(self.bits) if self.coded else self.n_features

    @cached_property
    def groups(self) -> NDArray[np.int32]:
        """The feature that each column of ``H_0`` comes from."""
        features = np.arange(self.n_features, dtype=np.int32)
        return np.repeat(features, self.bits) if self.coded else features

    def codes(self, x_norm: NDArray) -> NDArray[np.int32]:
        """Quantise ``x_norm`` (n, d) to codes in [0, 2**input_bits - 1]."""
        if self.input_bits is None:
            raise ParameterError(
                "input_bits must be a number where codes are asked for, not None; "
                "fit with input_bits=12, say"
            )
        return _codes(x_norm, self.input_bits)

    def quantised(self, x_norm: NDArray) -> NDArray[np.float64]:
        """The inputs as every part of the machine sees them: mid-code, or ``x_norm`` itself."""
        if self.input_bits is None:
            return np.asarray(x_norm, dtype=np.float64)
        return self.dequantise(self.codes(x_norm))

    def dequantise(self, codes: NDArray) -> NDArray[np.float64]:
        """``x_q = (code + 0.5) / 2**input_bits``, exact in float64."""
        assert self.input_bits is not None
        return (codes + 0.5) / 2.0**self.input_bits

    def encode(self, x_norm: NDArray, dtype: DTypeLike = np.float32) -> NDArray:
        """``H_0`` (n, width) of normalised inputs."""
        if self.input_bits is None:
            return np.asarray(x_norm, dtype=dtype)
        return self.encode_codes(self.codes(x_norm), dtype)

    def encode_codes(self, codes: NDArray, dtype: DTypeLike = np.float32) -> NDArray:
        """``H_0`` (n, width) of codes. Exact in float32, but for ``none`` with over 23 bits."""
        if not self.coded:
            return self.dequantise(codes).astype(dtype)
        h0 = np.empty((len(codes), self.width), dtype=dtype)
        start = 0
        for feature, bits in enumerate(self.bits):
            columns = h0[:, start : start + bits]
            np.copyto(columns, self.feature_bits(feature, codes[:, feature]))
            start += bits
        h0 *= 2
        h0 -= 1
        return h0

    def feature_bits(self, feature: int, codes: NDArray) -> NDArray:
        """The coded bits (n, bits) of one feature by its codes (n,), 1 where set, lowest first."""
        code = codes[:, None]
        if self.kind == "thermometer":
            return code >= self.thresholds[feature]
        assert self.input_bits is not None
        bits = self.bits[feature]
        top = code >> (self.input_bits - bits)
        if self.kind == "gray":
            top = top ^ (top >> 1)
        return (top >> np.arange(bits, dtype=code.dtype)) & 1


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
    thresholds = _fit_thresholds(x_norm, per_feature, input_bits, spacing)
    return Encoder(kind, input_bits, tuple(map(len, thresholds)), thresholds, spacing, n_features)


def _codes(x_norm: NDArray, input_bits: int) -> NDArray[np.int32]:
    # Clipping comes before the cast, since far outliers overflow an integer.
    scaled = np.floor(np.asarray(x_norm, dtype=np.float64) * 2.0**input_bits)
    return np.clip(scaled, 0, 2**input_bits - 1, out=scaled).astype(np.int32)


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
    most = 2**input_bits - 1 if kind == "thermometer" else input_bits
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
            _quantile_thresholds(_codes(x_norm[:, i], input_bits), bits, input_bits)
            for i, bits in enumerate(per_feature)
        )
    raise ParameterError(
        f"spacing of thresholds must be one of {', '.join(SPACINGS)}, not {spacing!r}"
    )


def _uniform_thresholds(count: int, input_bits: int) -> NDArray[np.int64]:
    """``round(j * 2**b / (count + 1))``: with ``count = 2**k - 1``, exactly the top k bits."""
    j = np.arange(1, count + 1, dtype=np.int64)
    return (2 * j * 2**input_bits + count + 1) // (2 * (count + 1))


def _quantile_thresholds(codes: NDArray, count: int, input_bits: int) -> NDArray[np.int64]:
    values, counts = np.unique(codes.astype(np.int64), return_counts=True)
    top = 2**input_bits - 1
    if len(values) == 1:
        return np.minimum(values + 1, top)
    if len(values) <= count + 1:
        # Few distinct codes, as of a switch: quantiles could miss the rare ones, midpoints can't.
        return (values[:-1] + values[1:] + 1) // 2
    shares = np.arange(1, count + 1) * (counts.sum() / (count + 1))
    at_quantiles = values[np.searchsorted(np.cumsum(counts), shares)]
    # A threshold at the least code would be set on every row; one above splits that code off.
    return np.unique(np.maximum(at_quantiles, values[0] + 1))
