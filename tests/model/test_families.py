"""Layers of families in model files: what they mean, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from scm_model import (
    Encoder,
    FamilyLayer,
    Layer,
    Model,
    ModelFileError,
    model_from_arrays,
    model_to_arrays,
)


def model(supports=((0, 1), (2, -1)), outputs=1, classes=None):
    """Three bits of two features, and families on them with a readout for each cell."""
    first = Layer(
        np.array([[1, -1], [1, -1], [-1, 1]], np.int8),
        np.ones(3),
        np.array([-0.25, -0.5, 0.5]),
        "sign",
        np.array([[True, False], [True, False], [True, True]]),
    )
    families = FamilyLayer(np.array(supports, np.int32))
    rng = np.random.default_rng(0)
    return Model(
        task="regression" if classes is None else "classification",
        algorithm="SCM",
        encoder=Encoder("none", 12, (), (), None, 2),
        layers=(first, families),
        readout=rng.normal(size=(3 + families.nodes, outputs)),
        linear=rng.normal(size=(2, outputs)),
        intercept=np.zeros(outputs),
        input_min=np.zeros(2),
        input_max=np.ones(2),
        target_min=np.zeros(outputs),
        target_max=np.ones(outputs),
        features=("a", "b"),
        targets=tuple(f"y{j}" for j in range(outputs)),
        classes=classes,
    )


def test_one_node_of_each_family_fires():
    layer = FamilyLayer(np.array([[0, 1], [2, -1]], np.int32))
    below = np.array([[1, -1, 1], [-1, 1, -1], [1, 1, -1], [-1, -1, -1]])
    assert layer.sizes.tolist() == [4, 2]
    assert layer.firing(below).tolist() == [[1, 5], [2, 4], [3, 4], [0, 4]]


def test_output_adds_up_what_fires():
    machine = model(outputs=2)
    X = np.random.default_rng(1).uniform(size=(50, 2))
    (bits,) = machine.hidden_layers(X)
    code = np.floor(X * 4096)
    wanted = (code + 0.5) / 4096 @ machine.linear + bits @ machine.readout[:3]
    for row, (a, b, c) in zip(wanted, bits > 0, strict=True):
        row += machine.readout[3 + a + 2 * b] + machine.readout[7 + c]
    np.testing.assert_allclose(machine.decision(X), wanted, rtol=1e-12)


@pytest.mark.parametrize("classes", [None, ("no", "yes"), (0, 1)])
def test_written_and_read_again(classes):
    machine = model(classes=classes)
    entries = model_to_arrays(machine)
    again = model_from_arrays(entries)
    X = np.random.default_rng(2).uniform(size=(50, 2))
    assert_array_equal(again.predict(X), machine.predict(X))
    assert again.families is not None
    assert b'"version": 2' in entries["meta"].tobytes()


def test_class_by_the_sign_of_the_output():
    machine = model(classes=("no", "yes"))
    X = np.random.default_rng(3).uniform(size=(50, 2))
    wanted = np.where(machine.decision(X)[:, 0] > 0, "yes", "no")
    assert_array_equal(machine.predict(X), wanted)
    assert {*wanted} == {"no", "yes"}


@pytest.mark.parametrize(
    ("supports", "words"),
    [
        ([[0, 3]], "must be -1 or places of 3 nodes"),
        ([[0, -2]], "must be -1 or places of 3 nodes"),
        ([[-1, 0]], "must have -1 behind the bits"),
        ([[0, -1, 1]], "must have -1 behind the bits"),
        ([[1, 1]], "must have distinct bits"),
        (np.zeros((0, 2)), "must have families of 1 to 12 bits"),
        (np.arange(13)[None], "must have families of 1 to 12 bits"),
    ],
)
def test_supports_that_are_refused(supports, words):
    entries = model_to_arrays(model())
    entries["layer2_supports"] = np.array(supports, np.int32)
    with pytest.raises(ModelFileError, match=words):
        model_from_arrays(entries)


def test_families_come_last_and_follow_bits():
    machine = model()
    twice = replace(
        machine,
        layers=(*machine.layers, FamilyLayer(np.array([[0]], np.int32))),
        readout=np.zeros((11, 1)),
    )
    with pytest.raises(ModelFileError, match="layer 2 must be the last, as it is of families"):
        model_from_arrays(model_to_arrays(twice))
    soft = replace(machine.layers[0], activation="tanh")
    with pytest.raises(ModelFileError, match="layer 2 of families must follow a layer of sign"):
        model_from_arrays(model_to_arrays(replace(machine, layers=(soft, machine.layers[1]))))


def test_readout_has_a_row_for_every_node():
    entries = model_to_arrays(model())
    entries["readout"] = entries["readout"][:-1]
    with pytest.raises(ModelFileError, match="entry 'readout' must have shape"):
        model_from_arrays(entries)
