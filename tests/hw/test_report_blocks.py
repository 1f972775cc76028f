"""The block diagram and the floor of a core: nothing is missing, and nothing is counted twice."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from scm_hw import boards
from scm_hw.design import Design, Options, compile_model
from scm_hw.report.blocks import Diagram, Wire, block_drawing, diagram, floor_drawing
from scm_hw.report.blocks.floor import HEIGHT, NOMINAL, Area, squarified
from scm_hw.report.blocks.routes import routes
from scm_hw.schedule import Cost, Schedule
from scm_hw.schedule.costs import handshake_cost
from scm_model.adaptation import AdaptSettings
from tests.hw.report_pages import MODELS, designed, example
from tests.hw.test_records import machine
from tests.pages import parsed
from tests.support import model_arrays

SHAPES: dict[str, tuple[str, Options]] = {
    **{kind: (kind, Options()) for kind in MODELS},
    "skid": ("regression", Options(handshake="skid")),
    "free running": ("classifier", Options(handshake="none")),
    "folded": ("regression", Options(fold="2x4,3x2")),
    "lanes in common": ("regression", Options(fold="2x2,2x2")),
    "folded classifier": ("classifier", Options(fold="2x2")),
    "loadable": ("regression", Options(reload="readout")),
    "learning": ("regression", Options(adapt=AdaptSettings())),
}


@cache
def design_of(shape: str) -> Design:
    kind, options = SHAPES[shape]
    if options == Options():
        found: Design = example(kind)[2]
        return found
    return designed(model_arrays(3, **MODELS[kind]), options)[0]


@pytest.mark.parametrize("shape", SHAPES)
def test_every_cell_is_in_one_block(shape: str) -> None:
    design = design_of(shape)
    found = diagram(design)
    total = Cost()
    for block in found.blocks:
        assert min(block.cost.lut, block.cost.ff, block.cost.dsp, block.cost.bram) >= 0, block
        total += block.cost
    assert total == design.estimate
    # What is left for the control is what no operation takes.
    control = found.blocks[-1].cost
    if isinstance(design.schedule, Schedule):
        assert control == handshake_cost(design.program, design.schedule) + Cost(
            ff=design.schedule.latency, bram=control.bram
        )


@pytest.mark.parametrize("shape", SHAPES)
def test_data_pass_every_block(shape: str) -> None:
    design = design_of(shape)
    found = diagram(design)
    drawn, wires = found.drawn, found.wires
    assert (drawn[0].title, drawn[-1].title) == ("in_data", "out_data")
    for place in range(len(drawn)):
        assert place == 0 or any(wire.target == place for wire in wires), drawn[place].title
        last = place == len(drawn) - 1
        assert last or any(wire.source == place for wire in wires), drawn[place].title
    assert sum(w.bits for w in wires if w.target == len(drawn) - 1) == sum(design.ports.out_widths)
    assert all(wire.bits > 0 for wire in wires)
    ends = [start + cycles for block in drawn for start, cycles in block.spans]
    assert max(ends) == design.latency


@pytest.mark.parametrize("shape", ["regression", "outputs", "classifier"])
def test_links_lead_to_modules_that_are_there(shape: str) -> None:
    kind = SHAPES[shape][0]
    page, design = example(kind)[0], design_of(shape)
    modules = set(re.findall(r"^module (\w+)", design.verilog, re.MULTILINE))
    linked = {
        str(a.attributes["href"]).partition("module%20")[2]
        for a in parsed(page).all("a")
        if str(a.attributes["href"]).startswith(f"{design.names.core}.v#")
    }
    assert linked and linked <= modules
    named = {f"{design.names.core}_{m}" for block in diagram(design).blocks for m in block.modules}
    assert named == modules - {design.names.core}


def test_a_history_stands_in_front() -> None:
    design = compile_model(machine(), boards.get("arty-a7"))
    assert design.records is not None
    found = diagram(design)
    assert [block.title for block in found.drawn[:2]] == ["in_data", "history"]
    assert found.wires[0] == Wire(0, 1, sum(design.ports.in_widths))
    modules = set(re.findall(r"^module (\w+)", design.verilog, re.MULTILINE))
    core = f"{design.names.core}_machine_"
    assert {core + m for block in found.blocks for m in block.modules} <= modules


def test_many_layers_are_drawn_in_groups() -> None:
    design = designed(model_arrays(2, layers=(9,) * 14))[0]
    titles = [block.title for block in diagram(design).drawn if block.kind == "layer"]
    assert 1 < len(titles) <= 12 and len(set(titles)) == len(titles)
    assert any(re.fullmatch(r"layers \d+ to \d+", title) for title in titles)


def test_rails_do_not_lie_on_each_other() -> None:
    wires = [Wire(0, 5, 3), Wire(0, 2, 8), Wire(1, 3, 2), Wire(2, 5, 1), Wire(3, 5, 1)]
    found = routes([*wires, Wire(0, 1, 4), Wire(4, 2, 1)], givers=2)
    assert found.middle == [Wire(0, 1, 4)]
    assert {(rail.hub, rail.ends, rail.bits) for rail in found.left} == {
        (0, (5, 2), 8),
        (1, (3,), 2),
    }
    assert {(rail.hub, rail.ends, rail.bits) for rail in found.right} == {
        (5, (2, 3), 2),
        (2, (4,), 1),
    }
    for rails in (found.left, found.right):
        assert sorted(rail.lane for rail in rails) == [0, 1]


@pytest.mark.parametrize(
    "sizes", [[1], [6, 6, 4, 3, 2, 2, 1], [1000, 1, 1], list(range(40, 0, -1))]
)
def test_areas_of_a_floor_are_in_proportion(sizes: list[float]) -> None:
    whole = Area(10, 20, NOMINAL, HEIGHT)
    areas = squarified(sizes, whole)
    unit = NOMINAL * HEIGHT / sum(sizes)
    for size, area in zip(sizes, areas, strict=True):
        assert area.width * area.height == pytest.approx(size * unit)
        assert whole.x - 1e-6 <= area.x and area.x + area.width <= whole.x + NOMINAL + 1e-6
        assert whole.y - 1e-6 <= area.y and area.y + area.height <= whole.y + HEIGHT + 1e-6
    for i, one in enumerate(areas):
        for other in areas[:i]:
            across = min(one.x + one.width, other.x + other.width) - max(one.x, other.x)
            down = min(one.y + one.height, other.y + other.height) - max(one.y, other.y)
            assert across < 1e-6 or down < 1e-6


def _drawn(found: Diagram) -> Any:
    return parsed(block_drawing(found, "blocks", "A core") + floor_drawing(found, "floor", "LUTs"))


def test_the_drawings_name_what_they_show() -> None:
    found = diagram(design_of("regression"))
    words = _drawn(found).text()
    for block in found.drawn:
        assert block.title in words and block.what in words
    assert f"{found.blocks[1].cost.lut:,} LUT" in words


def test_a_core_without_luts_has_no_areas() -> None:
    found = diagram(design_of("regression"))
    empty = replace(found, blocks=tuple(replace(b, cost=Cost()) for b in found.blocks))
    assert not _drawn(empty).all("svg")[-1].all("rect")
