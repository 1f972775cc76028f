"""The board tops, for whatever tools their boards are built with."""

from __future__ import annotations

from typing import Any

from amaranth.build import ResourceError
from amaranth.hdl import Elaboratable

from scm_hw.boards import Board
from scm_hw.boards.top import BoardTop
from scm_hw.boards.uart_top import UartTop
from scm_hw.emit.toolchains import CORE, TOP, build_script, toolchain_of
from scm_hw.emit.vivado import platform_files, text_of
from scm_hw.errors import OptionError
from scm_hw.interface import VerilogCore
from scm_hw.sim.vectors import Vectors
from scm_hw.uart import Hello


def board_files(
    board: Board, core_verilog: str, vectors: Vectors, toolchain: str = "auto"
) -> dict[str, str]:
    """A board top that tests the core with vectors, constraints and scripts, file name to text."""
    core = VerilogCore(vectors.in_width, vectors.out_width)
    return _files(board, core_verilog, BoardTop(board, core, vectors), toolchain)


def uart_files(
    board: Board, core_verilog: str, hello: Hello, description: bytes, toolchain: str = "auto"
) -> dict[str, str]:
    """A board top that answers over the serial port, constraints and scripts."""
    core = VerilogCore(hello.in_width, hello.out_width)
    return _files(board, core_verilog, UartTop(board, core, hello, description), toolchain)


def _files(board: Board, core_verilog: str, top: Elaboratable, choice: str) -> dict[str, str]:
    tools = toolchain_of(board, choice)
    if tools is not None and tools.name == "xray":
        planned = _planned(board, core_verilog, top, toolchain="Xray")
        files = platform_files(board, core_verilog, top)
        own = {"xray.v": planned[f"{TOP}.v"], "xray.xdc": planned[f"{TOP}.xdc"]}
        return files | own | {"build.sh": build_script(tools)}
    if board.family == "xc7":
        return platform_files(board, core_verilog, top)
    planned = _planned(board, core_verilog, top)
    verilog = {f"{TOP}.v": planned.get(f"{TOP}.v") or planned[f"{TOP}.debug.v"]}
    if tools is None:
        # What the vendor's tools, or others, take: as Amaranth writes it.
        return {name: text for name, text in planned.items() if name != f"{TOP}.debug.v"} | verilog
    constraints = tools.sources[-1]
    return verilog | {constraints: planned[constraints], "build.sh": build_script(tools)}


def _planned(board: Board, core_verilog: str, top: Elaboratable, **options: Any) -> dict[str, str]:
    """All files of the platform's own plan but the core."""
    assert board.platform is not None
    platform = board.platform(**options)
    platform.add_file(f"{CORE}.v", core_verilog)
    try:
        plan = platform.build(top, name=TOP, do_build=False, emit_src=False, debug_verilog=True)
    except (TypeError, ResourceError) as error:
        raise OptionError(
            f"board must have a file in amaranth-boards that takes a top, not {board.name!r}, "
            f"whose file fails ({error}); choose another board"
        ) from None
    return {name: text_of(text) for name, text in plan.files.items() if name != f"{CORE}.v"}
