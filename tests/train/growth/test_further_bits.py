"""The readout's equations by counts of pairs are those by a triangular factor of all rows."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from scm_model import Layer
from scm_train.chunks import ChunkMap
from scm_train.encode.encoders import fit_encoder
from scm_train.encode.rows import CodedRows, ScaledRows
from scm_train.growth import further_bits
from scm_train.growth.further_bits import SERIAL, bit_system
from scm_train.solve.further_rows import RestOfRows, stacked
from scm_train.solve.linear import LinearPart

KINDS = [("none", "sign", "step"), ("thermometer:7", "step", "sign"), ("gray:3", "sign", "sign")]
FEATURES, OUTPUTS = 3, 2


def machine(encoder: str, first: str, second: str, rows: int):
    """Rows, and two layers of which the second sees few nodes of the first."""
    rng = np.random.default_rng(rows)
    x = rng.random((rows, FEATURES))
    own = ScaledRows(x, np.zeros(3), np.ones(3), fit_encoder(encoder, x, input_bits=8))
    targets = np.column_stack([np.sin(6 * x[:, 0]) + x[:, 1], x[:, 1] * x[:, 2]])
    width = own.encoder.width
    sizes, activations, layers = ((width, FEATURES), (9, 9)), (first, second), []
    for nodes, (inputs, groups), activation in zip((9, 7), sizes, activations, strict=True):
        mask = rng.random((nodes, groups)) < 0.5
        mask[:, 0] |= ~mask.any(axis=1)
        weights = rng.choice(np.array([-1, 1], np.int8), (nodes, inputs))
        layers.append(Layer(weights, np.ones(nodes), rng.normal(0, 0.6, nodes), activation, mask))
    return RestOfRows(own, targets), tuple(layers)


def assert_same_equations(found, wanted):
    for moments in (lambda r, c: r.T @ r, lambda r, c: r.T @ c):
        assert_allclose(moments(*found), moments(*wanted), rtol=1e-10, atol=1e-8)


LINEAR = LinearPart(np.full((FEATURES, OUTPUTS), 0.25), np.array([0.5, -0.5]))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [1, 300, 2 * further_bits.PIECE + 1])
def test_the_equations_of_a_triangular_factor(kind, rows):
    rest, layers = machine(*kind, rows)
    wanted = rest.system(layers, LINEAR, SERIAL)
    assert_same_equations(bit_system(rest, layers, LINEAR, SERIAL), wanted)


def test_rows_that_are_kept_as_codes():
    rest, layers = machine(*KINDS[1], 700)
    coded = RestOfRows(CodedRows(rest.rows), rest.targets)
    whole = bit_system(coded, layers, LINEAR, SERIAL)
    assert_same_equations(whole, rest.system(layers, LINEAR, SERIAL))


def test_nodes_that_depend_on_each_other_leave_fewer_equations():
    rest, (first, second) = machine(*KINDS[0], 500)
    twice = [np.concatenate([a, a]) for a in (second.weights, second.lambdas, second.biases)]
    double = replace(
        second,
        weights=twice[0],
        lambdas=twice[1],
        biases=twice[2],
        mask=np.concatenate([second.mask, second.mask]),
    )
    factor, _ = found = bit_system(rest, (first, double), LINEAR, SERIAL)
    assert len(factor) <= first.nodes + second.nodes
    assert_same_equations(found, rest.system((first, double), LINEAR, SERIAL))


def test_any_number_of_threads_gives_the_same(monkeypatch):
    monkeypatch.setattr(further_bits, "PIECE", 128)
    rest, layers = machine(*KINDS[0], 5000)
    alone = bit_system(rest, layers, LINEAR, SERIAL)
    with ThreadPoolExecutor(3) as pool:
        together = bit_system(rest, layers, LINEAR, ChunkMap(pool))
    for one, other in zip(alone, together, strict=True):
        assert_array_equal(one, other)


def test_no_rows_add_no_equations():
    rest, layers = machine(*KINDS[0], 50)
    none = RestOfRows(rest.rows.part(slice(0, 0)), rest.targets[:0])
    some = bit_system(rest, layers, LINEAR, SERIAL)
    assert_same_equations(stacked(some, bit_system(none, layers, LINEAR, SERIAL)), some)


@pytest.mark.parametrize(
    ("where", "name", "fault"),
    [
        (further_bits.BitNodes, "gram", property(lambda nodes: nodes.products(nodes) + 1.0)),
        (further_bits, "row_chunks", lambda rows, size: [slice(0, rows - 1)]),
        (further_bits, "RANK", 0.1),
    ],
)
def test_planted_faults(where, name, fault, monkeypatch):
    rest, layers = machine(*KINDS[0], 300)
    wanted = rest.system(layers, LINEAR, SERIAL)
    monkeypatch.setattr(where, name, fault)
    with pytest.raises(AssertionError):
        assert_same_equations(bit_system(rest, layers, LINEAR, SERIAL), wanted)
