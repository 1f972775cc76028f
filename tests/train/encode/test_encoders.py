from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from scm_train.encode.encoders import fit_encoder, parse_encoder
from scm_train.errors import ParameterError


def uniform(n: int = 300, d: int = 2, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).random((n, d))


def test_codes_are_clipped_to_the_range():
    encoder = fit_encoder("none", uniform(), input_bits=4)
    x = np.array([[0.0, 1.0], [-3.0, 1e300], [0.0625, 0.06249]])
    assert_array_equal(encoder.codes(x), [[0, 15], [0, 15], [1, 0]])
    assert encoder.codes(x).dtype == np.int32


def test_quantised_inputs_are_in_the_middle_of_their_code():
    encoder = fit_encoder("none", uniform(), input_bits=2)
    x = np.array([[0.0, 0.3], [0.6, 1.0]])
    assert_array_equal(encoder.quantised(x), [[0.125, 0.375], [0.625, 0.875]])
    assert_array_equal(encoder.encode(x), encoder.quantised(x))


def test_without_input_bits_inputs_pass_unchanged():
    encoder = fit_encoder("none", uniform(), input_bits=None)
    x = np.array([[-0.5, 2.0]])
    assert_array_equal(encoder.quantised(x), x)
    assert_array_equal(encoder.encode(x, np.float64), x)
    with pytest.raises(ParameterError, match="input_bits must be a number where codes"):
        encoder.codes(x)


@given(k=st.integers(1, 6), spare=st.integers(0, 6))
@settings(max_examples=30, deadline=None)
def test_a_full_uniform_thermometer_counts_the_top_bits(k, spare):
    encoder = fit_encoder(f"thermometer:{2**k - 1}", uniform(d=1), input_bits=k + spare)
    codes = np.arange(2 ** (k + spare), dtype=np.int32)[:, None]
    level = (encoder.encode_codes(codes) > 0).sum(axis=1)
    assert_array_equal(level, codes[:, 0] >> spare)


@given(count=st.integers(1, 63))
@settings(max_examples=63, deadline=None)
def test_uniform_thresholds_increase_within_the_codes(count):
    (thresholds,) = fit_encoder(f"thermometer:{count}", uniform(d=1), input_bits=6).thresholds
    assert thresholds[0] >= 1
    assert thresholds[-1] <= 63
    assert (np.diff(thresholds) > 0).all()
    assert abs(thresholds - np.arange(1, count + 1) * 64 / (count + 1)).max() <= 0.5


def test_thermometer_bits_are_set_from_their_threshold_on():
    encoder = fit_encoder("thermometer:3", uniform(d=1), input_bits=4)
    assert_array_equal(encoder.thresholds[0], [4, 8, 12])
    h0 = encoder.encode_codes(np.array([[3], [4], [15]]))
    assert_array_equal(h0, [[-1, -1, -1], [1, -1, -1], [1, 1, 1]])


def test_binary_takes_the_top_bits_lowest_first():
    encoder = fit_encoder("binary:3", uniform(d=1), input_bits=5)
    assert_array_equal(encoder.encode_codes(np.array([[0b10011]])), [[-1, -1, 1]])
    assert_array_equal(encoder.encode_codes(np.array([[0b01100]])), [[1, 1, -1]])


def test_gray_neighbours_differ_in_one_bit():
    encoder = fit_encoder("gray:4", uniform(d=1), input_bits=6)
    h0 = encoder.encode_codes(np.arange(0, 64, 4, dtype=np.int32)[:, None])
    assert_array_equal((h0[1:] != h0[:-1]).sum(axis=1), np.ones(15))
    assert len(np.unique(h0, axis=0)) == 16
    assert_array_equal(h0[2], [1, 1, -1, -1])


def test_bits_per_feature_and_groups():
    encoder = fit_encoder("thermometer:3,1", uniform(), input_bits=8)
    assert encoder.bits == (3, 1)
    assert encoder.width == 4
    assert_array_equal(encoder.groups, [0, 0, 0, 1])
    overruled = fit_encoder("thermometer", uniform(), input_bits=8, bits=[1, 2])
    assert overruled.bits == (1, 2)


def test_features_come_in_order():
    encoder = fit_encoder("binary:1", uniform(), input_bits=1)
    assert_array_equal(encoder.encode(np.array([[0.9, 0.1]])), [[1, -1]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8])
@pytest.mark.parametrize("spec", ["thermometer:7", "binary:3", "gray:3"])
def test_coded_bits_are_plus_and_minus_one(spec, dtype):
    h0 = fit_encoder(spec, uniform(), input_bits=8).encode(uniform(), dtype)
    assert h0.dtype == dtype
    assert_array_equal(np.unique(h0), [-1, 1])


def test_quantile_thresholds_split_rows_evenly():
    x = uniform(4000, 1) ** 3
    encoder = fit_encoder("thermometer:7:quantile", x, input_bits=12)
    assert encoder.spacing == "quantile"
    levels = (encoder.encode(x) > 0).sum(axis=1)
    assert np.bincount(levels, minlength=8).min() > 4000 / 8 * 0.9
    uniform_levels = (fit_encoder("thermometer:7", x, input_bits=12).encode(x) > 0).sum(axis=1)
    assert np.bincount(uniform_levels, minlength=8).min() < 4000 / 8 * 0.5


def test_quantile_thresholds_merge_and_keep_rare_values():
    x = np.zeros((1000, 3))
    x[:3, 0] = 1.0  # a switch, rarely on
    x[:, 1] = np.repeat([0.0, 0.5], 500)
    encoder = fit_encoder("thermometer:15:quantile", x, input_bits=8)
    assert encoder.bits == (1, 1, 1)
    h0 = encoder.encode(x)
    assert_array_equal(h0[:, 0] > 0, x[:, 0] > 0)
    assert_array_equal(h0[:, 1] > 0, x[:, 1] > 0)
    assert_array_equal(h0[:, 2], -np.ones(1000))


def test_quantile_threshold_is_never_at_the_least_code():
    x = np.concatenate([np.zeros(900), np.linspace(0, 1, 100)])[:, None]
    encoder = fit_encoder("thermometer:7:quantile", x, input_bits=8)
    h0 = encoder.encode(x)
    assert ((h0 > 0).any(axis=0) & (h0 < 0).any(axis=0)).all()


@pytest.mark.parametrize(
    ("spec", "parts"),
    [
        ("thermometer", ("thermometer", 31, "uniform")),
        ("thermometer:31", ("thermometer", 31, "uniform")),
        ("thermometer:15:quantile", ("thermometer", 15, "quantile")),
        ("binary:5", ("binary", 5, None)),
        ("gray:3,4", ("gray", [3, 4], None)),
        ("none", ("none", None, None)),
    ],
)
def test_parse(spec, parts):
    assert parse_encoder(spec) == parts


@pytest.mark.parametrize(
    ("spec", "options", "message"),
    [
        ("thermometr:3", {}, "did you mean 'thermometer'"),
        ("binary:5:quantile", {}, "encoder must be like"),
        ("none:3", {}, "encoder must be like"),
        ("thermometer:many", {}, "must be a number, or one per feature"),
        ("thermometer:3:even", {}, "spacing of thresholds must be one of uniform, quantile"),
        ("thermometer:16", {"input_bits": 4}, "must be from 1 to 15 with input_bits=4, not 16"),
        ("binary:5", {"input_bits": 4}, "must be from 1 to 4 with input_bits=4, not 5"),
        ("gray:0", {}, "must be from 1 to 8"),
        ("thermometer:3", {"input_bits": None}, "input_bits must be a number for encoder"),
        ("thermometer:3", {"input_bits": 25}, "from 1 to 24, not 25"),
        ("thermometer:3", {"input_bits": 8.5}, "from 1 to 24, not 8.5"),
        ("thermometer:3,4,5", {}, r"one per feature \(2\), not 3"),
        (31, {}, "encoder must be text"),
    ],
)
def test_refusals(spec, options, message):
    with pytest.raises(ParameterError, match=message):
        fit_encoder(spec, uniform(), **{"input_bits": 8} | options)
