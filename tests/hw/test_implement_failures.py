"""Open tools that can't be used, or leave something out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from scm_hw import boards
from scm_hw import build as building
from scm_hw.boards.toolchains import toolchain_of
from scm_hw.build import load_design
from scm_hw.design import Options
from scm_hw.errors import OptionError, ToolError
from scm_hw.tools import nextpnr
from scm_hw.tools.nextpnr import Implementation
from scm_hw.tools.toolchain import Toolchain
from tests.hw.commands import small_model


def test_xray_has_no_virtex() -> None:
    board = replace(boards.get("arty-a7"), part="xc7vx485tffg1761-2")
    board = replace(board, device=replace(board.device, name="xc7vx485t"))
    with pytest.raises(OptionError, match="Artix, Kintex, Spartan or Zynq, not xc7vx485tffg1761-2"):
        toolchain_of(board, "xray")


@pytest.mark.parametrize(
    ("log", "made", "missing"),
    [("no clock here", True, "a clock"), ("ok", False, r"scm_top\.bin")],
)
def test_tools_that_leave_something_out(
    log: str, made: bool, missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = toolchain_of(boards.get("icebreaker"), "auto")
    assert tools is not None

    def step(_: Toolchain, __: object, folder: Path, ___: float) -> str:
        (folder / tools.bitstream).write_bytes(b"x" if made else b"")
        return log

    monkeypatch.setattr(nextpnr, "_run_step", step)
    monkeypatch.setattr(nextpnr, "routed_mhz", lambda text: 50.0 if text == "ok" else None)
    message = f"must give {missing}, and gave none; take other versions"
    with pytest.raises(ToolError, match=message):
        nextpnr._run(tools, dict.fromkeys(tools.sources, ""), {}, 10.0)


def test_a_bitstream_without_room_is_one_line(tmp_path: Path) -> None:
    design = load_design(small_model(tmp_path / "m.npz"), boards.get("icebreaker"), Options())
    routed = Implementation({}, 50.0, {}, b"x")
    message = r"bitstream can't be written to .* \(No such file or directory\); make room or"
    with pytest.raises(OptionError, match=message):
        building._write_bitstream(tmp_path / "gone" / "x", design, routed)
