"""Model files of others: damaged, lying or hostile, they are refused in one line."""

from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from scm_model import ModelFileError
from scm_model import read_model as load
from scm_model import write_model as save
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
    assert text.startswith(f"model file {path}")
    assert "\n" not in text


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


def test_every_truncation_is_refused(tmp_path):
    save(machine(), tmp_path / "good.npz")
    data = (tmp_path / "good.npz").read_bytes()
    for length in range(0, len(data), 97):
        (tmp_path / "cut.npz").write_bytes(data[:length])
        refused(tmp_path / "cut.npz", "can't be read as .npz")


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
