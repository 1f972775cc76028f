from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from scm_train.activations import ACTIVATIONS, activate, activation
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


def test_unknown_name_gets_a_suggestion():
    with pytest.raises(ParameterError, match="not 'sigmoyd'; did you mean 'sigmoid'"):
        activation("sigmoyd")
