# amaranth: UnusedElaboratable=no
"""AXI4-Stream on a clock of its own: nothing lost or repeated at random ratios of the clocks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from scm_hw import boards
from scm_hw.design import Options
from scm_hw.emit import interface_files
from scm_hw.errors import MismatchError, OptionError, ToolError
from scm_hw.rtl import to_verilog
from scm_hw.rtl.ports import CorePorts
from scm_hw.verify import lint, run_interface
from tests.hw.standin import StandIn, standin_vectors

DIGEST = "0123456789abcdef" * 4
PORTS = CorePorts((12, 12), (14,), (True,), 3, crossing=True)


def wrapped(folder: Path, ports: CorePorts) -> list[Path]:
    files = {"scm_core.v": to_verilog(StandIn(), "scm_core")}
    files |= interface_files("axis", ports, DIGEST, boards.get("arty-a7"))
    for name, text in files.items():
        (folder / name).write_text(text)
    return [folder / "scm_core.v", folder / "scm_axis.v"]


@pytest.mark.parametrize("seed", [1, 2])
def test_streams_cross_at_any_ratio(seed: int, tmp_path: Path) -> None:
    """Four runs with stalls, the core's clock at 27 to 330 MHz beside the bus at 100 MHz."""
    sources = wrapped(tmp_path, PORTS if seed == 1 else replace(PORTS, tdata=32))
    lint(sources, "scm_axis")
    ports = PORTS if seed == 1 else replace(PORTS, tdata=32)
    vectors = standin_vectors(50)
    right = run_interface(
        "axis", sources, vectors, ports, DIGEST, "icarus", workdir=tmp_path, seed=seed
    )
    assert right == 4 * 50


def test_a_fifo_that_is_never_full_is_found(tmp_path: Path) -> None:
    sources = wrapped(tmp_path, PORTS)
    text = sources[1].read_text()
    assert ".w_rdy(s_axis_tready)" in text
    text = text.replace(".w_rdy(s_axis_tready)", ".w_rdy()")
    text = text.replace("endmodule", "  assign s_axis_tready = 1'h1;\nendmodule", 1)
    sources[1].write_text(text)
    with pytest.raises((MismatchError, ToolError), match=r"packet \d+ of|it ended with code 1"):
        run_interface(
            "axis", sources, standin_vectors(50), PORTS, DIGEST, "icarus", workdir=tmp_path, seed=1
        )


def test_only_streams_cross() -> None:
    with pytest.raises(OptionError, match=r"^crossing must be of AXI4-Stream, not of --interface"):
        Options(crossing=True, interface="axil")
