"""Model files of others: damaged, lying or hostile, they are refused in one line."""

from __future__ import annotations

import io
import json
import zipfile

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from scm_train.errors import ModelFileError
from scm_train.model_file import load, save
from tests.train.machines import inputs, machine

X = inputs(60, seed=5) * 1.3


def entries_of(m, tmp_path):
    save(m, tmp_path / "good.npz")
    with np.load(tmp_path / "good.npz") as file:
        return dict(file)


def with_meta(arrays, **changes):
    meta = json.loads(arrays["meta"].tobytes()) | changes
    return arrays | {"meta": np.frombuffer(json.dumps(meta).encode(), np.uint8)}


def refused(path, message):
    with pytest.raises(ModelFileError) as caught:
        load(path)
    text = str(caught.value)
    assert message in text
    assert text.startswith(str(path))
    assert "\n" not in text


SIGN = {"nodes": 5, "activation": "sign", "weights": "binary"}


BAD_META = [
    ({"format": "onnx"}, "meta must be of format 'scm-model'"),
    ({"version": 2}, "version must be at most 1, not 2; update"),
    ({"version": "1"}, "version must be at most 1, not '1'"),
    ({"version": True}, "version must be at most 1, not True"),
    ({"task": "clustering"}, "task must be one of regression, classification, not 'clustering'"),
    ({"task": "classification"}, "classes must be a list"),
    ({"task": "classification", "classes": ["low", "low"]}, "classes must be distinct"),
    ({"task": "classification", "classes": ["a"]}, "classes must be 2 labels"),
    ({"algorithm": 7}, "algorithm must be text"),
    ({"name": 7}, "name must be text"),
    ({"features": ["a", "a", "b"]}, "features must be distinct names"),
    ({"features": "abc"}, "features must be a list of names"),
    ({"targets": []}, "targets must be a list of names"),
    ({"features": ["a", "b"]}, "encoder_bits must be of shape (2,), not (3,)"),
    ({"input_bits": 25}, "input_bits must be null or a whole number from 1 to 24, not 25"),
    ({"input_bits": None}, "input_bits must be a number for thermometer"),
    ({"input_bits": 2}, "encoder_bits must be from 1 to 3"),
    ({"encoder": {"kind": "onehot"}}, "kind of encoder must be one of"),
    ({"encoder": None}, "kind of encoder must be one of"),
    ({"mechanism": {"kind": []}}, "kind of mechanism must be one of"),
    ({"mechanism": {"kind": "table"}}, "entry mechanism_inputs must be there"),
    ({"mechanism": {"kind": "none", "worst_error": "big"}}, "worst_error of the mechanism must"),
    ({"layers": 3}, "layers must be a list"),
    ({"layers": [SIGN | {"nodes": 0}]}, "nodes must be from 1 to"),
    ({"layers": [SIGN | {"nodes": 10**9}]}, "nodes must be from 1 to"),
    ({"layers": [SIGN | {"nodes": 6}]}, "layer1_weights must be of shape (6, 3), not (5, 3)"),
    ({"layers": [SIGN | {"activation": "relu"}]}, "activation must be one of"),
    ({"layers": [SIGN | {"weights": "ternary"}]}, "weights must be one of binary, real"),
    ({"layers": [SIGN | {"weights": "real"}]}, "layer1_weights must be of dtype float64"),
]


@pytest.mark.parametrize(("changes", "message"), BAD_META, ids=[m for _, m in BAD_META])
def test_bad_meta(tmp_path, changes, message):
    np.savez(tmp_path / "bad.npz", **with_meta(entries_of(machine(), tmp_path), **changes))
    refused(tmp_path / "bad.npz", message)


def changed(name, index, value):
    def change(arrays):
        array = arrays[name].copy()
        array[index] = value
        return arrays | {name: array}

    return change


def without(name):
    return lambda arrays: {k: v for k, v in arrays.items() if k != name}


BAD_ARRAYS = [
    (changed("readout", (0, 0), np.inf), {}, "readout must be finite, not"),
    (changed("linear", (0, 0), np.nan), {}, "linear must be finite"),
    (changed("input_min", 0, 99.0), {}, "input_min must be at most input_max"),
    (changed("target_min", 0, 4.0), {}, "target_min must be below target_max"),
    (changed("layer1_lambda", 2, 0.0), {}, "layer1_lambda must be positive"),
    (changed("layer1_weights", (0, 2), 0xFF), {}, "layer1_weights must be 0 in its padding bits"),
    (changed("layer1_mask", 0, 0), {"masked": True}, "layer1_mask must leave every node"),
    (changed("layer2_mask", (0, 0), 0x80), {"masked": True}, "layer2_mask must be 0 in its pad"),
    (changed("encoder_bits", 0, 0), {}, "encoder_bits must be from 1 to 255"),
    (changed("encoder_bits", 0, 6), {}, "thresholds must be of shape (20,), not (21,)"),
    (changed("thresholds", 0, 0), {}, "thresholds must increase strictly from 1 to 255"),
    (changed("thresholds", 20, 256), {}, "thresholds must increase strictly"),
    (changed("thresholds", 1, 32), {}, "thresholds must increase strictly"),
    (changed("mechanism_inputs", 0, 3), {"mechanism": "table"}, "distinct features of 3"),
    (changed("mechanism_inputs", 0, 1), {"mechanism": "table"}, "distinct features of 3"),
    (
        lambda a: a | {"mechanism_grid": a["mechanism_grid"][:8]},
        {"mechanism": "table"},
        "mechanism_grid must have 2**s + 1 points per input, s from 1 to 8, not (8, 17)",
    ),
    (changed("mechanism_range", (0, 0), 9e9), {"mechanism": "external"}, "mechanism_range must be"),
    (
        lambda a: a | {"mechanism_exponents": a["mechanism_exponents"][:, :2]},
        {"mechanism": "polynomial"},
        "mechanism_exponents must be of shape (any, 3), not (6, 2)",
    ),
    (without("intercept"), {}, "entry intercept must be there"),
    (without("meta"), {}, "entry meta must be there; is this a model file at all?"),
    (
        lambda a: a | {"readout": a["readout"].astype(np.float32)},
        {},
        "readout must be of dtype float64, not float32",
    ),
    (lambda a: a | {"readout": a["readout"].ravel()}, {}, "readout must be of shape (8, 2), not"),
    (
        lambda a: a | {"eval_inputs": np.zeros((20001, 3)), "eval_targets": np.zeros((20001, 2))},
        {},
        "eval_inputs must be at most 20000 rows",
    ),
    (
        lambda a: a | {"eval_inputs": np.zeros((4, 3)), "eval_targets": np.zeros((3, 2))},
        {},
        "eval_targets must be of shape (4, 2), not (3, 2)",
    ),
    (
        lambda a: a | {"eval_inputs": np.zeros((4, 3)), "eval_targets": np.array([0, 1, 2, 0])},
        {"classes": ("a", "b")},
        "eval_targets must be indices of the 2 classes",
    ),
    (
        lambda a: a | {"eval_inputs": np.zeros((4, 3)), "eval_targets": np.zeros((4, 2))},
        {"mechanism": "external"},
        "entry eval_mechanism must be there",
    ),
    (
        lambda a: a | {"history_train_rmse": np.zeros(3), "history_validation_rmse": np.zeros(2)},
        {},
        "history_validation_rmse must be of shape (3,), not (2,)",
    ),
    (lambda a: a | {"meta": np.frombuffer(b"{", np.uint8)}, {}, "meta must be JSON in UTF-8"),
    (lambda a: a | {"meta": np.frombuffer(b"\xff", np.uint8)}, {}, "meta must be JSON in UTF-8"),
    (
        lambda a: a | {"meta": np.frombuffer(b"[" * 99999, np.uint8)},
        {},
        "meta must be JSON in UTF-8",
    ),
    (
        lambda a: a | {"meta": np.frombuffer(b'{"seed": NaN}', np.uint8)},
        {},
        "NaN is no number of JSON's",
    ),
    (lambda a: a | {"meta": np.zeros(2**22 + 1, np.uint8)}, {}, "meta must be at most 4194304"),
]


@pytest.mark.parametrize(("change", "kind", "message"), BAD_ARRAYS, ids=[m for *_, m in BAD_ARRAYS])
def test_bad_arrays(tmp_path, change, kind, message):
    np.savez(tmp_path / "bad.npz", **change(entries_of(machine(**kind), tmp_path)))
    refused(tmp_path / "bad.npz", message)


def test_other_byte_orders_and_memory_orders_are_read(tmp_path):
    original = machine()
    arrays = entries_of(original, tmp_path)
    arrays["readout"] = np.asfortranarray(arrays["readout"].astype(">f8"))
    np.savez(tmp_path / "other.npz", **arrays)
    assert_array_equal(load(tmp_path / "other.npz").readout, original.readout)


def test_unknown_entries_and_keys_are_ignored(tmp_path):
    arrays = with_meta(entries_of(machine(), tmp_path), colour="blue")
    np.savez(tmp_path / "more.npz", **arrays, extra=np.zeros(3))
    assert_array_equal(load(tmp_path / "more.npz").decision(X), machine().decision(X))


def test_pickles_are_refused(tmp_path):
    arrays = entries_of(machine(), tmp_path) | {"readout": np.array([{"a": 1}], dtype=object)}
    np.savez(tmp_path / "bad.npz", **arrays)
    refused(tmp_path / "bad.npz", "readout.npy must be plain numbers, not a pickled object")


def test_every_truncation_is_refused(tmp_path):
    save(machine(), tmp_path / "good.npz")
    data = (tmp_path / "good.npz").read_bytes()
    for length in range(0, len(data), 97):
        (tmp_path / "cut.npz").write_bytes(data[:length])
        refused(tmp_path / "cut.npz", "must")


def test_flipped_bytes_are_noticed_or_harmless(tmp_path):
    original = machine()
    save(original, tmp_path / "good.npz")
    data = (tmp_path / "good.npz").read_bytes()
    expected = original.decision(X)
    for position in range(0, len(data), 53):
        flipped = bytearray(data)
        flipped[position] ^= 0x55
        (tmp_path / "flipped.npz").write_bytes(flipped)
        try:
            loaded = load(tmp_path / "flipped.npz")
        except ModelFileError:
            continue
        assert_array_equal(loaded.decision(X), expected)


@pytest.mark.parametrize("content", [b"", b"PK", b"speed,force\n1,2\n"])
def test_files_that_are_no_archives(tmp_path, content):
    (tmp_path / "data.npz").write_bytes(content)
    refused(tmp_path / "data.npz", "file must be a whole .npz archive")


def test_a_missing_file(tmp_path):
    refused(tmp_path / "none.npz", "file must exist")


def rewritten(path, source, name, data):
    """Copy an archive with one entry's bytes replaced."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.namelist():
            new.writestr(entry, data if entry == name else old.read(entry))


def npy_header(shape, dtype="<f8"):
    file = io.BytesIO()
    description = {"descr": dtype, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, description)
    return file.getvalue()


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("readout.npy", npy_header((8, 2)), "readout must hold 128 bytes of data, not 0"),
        ("readout.npy", npy_header((8, 2)) + bytes(200), "readout must hold 128 bytes of data"),
        ("readout.npy", b"nonsense", "readout must be a whole .npy entry"),
        ("eval_inputs.npy", npy_header((10**15, 3)), "eval_inputs must be at most 20000 rows"),
        ("mechanism_grid.npy", npy_header((2**40, 17, 2)), "must be at most 1073741824 bytes"),
    ],
)
def test_lying_headers_claim_no_memory(tmp_path, name, data, message):
    original = machine(mechanism="table").with_evaluation(X, np.zeros((60, 2)))
    save(original, tmp_path / "good.npz")
    rewritten(tmp_path / "bad.npz", tmp_path / "good.npz", name, data)
    refused(tmp_path / "bad.npz", message)


def test_doubled_entries_are_refused(tmp_path):
    save(machine(), tmp_path / "m.npz")
    with (
        pytest.warns(UserWarning, match="Duplicate name"),
        zipfile.ZipFile(tmp_path / "m.npz", "a") as file,
    ):
        file.writestr("readout.npy", b"")
    refused(tmp_path / "m.npz", "entries must have distinct names")
