"""Readouts that are loaded while the core runs: the integers of one model, then of the other."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from random import Random

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from scm_hw.design import Design, Options, compile_model
from scm_hw.emit.identity import describe
from scm_hw.errors import OptionError, UnsupportedModelError
from scm_hw.host.loading import upload_of
from scm_hw.ir.interp import interpret
from scm_hw.load import Model
from scm_hw.load.upload import HEADER_BYTES, LoadStatus, upload_bytes
from scm_hw.rtl.uart.description import Description
from scm_hw.verify.check import simulate
from scm_hw.verify.rows import check_rows
from tests.hw.reloading import (
    BOARD,
    RESET,
    REVERT,
    events_of,
    phases,
    refitted,
    reloadable,
    results,
    run,
    upload_for,
    words,
)
from tests.hw.test_families import family_model
from tests.support import random_model

KINDS = {
    "one output": {},
    "two layers": {"outputs": 2, "layers": (6, 5), "mechanism": "polynomial"},
    "classes": {"outputs": 3, "task": "classification", "encoder": "gray"},
    "two classes": {"outputs": 2, "task": "classification"},
    "codes": {"encoder": "none", "mechanism": "table"},
    "families": {},
    "external": {"outputs": 2, "mechanism": "external", "linear": False, "activation": "step"},
}
OLD = LoadStatus.BUILT_IN
NEW = LoadStatus.LOADED | LoadStatus.REVERTIBLE


@cache
def machine(kind: str) -> Model:
    if kind == "families":
        return family_model(2, outputs=2)
    return random_model(3, rows=20, **KINDS[kind])


@cache
def designed(kind: str, **options: object) -> Design:
    return reloadable(machine(kind), **options)


@cache
def rows(kind: str) -> np.ndarray:
    design = designed(kind)
    return check_rows(design, design.model.evaluation).inputs[:40]


@pytest.mark.parametrize("kind", KINDS)
def test_the_built_in_model_is_exact(kind: str, tmp_path) -> None:
    design = designed(kind)
    checked = check_rows(design, design.model.evaluation)
    simulate(design, checked, "amaranth", tmp_path).check()


@pytest.mark.parametrize("handshake", ["global", "skid"])
@pytest.mark.parametrize("kind", KINDS)
def test_results_are_of_one_model_then_of_the_other(kind: str, handshake: str) -> None:
    """Under stalls: before, during and after two uploads, and back again."""
    design = designed(kind, handshake=handshake)
    uploads = [upload_for(design, refitted(machine(kind), seed)) for seed in (1, 2)]
    events = [events_of(upload.data) for upload in uploads]
    found = run(design, words(design, rows(kind)), [*events, [REVERT], [REVERT]], pause=60)
    assert found.statuses == [
        NEW,
        NEW,
        LoadStatus.REVERTED | LoadStatus.REVERTIBLE,
        LoadStatus.REVERTED | LoadStatus.REVERTIBLE,
    ]
    programs = [design.meaning, *(upload.meaning for upload in uploads)]
    counts = phases(results(design, found), rows(kind), [*programs, programs[1], programs[2]])
    assert min(counts) > 10


@pytest.mark.parametrize("kind", ["one output", "classes"])
def test_models_differ_on_the_rows(kind: str) -> None:
    """Or the other tests would see no difference between them."""
    design = designed(kind)
    expected = [interpret(design.meaning, rows(kind))]
    for seed in (1, 2):
        upload = upload_for(design, refitted(machine(kind), seed))
        expected.append(interpret(upload.meaning, rows(kind)))
    for i, one in enumerate(expected):
        for other in expected[:i]:
            assert (one != other).any(axis=1).mean() > 0.3


def test_a_corrupt_byte_anywhere_leaves_the_old_model() -> None:
    design = designed("one output")
    data = upload_for(design, refitted(machine("one output"), 1)).data
    random = Random(5)
    groups, reasons = [], []
    for place in range(len(data)):
        torn = bytearray(data)
        torn[place] ^= 1 << random.randrange(8)
        groups.append(events_of(bytes(torn)))
        foreign, length = place < HEADER_BYTES - 4, place < HEADER_BYTES
        reasons.append(
            LoadStatus.FOREIGN if foreign else LoadStatus.LENGTH if length else LoadStatus.CRC
        )
    found = run(design, words(design, rows("one output")), groups, open_share=1.0, pause=3)
    assert len(groups) > 80
    assert found.statuses == [reason | OLD for reason in reasons]
    (count,) = phases(results(design, found), rows("one output"), [design.meaning])
    assert count > len(data) ** 2 // 4


def test_a_broken_upload_is_dropped_by_the_next_and_by_a_reset() -> None:
    design = designed("one output")
    upload, other = (upload_for(design, refitted(machine("one output"), s)) for s in (1, 2))
    # Into the second table.
    half = events_of(upload.data[:70])
    groups = [half, events_of(other.data), half, [RESET], events_of(upload.data), [REVERT]]
    # A reset drops samples as well: a core without any shows the states alone.
    found = run(design, words(design, rows("one output")), groups)
    assert found.statuses == [
        LoadStatus.BUSY | OLD,
        NEW,
        LoadStatus.BUSY,
        LoadStatus(0),
        NEW,
        LoadStatus.REVERTED | LoadStatus.REVERTIBLE,
    ]
    programs = [design.meaning, other.meaning]
    counted = found.results[: sum(phases_until_reset(design, found, programs))]
    assert len(counted) > 20


def phases_until_reset(design: Design, found, programs) -> list[int]:
    """The results before the reset, which are as many as are right in order."""
    got = results(design, found)
    for end in range(len(got), 0, -1):
        try:
            return phases(got[:end], rows("one output"), programs)
        except AssertionError:
            continue
    return []


def test_a_loaded_model_survives_a_reset() -> None:
    design = designed("one output")
    upload = upload_for(design, refitted(machine("one output"), 1))
    inputs = rows("one output")[:1]
    groups = [events_of(upload.data), [RESET], []]
    found = run(design, words(design, inputs), groups, open_share=1.0)
    assert found.statuses == [NEW, LoadStatus.REVERTIBLE, LoadStatus.REVERTIBLE]
    after = results(design, found)[-8:]
    assert_array_equal(after, np.repeat(interpret(upload.meaning, inputs), 8, axis=0))


def test_bytes_that_nobody_announced_and_a_revert_to_nothing_change_nothing() -> None:
    design = designed("one output")
    upload = upload_for(design, refitted(machine("one output"), 1))
    groups = [list(upload.data), [REVERT], [*events_of(upload.data), *upload.data]]
    found = run(design, words(design, rows("one output")), groups)
    assert found.statuses == [OLD, OLD, NEW]


@pytest.mark.parametrize("change", ["threshold", "weight", "linear", "range", "outputs"])
def test_another_machine_is_refused_before_it_is_sent(change: str) -> None:
    model = machine("one output")
    design = designed("one output")
    layer = model.layers[0]
    weights = layer.weights.copy()
    weights[0, 0] = -weights[0, 0]
    other = {
        "threshold": lambda: replace(model, layers=(replace(layer, biases=layer.biases + 2),)),
        "weight": lambda: replace(model, layers=(replace(layer, weights=weights),)),
        "linear": lambda: replace(model, linear=model.linear + 0.125),
        "range": lambda: replace(model, target_max=model.target_max + 1),
        "outputs": lambda: random_model(3, outputs=2),
    }[change]()
    with pytest.raises(OptionError, match="model must have the hidden layers"):
        upload_for(design, other)
    assert upload_for(design, model).meaning.outputs


def test_coefficients_that_have_no_place_are_refused() -> None:
    model = machine("one output")
    with pytest.raises(OptionError, match=r"readout must fit tables of \d+ bits, not \d+"):
        upload_for(designed("one output"), refitted(model, 1, scale=20.0))


@pytest.mark.parametrize(
    "options",
    [
        {"handshake": "none"},
        {"fold": "1x1"},
        {"interface": "axis"},
        {"top": "self-test"},
        {"reload": "most"},
    ],
    ids=str,
)
def test_what_it_does_not_go_with_is_refused(options: dict[str, str]) -> None:
    name, value = next(iter(options.items()))
    with pytest.raises(OptionError, match=rf"{name} must be .*, not '?{value}"):
        Options(**({"reload": "readout"} | options))


def test_a_machine_without_nodes_is_refused() -> None:
    with pytest.raises(UnsupportedModelError, match="must have hidden nodes for --reload"):
        reloadable(random_model(0, layers=()))


def test_a_latency_that_leaves_no_room_is_refused() -> None:
    with pytest.raises(OptionError, match="latency must be at least 3 cycles with --reload"):
        reloadable(machine("one output"), latency=2)


@pytest.mark.parametrize(
    "options",
    [
        {"output_units": True},
        {"input_format": ("x1=adc:10:-5:5",)},
        {"output_bits": 9},
        {"frac_bits": 11},
        {"latency": 9},
        {"clock_mhz": 200.0},
        {"input_register": True},
    ],
    ids=lambda options: next(iter(options)),
)
def test_the_description_is_enough_for_an_upload(options: dict[str, object]) -> None:
    """Of the model that was built in, it has the entries that the tables hold at power-up."""
    model = random_model(3, rows=20, outputs=2)
    design = compile_model(
        model, BOARD, Options(reload="readout", **options), model_digest="00" * 32
    )
    told = Description.decode(describe(design, "demo").encode())
    plan, contents = design.loadable.plan, design.loadable.contents
    assert upload_of(told, model).data == upload_bytes(plan, contents)
    assert upload_of(told, refitted(model, 1)).data != upload_bytes(plan, contents)
