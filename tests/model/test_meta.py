"""Every rule of the JSON in a model file, broken."""

from __future__ import annotations

import time

import numpy as np
import pytest

from scm_model import ModelFileError, model_from_arrays
from tests.model.broken import Change, drop, label, layer, meta, put, raw_meta, refused
from tests.support import model_arrays

JSON = "entry 'meta' must be JSON in UTF-8"
FORMAT = "meta 'format' must be 'scm-model', not {}; this is not a model file of scm_train"
TOO_NEW = "meta 'version' must be at most 4, not {}; install a newer scm-hw"
NAMES = "meta 'features' must be a list of 1 to 65536 names"

DAMAGED = "; the file is damaged or was written by another program, write it again"
META = [
    (drop("meta"), "entry 'meta' must be present; the file is incomplete"),
    (put("meta", [1], np.int8), "entry 'meta' must be of type uint8, not int8"),
    (put("meta", [[1]], np.uint8), "entry 'meta' must have shape ('any',), not (1, 1)"),
    (raw_meta(bytes((4 << 20) + 1)), f"entry 'meta' must have at most {4 << 20} bytes"),
    (raw_meta(b""), JSON),
    (raw_meta(b"{"), JSON),
    (raw_meta(b'"\xff"'), JSON),
    (raw_meta(b"[" * 100_000), JSON),
    (raw_meta(b'{"version": ' + b"9" * 10_000 + b"}"), JSON),
    (raw_meta(b"[]"), "entry 'meta' must be a JSON object"),
    (meta(format="other"), FORMAT.format("'other'")),
    (meta(format=None), FORMAT.format("None")),
    (meta(version=5), TOO_NEW.format(5)),
    (meta(version=10**30), TOO_NEW.format(10**30)),
    (meta(version=0), "meta 'version' must be from 1 to 4, not 0" + DAMAGED),
    (meta(version="1"), "meta 'version' must be from 1 to 4, not '1'" + DAMAGED),
    (meta(version=True), "meta 'version' must be from 1 to 4, not True" + DAMAGED),
    (meta(version=1.0), "meta 'version' must be from 1 to 4, not 1.0" + DAMAGED),
    (meta(task="ranking"), "meta 'task' must be one of regression, classification, not 'ranking'"),
    (meta(task=["x"]), "meta 'task' must be one of regression, classification, not ['x']"),
    (meta(algorithm=""), "meta 'algorithm' must be a non-empty string, not ''"),
    (meta(algorithm=None), "meta 'algorithm' must be a non-empty string, not None"),
    (meta(name=3), "meta 'name' must be a non-empty string, not 3"),
    (meta(input_bits=0), "meta 'input_bits' must be null or in [1, 24], not 0"),
    (meta(input_bits=25), "meta 'input_bits' must be null or in [1, 24], not 25"),
    (meta(input_bits=8.0), "meta 'input_bits' must be null or in [1, 24], not 8.0"),
    (meta(input_bits=True), "meta 'input_bits' must be null or in [1, 24], not True"),
    (meta(features="abc"), NAMES),
    (meta(features=[]), NAMES),
    (meta(features=[str(i) for i in range(65537)]), NAMES),
    (meta(features=["a", 2, "c"]), "meta 'features' must hold non-empty strings, not 2"),
    (meta(features=["a", "", "c"]), "meta 'features' must hold non-empty strings, not ''"),
    (meta(features=["a", "b", "a"]), "meta 'features' must hold distinct names, not 'a' twice"),
    (meta(targets=None), "meta 'targets' must be a list of 1 to 65536 names"),
    (meta(targets=["y", "y"]), "meta 'targets' must hold distinct names, not 'y' twice"),
    (meta(encoder=None), "meta 'encoder' must be an object, not None"),
    (
        meta(encoder={"kind": "morse"}),
        "encoder 'kind' must be one of thermometer, binary, gray, none, not 'morse'",
    ),
    (
        meta(input_bits=None),
        "meta 'input_bits' must be a number for encoder 'thermometer', not null",
    ),
    (meta(layers=None), "meta 'layers' must be a list of at most 256 layers"),
    (meta(layers=[{}] * 257), "meta 'layers' must be a list of at most 256 layers"),
    (meta(layers=[3]), "layer 1 in meta must be an object, not 3"),
    (layer(1, nodes=0), "layer 1 must have at least 1 node, not 0"),
    (layer(1, nodes=5.0), "layer 1 must have at least 1 node, not 5.0"),
    (layer(1, nodes=True), "layer 1 must have at least 1 node, not True"),
    (
        layer(1, activation="relu"),
        "layer 1 'activation' must be one of sign, step, sigmoid, brelu, tanh, not 'relu'",
    ),
    (
        layer(1, nodes=10**12),
        f"layer 1 must have at most {1 << 27} weights, not {21 * 10**12}",
    ),
    (
        layer(1, weights="ternary"),
        "layer 1 'weights' must be one of binary, real, not 'ternary'",
    ),
    (meta(mechanism=1), "meta 'mechanism' must be an object, not 1"),
    (
        meta(mechanism={"kind": "none", "worst_error": "big"}),
        "mechanism 'worst_error' must be a number, not 'big'",
    ),
    (raw_meta(b'{"seed": NaN}'), "entry 'meta' must be JSON, which has no NaN"),
    (
        meta(mechanism={}),
        "mechanism 'kind' must be one of none, external, polynomial, table, not None",
    ),
]


@pytest.mark.parametrize(("change", "message"), META, ids=label)
def test_rules_of_meta(change: Change, message: str) -> None:
    refused(change, message)


def test_many_names_are_checked_in_no_time() -> None:
    arrays = model_arrays()
    names = [f"x{i}" for i in range(65535)]
    meta(features=[*names, names[-1]])(arrays)
    begin = time.process_time()
    with pytest.raises(ModelFileError, match=r"^meta 'features' must hold distinct names, not "):
        model_from_arrays(arrays)
    assert time.process_time() - begin < 1
