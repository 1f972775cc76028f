"""Models as the steps of a processor: the integers of the interpreter, or one line that refuses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from scm_hw.design import Options, compile_model
from scm_hw.emit.identity import describe
from scm_hw.errors import LinkError, OptionError, UnsupportedModelError
from scm_hw.ir.interp import interpret
from scm_hw.load import steps
from scm_hw.load.capacity import Room, parse_room
from scm_hw.load.processor import built_in, loaded
from scm_hw.load.steps import Kind, run_image
from scm_hw.rtl.uart.description import Description
from scm_model import Model
from tests.column_models import column_model
from tests.hw.processors import CLASSES, KINDS, ROOM, machine, processor
from tests.hw.reloading import BOARD
from tests.support import random_model

REGRESSION = [*KINDS, "families", "families of columns"]
EVERY = [*REGRESSION, *CLASSES, "family classes"]
COLUMNS = {
    "thermometer": {},
    "none": {"encoder": "none", "inputs_per_node": 2},
    "gray": {"encoder": "gray", "layers": (6, 4)},
    "column classes": {"task": "classification", "outputs": 3},
}


def differing(found) -> int:
    """Rows in which the steps differ from the program, of random codes and corners."""
    reach = found.capacity.input_ranges()
    inputs = np.random.default_rng(5).integers(0, reach[0].high + 1, (300, len(reach)))
    inputs[:20] *= np.random.default_rng(6).integers(0, 2, (20, len(reach)))
    inputs[20] = reach[0].high
    expected = interpret(found.meaning, inputs)
    return int((run_image(found.image, inputs) != expected).any(axis=1).sum())


@pytest.mark.parametrize("kind", EVERY)
def test_steps_are_the_program(kind: str) -> None:
    assert differing(built_in(machine(kind), 14, None)) == 0


@pytest.mark.parametrize("kind", COLUMNS)
def test_columns_are_functions_of_their_code(kind: str) -> None:
    assert differing(built_in(column_model(5, **COLUMNS[kind]), 12, None)) == 0


def test_two_families_may_have_one_support_and_nodes_may_be_equal() -> None:
    model = machine("families")
    supports = model.layers[-1].supports.copy()
    supports[1] = supports[0]
    twice = replace(model.layers[-1], supports=supports)
    entries = np.ldexp(np.arange(twice.nodes, dtype=float)[:, None] * [1, -1], -8)
    first = len(model.readout) - model.families.nodes
    readout = np.concatenate([model.readout[:first] + 0.25, entries])
    assert (
        differing(
            built_in(replace(model, layers=(model.layers[0], twice), readout=readout), 14, None)
        )
        == 0
    )


@pytest.mark.parametrize("fault", ["a step less far", "clip", "count", "address"])
def test_a_fault_is_seen(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = built_in(machine("families" if fault == "address" else "two layers"), 14, None)
    changed = list(found.image.steps)
    wanted = {"clip": Kind.PRODUCT, "count": Kind.CHUNK}.get(fault, Kind.TERM)
    place = next(
        i
        for i, step in enumerate(changed)
        if step.kind == wanted and (fault != "address" or step.address)
        if fault != "clip" or step.high > 2
    )
    step = changed[place]
    faults = {
        "a step less far": {"threshold": step.threshold + 300},
        "clip": {"high": step.high // 2},
        "count": {"low": step.low ^ step.high},
        "address": {"threshold": step.threshold + 300},
    }
    changed[place] = replace(step, **faults[fault])
    assert differing(replace(found, image=replace(found.image, steps=tuple(changed)))) > 0


def test_bits_are_not_read_before_they_are_there() -> None:
    """In NumPy a bit is there at once, in hardware some steps later."""
    image = built_in(machine("three layers"), 14, None).image
    stored: list[int] = []
    distances = []
    for number, step in enumerate(image.steps):
        if step.kind == Kind.CHUNK:
            lanes = image.capacity.lanes
            word = stored[step.source * lanes : (step.source + 1) * lanes]
            distances.append(number - max(word))
        if step.store:
            stored.append(number)
    assert min(distances) == steps.STORE_DISTANCE


@pytest.mark.parametrize("kind", REGRESSION)
def test_every_model_fits_one_processor(kind: str) -> None:
    capacity = processor().processor.capacity
    assert differing(loaded(machine(kind), capacity)) == 0


@pytest.mark.parametrize(
    ("what", "options"),
    [
        ("inputs", {"features": 7}),
        ("nodes", {"layers": (90, 91)}),
        ("layers", {"layers": (2, 2, 2, 2)}),
        ("outputs", {"outputs": 3}),
        ("steps", {"layers": (80,)}),
        ("bits", {"features": 3, "bits": 17, "layers": (2,)}),
    ],
)
def test_a_model_that_is_too_large_is_refused(what: str, options: dict) -> None:
    model = random_model(3, input_bits=12, **options)
    with pytest.raises(OptionError, match=rf"must fit a processor of \d+ {what}, not \d+; "):
        loaded(model, processor().processor.capacity)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mechanism": "polynomial"}, "model must have no mechanism for --reload all"),
        ({"mechanism": "external"}, "model must have no mechanism for --reload all"),
        ({"task": "classification", "outputs": 2}, "model must give outputs, as the processor"),
        ({"input_bits": 8}, "input bits must be 12, those of the processor, not 8"),
    ],
)
def test_another_kind_of_model_is_refused(change: dict, message: str) -> None:
    model = random_model(3, **{"input_bits": 12, **change})
    with pytest.raises((OptionError, UnsupportedModelError), match=message):
        loaded(model, processor().processor.capacity)


def test_coefficients_that_have_no_place_are_refused() -> None:
    model = machine("one output")
    large = replace(model, readout=model.readout * 1e4)
    with pytest.raises(OptionError, match=r"outputs must fit the \d+ bits of the processor, not"):
        loaded(large, processor().processor.capacity)


def test_a_capacity_is_read() -> None:
    whole = parse_room("16 inputs, 400 nodes,3 layers,4 outputs,900 steps,256 bits")
    assert whole == Room(16, 400, 3, 4, 900, 256)
    short = parse_room("16 inputs,400 nodes,1 layer,1 output")
    assert (short.layers, short.outputs) == (1, 1) and short.steps > 400
    assert parse_room(str(whole)) == whole


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("many", "capacity must be numbers of inputs"),
        ("3 inputs,4 inputs", "capacity must be numbers of inputs"),
        ("3 inputs,4 nodes,1 layers", "capacity must say how many outputs there are"),
        ("3 inputs,0 nodes,1 layers,1 outputs", r"capacity in nodes must be in \[1, 65536\]"),
        ("3 inputs,4 cows,1 layers,1 outputs", "capacity must be numbers of inputs"),
    ],
)
def test_a_bad_capacity_is_refused(text: str, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        Options(reload="all", capacity=text)


@pytest.mark.parametrize(
    "options",
    [
        {"latency": 3},
        {"output_bits": 9},
        {"output_units": True},
        {"input_register": True},
        {"input_format": ("x1=adc:10:-5:5",)},
    ],
    ids=lambda options: next(iter(options)).replace("_", " "),
)
def test_what_models_differ_in_is_refused(options: dict[str, object]) -> None:
    name = next(iter(options)).replace("_", " ")
    with pytest.raises(OptionError, match=f"{name} must be left out with --reload all"):
        Options(reload="all", **options)


def test_a_capacity_is_for_processors() -> None:
    with pytest.raises(OptionError, match="capacity must be given with --reload all"):
        Options(capacity=ROOM)


@pytest.mark.parametrize("kind", ["one output", "families of columns", "classes"])
def test_the_description_says_it_all(kind: str) -> None:
    room = "7 inputs,180 nodes,3 layers,4 outputs"
    design = processor(kind, room)
    told = describe(design, "demo")
    assert Description.decode(told.encode()) == told
    assert told.in_widths == list(design.ports.in_widths)
    assert told.out_widths == list(design.ports.out_widths)
    model: Model = design.model
    inputs = told.inputs(model.evaluation.inputs)
    assert inputs.shape == (len(model.evaluation), 7)
    found = told.units(design.interpret(inputs))
    if not model.is_classifier:
        expected = model.predict(model.evaluation.inputs)
        span = model.target_max - model.target_min
        assert np.abs(found - expected.reshape(found.shape)).max() < 1e-2 * span.max()


def test_a_damaged_capacity_is_refused() -> None:
    told = describe(processor(), "demo").encode()
    for old, new in (
        (b'"nodes":180', b'"nodes":-1'),
        (b'"code_bits":12', b'"code_bits":"a"'),
        (b'"idle":[3,1]', b'"idle":[9,1]'),
        (b'"room":', b'"rooms":'),
    ):
        assert old in told
        with pytest.raises(LinkError, match="description must be what this version writes"):
            Description.decode(told.replace(old, new))


def test_a_processor_has_the_room_that_a_model_needs() -> None:
    design = compile_model(machine("one output"), BOARD, Options(reload="all"))
    room, image = design.processor.capacity.room, design.processor.image
    assert room.steps > len(image.steps) and room.inputs == 4
    again = loaded(random_model(4, input_bits=12, layers=(6,)), design.processor.capacity)
    assert_array_equal(differing(again), 0)
