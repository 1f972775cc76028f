"""The paper's storage tables, line by line, and the rules around them."""

from __future__ import annotations

import pytest

from scm_model.storage import storage
from scm_train.errors import ParameterError


@pytest.mark.parametrize(
    ("sizes", "inputs", "weights", "lambda_bits", "real_bits", "percent"),
    [
        ([117, 24, 31], 36, 7764, 11008, 496_896, 96.22),
        ([28, 8], 11, 532, 2304, 34_048, 91.67),
    ],
)
def test_paper_table_of_industrial_machines(
    sizes: list[int], inputs: int, weights: int, lambda_bits: int, real_bits: int, percent: float
) -> None:
    account = storage(sizes, inputs)
    assert account.weights == account.binary_bits == account.real_weights == weights
    assert account.lambda_bits == lambda_bits
    assert account.real_bits == real_bits
    assert round(100 * account.reduction, 2) == percent


def test_paper_table_of_fpga_case() -> None:
    account = storage([60], 11, coded_inputs=11 * 25, keep_lambda=False)
    assert account.real_weights == 660
    assert account.weights == account.stored_bits == 16_500
    assert account.real_bits == 42_240
    assert account.lambda_bits == 0
    assert round(100 * account.reduction, 2) == 60.94


def test_coding_widens_only_the_first_layer() -> None:
    assert storage([4, 3], 2, coded_inputs=10).weights == 10 * 4 + 4 * 3


def test_selective_nodes_store_only_present_signs() -> None:
    account = storage([60], 11, coded_inputs=275, keep_lambda=False, present=60 * 2 * 25)
    assert account.stored_bits == 3000
    assert account.real_weights == 660


def test_no_layers() -> None:
    account = storage([], 5)
    assert (account.weights, account.lambda_bits, account.reduction) == (0, 0, 0.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([3, 0], 5), r"^layer_sizes\[1\] must be a positive integer, not 0; leave empty"),
        (([3], -1), r"^inputs must be a positive integer, not -1;"),
        (([3], 5, 2.5), r"^coded_inputs must be a positive integer, not 2\.5;"),
        (([3], 5, None, True, 16), r"^present must be an integer from 0 to 15, not 16;"),
    ],
)
def test_refusals(arguments: tuple, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        storage(*arguments)
