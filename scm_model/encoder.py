"""Encoders: from normalised inputs to the inputs ``H_0`` of the first layer.

An input in [0, 1] becomes an unsigned code of ``input_bits``, and the code becomes bits. Trainer
and hardware share this arithmetic on integers, so their hidden bits agree by construction. A coded
bit enters the first layer as +1 where it is set and as -1 where it is clear; with kind ``none``
the (quantised) input itself enters.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from scm_model.errors import ParameterError
from scm_model.scaling import Floats

__all__ = ["ENCODER_KINDS", "MAX_INPUT_BITS", "Encoder", "most_bits", "quantise"]

ENCODER_KINDS = ("thermometer", "binary", "gray", "none")
MAX_INPUT_BITS = 24


@dataclass(frozen=True, eq=False)
class Encoder:
    """A fitted encoder. Its arithmetic is that of ``model_file.md``, steps 2 and 3.

    ``bits`` and ``thresholds`` have an entry per feature where there are any. A ``binary`` or
    ``gray`` feature with thresholds has its level counted by them, all but the lowest; one without
    has it in the top bits of its code.
    """

    kind: str
    input_bits: int | None
    bits: tuple[int, ...]
    thresholds: tuple[tuple[int, ...], ...]
    #: How thresholds were chosen (``uniform`` or ``quantile``), for information.
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

    @property
    def all_thresholds(self) -> NDArray[np.int64] | None:
        """The thresholds of all features in a row, as the model file has them."""
        if not self.thresholds:
            return None
        return np.concatenate(self.thresholds).astype(np.int64)

    def codes(self, x_norm: NDArray[Any]) -> NDArray[np.int32]:
        """Quantise ``x_norm`` (n, d) to codes in [0, 2**input_bits - 1]."""
        if self.input_bits is None:
            raise ParameterError(
                "input_bits must be a number where codes are asked for, not None; "
                "fit with input_bits=12, say"
            )
        return quantise(x_norm, self.input_bits)

    def quantised(self, x_norm: NDArray[Any]) -> Floats:
        """The inputs as every part of the machine sees them: mid-code, or ``x_norm`` itself."""
        if self.input_bits is None:
            return np.asarray(x_norm, dtype=np.float64)
        return self.dequantise(self.codes(x_norm))

    def dequantise(self, codes: NDArray[Any]) -> Floats:
        """``x_q = (code + 0.5) / 2**input_bits``, exact in float64."""
        assert self.input_bits is not None
        return (codes + 0.5) / 2.0**self.input_bits

    def encode(self, x_norm: NDArray[Any], dtype: DTypeLike = np.float32) -> NDArray[Any]:
        """``H_0`` (n, width) of normalised inputs."""
        if self.input_bits is None:
            return np.asarray(x_norm, dtype=dtype)
        return self.encode_codes(self.codes(x_norm), dtype)

    def encode_codes(self, codes: NDArray[Any], dtype: DTypeLike = np.float32) -> NDArray[Any]:
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

    def feature_bits(self, feature: int, codes: NDArray[Any]) -> NDArray[Any]:
        """The coded bits (n, bits) of one feature by its codes (n,), 1 where set, lowest first."""
        if self.kind == "thermometer":
            return codes[:, None] >= np.array(self.thresholds[feature])
        bits = self.bits[feature]
        level = self._level(feature, codes)
        if self.kind == "gray":
            # Gray code: neighbouring levels differ in a single bit.
            level = level ^ (level >> 1)
        return (level[:, None] >> np.arange(bits, dtype=level.dtype)) & 1

    def _level(self, feature: int, codes: NDArray[Any]) -> NDArray[Any]:
        """How many thresholds a code has reached, or its top bits."""
        if self.thresholds and self.thresholds[feature]:
            return np.searchsorted(self.thresholds[feature], codes, side="right")
        assert self.input_bits is not None
        return codes >> (self.input_bits - self.bits[feature])


def most_bits(kind: str, input_bits: int) -> int:
    """Coded bits that a feature can have; its greatest threshold, for a thermometer."""
    return 2**input_bits - 1 if kind == "thermometer" else input_bits


def quantise(x_norm: NDArray[Any], bits: ArrayLike) -> NDArray[np.int32]:
    """Codes of ``bits`` bits, which are one number for all columns or one for each."""
    # Clipping comes before the cast, since far outliers overflow an integer.
    levels = np.ldexp(1.0, bits)
    scaled = np.floor(np.asarray(x_norm, dtype=np.float64) * levels)
    return np.clip(scaled, 0, levels - 1, out=scaled).astype(np.int32)
