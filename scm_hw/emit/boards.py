"""The board tops, for whatever tools their boards are built with."""

from __future__ import annotations

from amaranth.hdl import Elaboratable

from scm_hw.boards import Board
from scm_hw.boards.toolchains import toolchain_of
from scm_hw.boards.top import BoardTop
from scm_hw.boards.uart_top import UartTop
from scm_hw.common.names import DEFAULT, Names
from scm_hw.emit.build_script import build_script
from scm_hw.emit.plan import plan_files
from scm_hw.emit.vivado import vivado_files
from scm_hw.rtl.ports import VerilogCore
from scm_hw.rtl.queue import waiting_core
from scm_hw.rtl.uart import Hello
from scm_hw.sim.vectors import Vectors
from scm_hw.tools.toolchain import TOP


def board_files(
    board: Board,
    core_verilog: str,
    vectors: Vectors,
    toolchain: str = "auto",
    names: Names = DEFAULT,
    *,
    handshake: str = "global",
    latency: int = 1,
) -> dict[str, str]:
    """A board top that tests the core with vectors, constraints and scripts, file name to text."""
    core = waiting_core(vectors.in_width, vectors.out_width, names.core, handshake, latency)
    return _files(board, core_verilog, BoardTop(board, core, vectors), toolchain, names)


def uart_files(
    board: Board,
    core_verilog: str,
    hello: Hello,
    description: bytes,
    toolchain: str = "auto",
    names: Names = DEFAULT,
    *,
    handshake: str = "global",
    reload: bool = False,
) -> dict[str, str]:
    """A board top that answers over the serial port, constraints and scripts."""
    # It takes every result as it comes.
    widths = (hello.in_width, hello.out_width)
    core = VerilogCore(*widths, names.core, handshake, reload=reload)
    return _files(board, core_verilog, UartTop(board, core, hello, description), toolchain, names)


def _files(
    board: Board, core_verilog: str, top: Elaboratable, choice: str, names: Names
) -> dict[str, str]:
    tools = toolchain_of(board, choice, names.core)
    if tools is not None and tools.name == "xray":
        # Such a board can be built with Vivado as well, so both sets of files are written.
        planned = plan_files(board, core_verilog, top, names.core, toolchain="Xray")
        files = vivado_files(board, core_verilog, top, names)
        own = {"xray.v": planned[f"{TOP}.v"], "xray.xdc": planned[f"{TOP}.xdc"]}
        return files | own | {"build.sh": build_script(tools)}
    if board.family == "xc7":
        return vivado_files(board, core_verilog, top, names)
    planned = plan_files(board, core_verilog, top, names.core)
    if tools is None:
        # What the vendor's tools, or others, take: as Amaranth writes it.
        return planned
    own = {name: planned[name] for name in (f"{TOP}.v", tools.sources[-1])}
    return own | {"build.sh": build_script(tools)}
