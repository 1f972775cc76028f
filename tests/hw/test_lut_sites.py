"""LUT sites of small netlists, counted by hand."""

from __future__ import annotations

from typing import Any

import pytest

from scm_hw.target.resources import LUT_PAIRS, ROUTE_THROUGHS, Resources
from scm_hw.tools.lut_sites import extra_sites
from scm_hw.tools.synthesis import synthesise

Cell = dict[str, Any]


def lut(output: int, *inputs: int | str) -> Cell:
    ports = {f"I{place}": [net] for place, net in enumerate(inputs)}
    return {"type": f"LUT{len(inputs)}", "connections": {**ports, "O": [output]}}


def carry(select: list[int | str], data: list[int | str]) -> Cell:
    return {"type": "CARRY4", "connections": {"S": select, "DI": data}}


def counted(*cells: Cell) -> tuple[int, int]:
    netlist = {"modules": {"top": {"cells": {str(i): cell for i, cell in enumerate(cells)}}}}
    found = extra_sites(netlist, "top")
    return found[ROUTE_THROUGHS], found[LUT_PAIRS]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        pytest.param([carry([9, "0", "x", "0"], ["0"] * 4)], (1, 0), id="from no LUT"),
        pytest.param([lut(9, 1, 2), carry([9, "0", "0", "0"], ["0"] * 4)], (0, 0), id="from a LUT"),
        pytest.param([lut(9, 1, 2), carry([9, 9, "0", "0"], ["0"] * 4)], (1, 0), id="two places"),
        pytest.param(
            [lut(9, 1, 2), lut(8, 1, 2), carry([9, "0", "0", "0"], [8, "0", "0", "0"])],
            (0, 1),
            id="select and data share a LUT6",
        ),
        pytest.param(
            [lut(9, 1, 2, 3, 4, 5, 6), lut(8, 1, 2), carry([9, "0", "0", "0"], [8, *["0"] * 3])],
            (0, 0),
            id="a full LUT6 leaves no room for the data",
        ),
        pytest.param([lut(9, 1, 2, 3, 4, 5), lut(8, 1, 2, 3)], (0, 1), id="common inputs"),
        pytest.param([lut(9, 1, 2, 3), lut(8, 4, 5)], (0, 0), id="unrelated"),
        pytest.param([lut(9, 1, 2, 3, 4), lut(8, 1, 2, 5, 6)], (0, 0), id="six inputs together"),
        pytest.param([lut(9, 1, 2), lut(8, 1, 2), lut(7, 1, 2)], (0, 1), id="three make one pair"),
        pytest.param(
            [
                lut(9, 1, 2),
                lut(8, 1, 2),
                {"type": "MUXF7", "connections": {"I0": [9], "I1": [8], "S": [3], "O": [7]}},
            ],
            (0, 0),
            id="wide LUTs have their places",
        ),
    ],
)
def test_sites_of_a_slice(cells: list[Cell], expected: tuple[int, int]) -> None:
    assert counted(*cells) == expected


def test_carries_of_ice40_without_their_lut_take_a_cell() -> None:
    alone = {"type": "SB_CARRY", "connections": {"I0": [1], "I1": [2], "CI": [3], "CO": [4]}}
    adder = {"I0": ["0"], "I1": [1], "I2": [2], "I3": [3], "O": [5]}
    beside = {"type": "SB_LUT4", "connections": adder}
    for cells, expected in (([alone], 1), ([alone, beside], 0), ([alone, alone, beside], 1)):
        named = {str(i): cell for i, cell in enumerate(cells)}
        netlist = {"modules": {"top": {"cells": named}}}
        assert extra_sites(netlist, "top") == {ROUTE_THROUGHS: expected}


def test_sites_are_of_all_kinds() -> None:
    cells = {"LUT6": 10, ROUTE_THROUGHS: 3, LUT_PAIRS: 2, "RAM32M": 1, "SRL16E": 1}
    resources = Resources.from_cells(cells)
    assert (resources.lut, resources.lut_sites) == (10, 10 + 3 - 2 + 4 + 1)
    assert set(resources.by_cell) == {"LUT6", "RAM32M", "SRL16E"}


def test_a_synthesised_adder_has_a_route_through(tmp_path: Any) -> None:
    text = """module top(input clk, input [7:0] a, input [7:0] b, output reg [9:0] q);
  reg [8:0] p;
  always @(posedge clk) begin p <= a + b; q <= p + a; end
endmodule
"""
    found = synthesise({"top.v": text}, "top", cache_dir=tmp_path)
    # The top place of the second sum, which has nothing to add to the register.
    assert (found.lut, found.route_throughs) == (16, 1)
    assert found.lut_sites == 17
