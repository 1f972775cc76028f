# amaranth: UnusedElaboratable=no
"""AXI4-Stream of rows as C has them in memory, under cocotb with stalls and noise."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from scm_hw import boards
from scm_hw.emit import interface_files
from scm_hw.errors import MismatchError, OptionError, ToolError
from scm_hw.rtl import to_verilog
from scm_hw.rtl.axi import RowFormat
from scm_hw.rtl.ports import CorePorts
from scm_hw.verify import lint, run_interface
from tests.hw.commands import run, small_model
from tests.hw.standin import StandIn, standin_vectors

DIGEST = "0123456789abcdef" * 4


def wrapped(folder: Path, tdata: int, widths: tuple[int, ...]) -> tuple[list[Path], CorePorts]:
    """A core of two halves, whose fields are told otherwise: `widths` of the input."""
    bits = sum(widths) // 2 + 2
    ports = CorePorts(widths, (bits - 9, 4, 5), (False, True, True), 3, tdata=tdata)
    files = {"scm_core.v": to_verilog(StandIn(sum(widths)), "scm_core")}
    files |= interface_files("axis", ports, DIGEST, boards.get("arty-a7"))
    for name, text in files.items():
        (folder / name).write_text(text)
    return [folder / "scm_core.v", folder / "scm_axis.v"], ports


@pytest.mark.parametrize(
    ("tdata", "widths", "beats"),
    [
        pytest.param(8, (9, 7), 4, id="fields wider than the bus"),
        pytest.param(32, (5, 3, 8, 1, 7), 2, id="a row ends within a beat"),
        pytest.param(64, (12, 12), 1, id="one beat with room"),
        pytest.param(128, (10, 20), 1, id="words of 32 bits", marks=pytest.mark.long),
    ],
)
def test_rows_give_what_the_core_gives(
    tdata: int, widths: tuple[int, ...], beats: int, tmp_path: Path
) -> None:
    sources, ports = wrapped(tmp_path, tdata, widths)
    assert RowFormat(widths, (False,) * len(widths), tdata).beats == beats
    lint(sources, "scm_axis")
    vectors = standin_vectors(40, sum(widths))
    simulator = "verilator" if beats == 2 else "icarus"
    right = run_interface("axis", sources, vectors, ports, DIGEST, simulator, workdir=tmp_path)
    assert right == 4 * 40


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("assign m_axis_tkeep = ", "assign m_axis_tkeep = 4'hf | "),
        ("assign s_axis_tready = ", "assign s_axis_tready = 1'h1 | "),
        ("assign m_axis_tlast = ", "assign m_axis_tlast = 1'h1 | "),
    ],
)
def test_a_wrong_row_stream_is_found(old: str, new: str, tmp_path: Path) -> None:
    sources, ports = wrapped(tmp_path, 32, (5, 3, 8, 1, 7))
    text = sources[1].read_text()
    assert old in text
    sources[1].write_text(text.replace(old, new))
    vectors = standin_vectors(40, 24)
    with pytest.raises((MismatchError, ToolError)):
        run_interface("axis", sources, vectors, ports, DIGEST, "icarus", workdir=tmp_path)


@pytest.mark.parametrize(
    ("widths", "tdata", "field", "beats", "row", "places"),
    [
        ((8, 3), 32, 8, 1, 4, 4),
        ((9, 3, 1), 32, 16, 2, 8, 4),
        ((17,), 8, 32, 4, 4, 1),
        ((40, 1, 1), 128, 64, 2, 32, 4),
    ],
)
def test_a_row_as_c_has_it(
    widths: tuple[int, ...], tdata: int, field: int, beats: int, row: int, places: int
) -> None:
    found = RowFormat(widths, (False,) * len(widths), tdata)
    got = (found.field_bits, found.beats, found.row_bytes, found.places)
    assert got == (field, beats, row, places)


def test_what_no_row_can_be() -> None:
    with pytest.raises(OptionError, match=r"^tdata must be one of 8, 16, .*1024, not 24$"):
        RowFormat((8,), (False,), 24)
    with pytest.raises(OptionError, match=r"^fields must be at most 64 bits with --tdata, not 65"):
        RowFormat((65,), (False,), 32)


ARRAYS = """
#include <stdio.h>
#include "m_formats.h"
static const m_in rows[3][M_ROW_IN] = { {1, 2}, {3, 4} };
static m_out results[3][M_ROW_OUT];
int main(void) { printf("%zu %zu %d\\n", sizeof rows, sizeof results, M_TDATA); return 0; }
"""


def test_a_build_with_rows(tmp_path: Path) -> None:
    """Checked by the bus models in the build, with arrays in the header of formats."""
    model = small_model(tmp_path / "m.npz", features=3, outputs=2)
    made = run("build", model, "--interface", "axis", "--tdata", "32", "--no-synth", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    folder = tmp_path / "rtl_out" / "m"
    (tmp_path / "arrays.c").write_text(ARRAYS)
    argv = ["cc", "-std=c99", "-Wall", "-Werror", "-I", folder, "-o", "arrays", "arrays.c"]
    subprocess.run(argv, cwd=tmp_path, check=True, timeout=60)
    said = subprocess.run("./arrays", cwd=tmp_path, capture_output=True, text=True, check=True)
    # Inputs of four bits in a byte each, outputs in whatever holds them.
    in_bytes, _, tdata = said.stdout.split()
    assert (in_bytes, tdata) == ("12", "32")
    refused = run("build", model, "--tdata", "32", "--no-synth", "--no-sim", cwd=tmp_path)
    assert refused.returncode and "add --interface axis" in refused.stderr
