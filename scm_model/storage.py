"""How many bits a machine's hidden weights take, counted the way the paper's tables count them.

Only hidden weights and their scales count: readout, biases and the linear part are needed whatever
the weights are, and the paper leaves them out on both sides of the comparison.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from scm_model.errors import ParameterError
from scm_model.model import Model

__all__ = ["REAL_BITS", "Storage", "storage", "storage_of"]

REAL_BITS = 64


@dataclass(frozen=True)
class Storage:
    """Weights of one machine, and the bits they take as reals and as signs.

    `real_weights` is what the same layers would need on the uncoded inputs; `weights` is the number
    of signs, which is larger where inputs are coded into several bits and smaller where nodes are
    selective. `lambda_bits` is 0 where the scales are not kept.
    """

    real_weights: int
    weights: int
    lambda_bits: int

    @property
    def real_bits(self) -> int:
        return REAL_BITS * self.real_weights

    @property
    def binary_bits(self) -> int:
        return self.weights

    @property
    def stored_bits(self) -> int:
        """Signs and scales together."""
        return self.binary_bits + self.lambda_bits

    @property
    def reduction(self) -> float:
        """Share of the real bits that is saved; negative where nothing is. 0 for no layers."""
        return 1.0 - self.stored_bits / self.real_bits if self.real_bits else 0.0


def storage(
    layer_sizes: Sequence[int],
    inputs: int,
    coded_inputs: int | None = None,
    keep_lambda: bool = True,
    present: int | None = None,
) -> Storage:
    """Account for a machine with `layer_sizes` nodes per layer on `inputs` features.

    `coded_inputs` is the total number of bits that all features are coded into, where they are.
    `keep_lambda=False` is for sign and step nodes, which a positive scale can't change. `present`
    is the number of signs left where nodes are selective; a mask is wiring, and takes no bits.
    """
    sizes = [_count(f"layer_sizes[{k}]", size) for k, size in enumerate(layer_sizes)]
    real = _dense_weights(_count("inputs", inputs), sizes)
    entering = inputs if coded_inputs is None else _count("coded_inputs", coded_inputs)
    signs = _dense_weights(entering, sizes)
    if present is not None:
        signs = _present(present, signs)
    return Storage(
        real_weights=real,
        weights=signs,
        lambda_bits=REAL_BITS * sum(sizes) if keep_lambda else 0,
    )


def storage_of(model: Model) -> Storage:
    """Account for a model's own layers, of whose signs the masks keep some."""
    # Of a family all signs are there that can be, so that none of them has to be kept.
    kept = model.hidden.layers
    present, columns = 0, np.bincount(model.encoder.groups, minlength=len(model.features))
    for layer in kept:
        # A mask is of groups: a feature that is seen has a sign for each of its coded bits.
        mask = True if layer.mask is None else layer.mask
        present += int(np.broadcast_to(mask * columns, (layer.nodes, len(columns))).sum())
        columns = np.ones(layer.nodes, dtype=np.int64)
    return storage(
        [layer.nodes for layer in kept],
        len(model.features),
        model.encoder.width,
        keep_lambda=not all(layer.hard for layer in kept),
        present=present,
    )


def _dense_weights(inputs: int, sizes: Sequence[int]) -> int:
    return sum(before * after for before, after in pairwise([inputs, *sizes]))


def _count(name: str, value: object) -> int:
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 1:
        raise ParameterError(
            f"{name} must be a positive integer, not {value!r}; leave empty layers out"
        )
    return int(value)


def _present(value: object, dense: int) -> int:
    if (
        not isinstance(value, (int, np.integer))
        or isinstance(value, bool)
        or not 0 <= value <= dense
    ):
        raise ParameterError(
            f"present must be an integer from 0 to {dense}, not {value!r}; "
            "count the weights that the masks keep"
        )
    return int(value)
