from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from scm_train.activations import ACTIVATIONS, HARDWARE_ACTIVATIONS, activate, activation
from scm_train.errors import ParameterError

Z = np.array([-2.0, -0.5, -0.0, 0.0, 0.5, 1.0, 3.0])


def test_sign_and_step_at_zero_are_the_papers():
    assert_array_equal(activate("sign", Z), [-1, -1, -1, -1, 1, 1, 1])
    assert_array_equal(activate("step", Z), [0, 0, 1, 1, 1, 1, 1])


def test_bounded_relu_ends_at_one():
    assert_array_equal(activate("brelu", Z), [0, 0, 0, 0, 0.5, 1, 1])


def test_sigmoid_and_tanh():
    assert_allclose(activate("sigmoid", Z), 1 / (1 + np.exp(-Z)), rtol=1e-15)
    assert_array_equal(activate("tanh", Z), np.tanh(Z))


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtype_is_kept_and_the_input_untouched(name, dtype):
    z = Z.astype(dtype)
    result = activate(name, z)
    assert result.dtype == dtype
    assert_array_equal(z, Z.astype(dtype))
    in_place = z.copy()
    assert activate(name, in_place, out=in_place) is in_place
    assert_array_equal(in_place, result)


@pytest.mark.parametrize("name", sorted(set(ACTIVATIONS) - HARDWARE_ACTIVATIONS))
def test_derivative_is_the_slope(name):
    z, step = np.array([-1.3, 0.2, 0.7, 1.9]), 1e-6
    slope = (activate(name, z + step) - activate(name, z - step)) / (2 * step)
    assert_allclose(ACTIVATIONS[name].derivative(z), slope, atol=1e-8)


def test_hardware_activations_have_no_derivative():
    assert {a.name for a in ACTIVATIONS.values() if not a.differentiable} == HARDWARE_ACTIVATIONS


def test_unknown_name_gets_a_suggestion():
    with pytest.raises(ParameterError, match="not 'sigmoyd'; did you mean 'sigmoid'"):
        activation("sigmoyd")
