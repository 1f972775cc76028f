"""Descriptions from a wire that can't be trusted."""

from __future__ import annotations

import copy
import json
from random import Random
from typing import Any

import numpy as np
import pytest

from scm_hw import boards
from scm_hw.design import Options, compile_model
from scm_hw.emit.identity import describe
from scm_hw.errors import LinkError, OptionError
from scm_hw.rtl.uart.description import Description
from tests.support import random_model

ARTY = boards.get("arty-a7")
JUNK: list[Any] = [None, True, -1, 0, 1, 7, 10**6, -(10**6), 10**400, 1e308, -1e308, 5e-324, 0.5]
JUNK += ["", "x", [], [0], {}, float("nan"), float("inf")]
KINDS: list[dict[str, Any]] = [
    {"layers": (4,), "mechanism": "external", "outputs": 2},
    {"layers": (4,), "task": "classification", "mechanism": "external", "outputs": 3},
]


def spoilt(record: Any, random: Random) -> Any:
    """One value somewhere inside is another, is gone, or is there twice."""
    places: list[tuple[Any, Any]] = []

    def walk(node: Any) -> None:
        keys = range(len(node)) if isinstance(node, list) else list(node)
        for key in keys:
            places.append((node, key))
            if isinstance(node[key], list | dict):
                walk(node[key])

    changed = copy.deepcopy(record)
    walk(changed)
    node, key = random.choice(places)
    match random.randrange(4):
        case 0:
            del node[key]
        case 1 if isinstance(node, list):
            node.insert(key, copy.deepcopy(node[key]))
        case _:
            node[key] = random.choice(JUNK)
    return changed


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.filterwarnings("error")
def test_any_description_is_refused_or_makes_sense(kind: dict[str, Any]) -> None:
    """Nothing but our own errors, and numbers for all integers of the fields' widths."""
    design = compile_model(random_model(2, **kind), ARTY, Options(frac_bits=9))
    whole = describe(design, "demo")
    assert Description.decode(whole.encode()) == whole
    record = json.loads(whole.encode())
    random, taken = Random(1), 0
    for _ in range(1200):
        data = json.dumps(spoilt(record, random)).encode()
        try:
            meaning = Description.decode(data)
        except LinkError:
            continue
        taken += 1
        rows = np.array([[-1e300] * len(meaning.features), [1e300] * len(meaning.features)])
        p0 = rows[:, :1].repeat(len(meaning.words), axis=1) if meaning.words else None
        integers = meaning.inputs(rows, p0)
        assert integers.shape == (2, len(meaning.in_widths))
        results = np.full((3, len(meaning.outputs)), (1 << 62) - 1)
        try:
            assert len(meaning.units(results)) == 3
        except (LinkError, OptionError):
            assert meaning.classes is not None
    assert 50 < taken < 1100


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b"\xff", b"[" * 5000, b"1" * 9000, b"null"])
def test_bytes_that_are_no_description(data: bytes) -> None:
    with pytest.raises(LinkError, match="description must be what this version writes"):
        Description.decode(data)


@pytest.mark.parametrize("mechanism", [None, np.zeros((3, 2)), np.zeros((4, 1)), np.zeros(4)])
def test_a_mechanism_of_another_shape_is_refused(mechanism: Any) -> None:
    found = describe(compile_model(random_model(2, **KINDS[0]), ARTY))
    with pytest.raises(OptionError, match="mechanism must have 4 rows and 2 columns, not"):
        found.inputs(np.zeros((4, 3)), mechanism)
