from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from scm_model import Layer, reference
from scm_train.encode.encoders import fit_encoder
from scm_train.errors import DataError, ParameterError
from tests.train.machines import inputs, machine, plant

PHI = {
    "sign": lambda z: -1.0 if z <= 0 else 1.0,
    "step": lambda z: 1.0 if z >= 0 else 0.0,
    "tanh": np.tanh,
}


def by_hand(m, row):
    """``y_norm`` of one row, connection by connection, as the schema says it."""
    x_norm = (row - m.input_min) / (m.input_max - m.input_min)
    codes = [min(max(int(np.floor(v * 256)), 0), 255) for v in x_norm]
    x = np.array([(code + 0.5) / 256 for code in codes])
    h, groups = [], []
    for feature, code in enumerate(codes):
        for threshold in m.encoder.thresholds[feature]:
            h.append(1.0 if code >= threshold else -1.0)
            groups.append(feature)
    nodes: list[float] = []
    for layer in m.layers:
        out = []
        for n in range(layer.nodes):
            z = layer.biases[n]
            for i, value in enumerate(h):
                if layer.mask is None or layer.mask[n, groups[i]]:
                    z += layer.weights[n, i] * value
            out.append(PHI[layer.activation](layer.lambdas[n] * z))
        h, groups = out, list(range(len(out)))
        nodes += out
    return x @ m.linear + m.intercept + np.array(nodes) @ m.readout


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("activation", PHI)
@pytest.mark.parametrize("weights", ["binary", "real"])
def test_decision_is_the_schemas(activation, masked, weights):
    m = machine(activation=activation, masked=masked, weights=weights)
    X = inputs(30, seed=3) * 1.5
    assert_allclose(m.decision(X), [by_hand(m, row) for row in X], rtol=0, atol=1e-12)


def test_regression_is_given_in_raw_units():
    m = machine()
    X = inputs(10)
    assert_array_equal(m.predict(X), m.target_min + 4.0 * m.decision(X))


def test_the_first_of_equal_classes_wins():
    m = machine(classes=("a", "b", "c"))
    flat = replace(m, readout=m.readout * 0, linear=m.linear * 0, intercept=np.array([0.0, 1, 1]))
    assert_array_equal(flat.predict(inputs(4)), ["b"] * 4)


@pytest.mark.parametrize(
    ("classes", "kind"),
    [(("no", "yes"), "U"), ((3, 7), "i"), ((0.5, 1.5), "f"), ((False, True), "b"), ((1, "1"), "O")],
)
def test_labels_keep_their_type(classes, kind):
    predicted = machine(classes=classes).predict(inputs(50))
    assert predicted.dtype.kind == kind
    assert set(predicted.tolist()) <= set(classes)


def test_chunks_make_no_difference(monkeypatch):
    m = machine(mechanism="external")
    X = inputs(101)
    whole, hidden = m.predict(X), m.hidden_layers(X)
    given = m.predict(X, plant(X))
    monkeypatch.setattr(reference, "CHUNK_NUMBERS", 21 * 7)
    assert len(list(reference._chunks(m, 101))) == 15
    assert_allclose(m.predict(X), whole, rtol=1e-14)
    assert_allclose(m.predict(X, plant(X)), given, rtol=1e-14)
    for part, all_rows in zip(m.hidden_layers(X), hidden, strict=True):
        assert_array_equal(part, all_rows)


def test_a_sum_of_exactly_minus_the_bias_is_decided_as_zero():
    """The comparison sees no lambda and no rounding, however fine the bias."""
    x = np.array([[0.0], [1.0]])
    encoder = fit_encoder("thermometer:1", x, input_bits=4)
    for bias, sign, step in [
        (-1.0, -1, 1),
        (np.nextafter(-1, 0), 1, 1),
        (np.nextafter(-1, -2), -1, 0),
    ]:
        for activation, expected in (("sign", sign), ("step", step)):
            layer = Layer(
                np.array([[1]], np.int8), np.array([1e-310]), np.array([bias]), activation
            )
            m = replace(
                machine(layers=()),
                encoder=encoder,
                layers=(layer,),
                features=("x",),
                input_min=np.zeros(1),
                input_max=np.ones(1),
            )
            assert m.hidden_layers(x)[0][1, 0] == expected


def test_unencoded_quantised_inputs_are_summed_exactly():
    m = machine(encoder="none", input_bits=24, layers=(4,))
    layer = m.layers[0]
    x = m.encoder.quantised(m.normalise(inputs(50)))
    scaled = np.rint(x * 2**25).astype(object)
    for n in range(4):
        exact = [
            sum(int(w) * int(v) for w, v in zip(layer.weights[n], row, strict=True))
            for row in scaled
        ]
        on_the_edge = replace(layer, biases=np.full(4, -exact[0] / 2**25))
        h = replace(m, layers=(on_the_edge,)).hidden_layers(inputs(50))[0]
        assert_array_equal(h[:, n], [1 if e > exact[0] else -1 for e in exact])


def test_a_feature_of_empty_range_counts_as_zero():
    m = machine(encoder="none", input_bits=None)
    flat = replace(m, input_max=np.array([*m.input_max[:2], m.input_min[2]]))
    assert_array_equal(flat.normalise(inputs(5))[:, 2], np.zeros(5))


def test_a_machine_may_have_no_layers():
    m = machine(layers=())
    x = m.encoder.quantised(m.normalise(inputs(5)))
    assert_allclose(m.decision(inputs(5)), x @ m.linear + m.intercept)
    assert m.hidden_layers(inputs(5)) == []


def test_images_of_bytes_are_taken_as_numbers():
    X = np.random.default_rng(0).integers(0, 255, (20, 3), dtype=np.uint8)
    m = replace(machine(), input_min=np.full(3, 100.0), input_max=np.full(3, 200.0))
    assert_array_equal(m.predict(X), m.predict(X.astype(float)))


def test_given_mechanism_values():
    m = machine(mechanism="external")
    X = inputs(20)
    assert_array_equal(m.predict(X), m.predict(X, plant(X)))
    without = replace(m, mechanism=replace(m.mechanism, function=None))
    assert_array_equal(without.predict(X, plant(X)), m.predict(X))
    with pytest.raises(ParameterError, match="mechanism_values must be given"):
        without.predict(X)
    with pytest.raises(DataError, match=r"finite and of shape \(20, 2\), not of shape \(20,\)"):
        without.predict(X, plant(X)[:, 0])
    with pytest.raises(ParameterError, match="must be None for a mechanism of kind 'none'"):
        machine().predict(X, plant(X))


def test_wrong_number_of_features():
    with pytest.raises(DataError, match=r"rows of 3 features, not of shape \(4, 2\)"):
        machine().predict(np.zeros((4, 2)))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_inputs_that_are_not_finite(value):
    X = inputs(5)
    X[3, 1] = value
    with pytest.raises(DataError, match="inputs must be finite"):
        machine().predict(X)


def test_evaluation_rows_widen_the_range_of_an_external_mechanism():
    m = machine(mechanism="external")
    X = np.array([[40.0, 0.0, 0.0]])
    carrying = m.with_evaluation(X, np.zeros((1, 2)))
    assert_array_equal(carrying.evaluation.mechanism, plant(X))
    assert carrying.mechanism.range[1, 0] == 1600 / 4
    assert_array_equal(carrying.mechanism.range[0], m.mechanism.range[0])
    assert machine().with_evaluation(X, np.zeros((1, 2))).evaluation.mechanism is None


def test_hardware_reasons():
    assert machine().hardware_reasons == []
    assert machine(encoder="none", activation="step", mechanism="table").hardware_reasons == []
    unready = machine("none", None, activation="tanh", weights="real", layers=(3,))
    reasons = unready.hardware_reasons
    assert reasons == [
        "inputs are not quantised (input_bits is null)",
        "layer 1 has activation tanh, not sign or step",
        "layer 1 has real weights, not binary ones",
    ]
