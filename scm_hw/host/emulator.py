"""A board without a board: its whole top in Verilator, behind a pseudo-terminal."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import tty
from collections.abc import Iterator
from pathlib import Path

from scm_hw.boards import Board
from scm_hw.common.folders import write_files
from scm_hw.common.outputs import Kind, check_output
from scm_hw.design import Design
from scm_hw.emit import uart_files
from scm_hw.emit.identity import identity
from scm_hw.errors import OptionError, ToolError
from scm_hw.host.emulator_program import MAIN, main_program
from scm_hw.rtl.uart import Hello, late_cycles
from scm_hw.sim.objects import RuntimeObjects
from scm_hw.tools import simulators
from scm_hw.tools.process import kill_group, run_tool, telling_line
from scm_hw.verify import PRIMITIVES

TOP = "scm_top"
# Bits of quiet, besides the core's own time, after which the board has nothing left to say.
IDLE_BITS = 200
# Unlike a run of a few thousand cycles, many millions repay the C++ compiler's optimiser.
MAKEFLAGS = simulators.VERILATOR_MAKEFLAGS.replace("OPT_FAST=-O0", "OPT_FAST=-O1")
# The fewest cycles that a bit may have at any rate.
FASTEST_BIT_CYCLES = 8
# A link to a pseudo-terminal, which an emulator left or still holds.
LINK = Kind("link", "that of an earlier emulator", lambda path: _leads_to_terminal(path), "--link")


def fastest_baud(board: Board) -> int:
    """What the board's own receiver can do; no USB chip is in the way here."""
    return round(board.clock_mhz * 1e6) // FASTEST_BIT_CYCLES


def compile_emulator(design: Design, folder: Path, name: str = "") -> Path:
    """The program that is the board, made in `folder`."""
    if design.board.platform is None or not design.board.has_uart:
        raise OptionError(
            f"board must have a top with a serial port to be emulated, not {design.board.name}; "
            "choose one of the listed boards, at its own clock"
        )
    hello, description = identity(design, name)
    files = uart_files(
        design.board,
        design.verilog,
        hello,
        description,
        names=design.names,
        reload=design.ports.reload,
    )
    top = files[f"{TOP}.v"]
    sources = {
        f"{TOP}.v": top,
        f"{design.names.core}.v": design.verilog,
        "primitives.v": PRIMITIVES,
    }
    sources[MAIN] = _main(top, hello)
    write_files(folder, sources)
    return _verilate(folder, list(sources))


def _verilate(folder: Path, sources: list[str]) -> Path:
    environment = simulators.require("verilator") | {"MAKEFLAGS": MAKEFLAGS}
    objects = RuntimeObjects(folder / "obj", waves=False, kind="emulator")
    objects.build_dir.mkdir(parents=True, exist_ok=True)
    objects.restore()
    argv = ["verilator", "--cc", "--exe", "--build", "-j", "0", "--Mdir", "obj", "-o", "emulator"]
    argv += ["-O3", "--x-assign", "fast", "--x-initial", "fast", "--noassert"]
    argv += ["-Wno-fatal", "-Wno-lint", "-Wno-style", "--timescale", "1ns/1ps"]
    argv += ["--top-module", TOP, *sources]
    log = folder / "emulator.log"
    code = run_tool(argv, name="verilator", cwd=folder, log=log, timeout=600.0, env=environment)
    program = objects.build_dir / "emulator"
    if code or not program.exists():
        raise ToolError(f"can't compile the board in verilator: {telling_line(log)}")
    objects.keep()
    return program


def _main(top: str, hello: Hello) -> str:
    # Other modules of the file have ports of their own.
    module = re.search(rf"^module {TOP}\(.*?^endmodule", top, re.MULTILINE | re.DOTALL)
    assert module is not None
    ports = re.findall(r"^  (input|output) (?:\[.*\] )?(\w+);", module[0], re.MULTILINE)
    inputs = [name for direction, name in ports if direction == "input"]

    def one(pattern: str, names: list[str]) -> str:
        (found,) = [name for name in names if re.fullmatch(pattern, name)]
        return found

    clk = one(r"clk\w*", inputs)
    rx = one(r"uart_\d+__rx\w*", inputs)
    tx = one(r"uart_\d+__tx\w*", [name for direction, name in ports if direction == "output"])
    bit_cycles = hello.clock_hz / hello.baud
    return main_program(
        clk=clk,
        rx=rx,
        tx=tx,
        # Buttons are active low where they are called reset, and high elsewhere.
        inactive={name: int("rst" in name) for name in inputs if name not in (clk, rx)},
        bit_cycles=bit_cycles,
        idle_cycles=int(IDLE_BITS * bit_cycles) + late_cycles(hello),
    )


class Emulator:
    """A board that runs; `port` is what to open in the place of a serial port.

    `link`, where given, is a path that leads to it, and stays the same when the board is started
    again. `noise` is the share of bytes that are corrupted on the line, in each direction.
    """

    def __init__(
        self, program: Path, *, link: Path | None = None, noise: float = 0.0, seed: int = 0
    ) -> None:
        if not 0.0 <= noise < 1.0:
            raise OptionError(f"noise must be a share of bytes in [0, 1), not {noise:g}")
        self.program = program
        self.link = link
        self.noise = noise
        self.seed = seed
        self.port = ""
        self.process: subprocess.Popen[str] | None = None
        self._slave = -1

    def start(self) -> None:
        master, self._slave = os.openpty()
        try:
            # Without this, the terminal would answer by itself until a host has set it.
            tty.setraw(self._slave)
            self.port = os.ttyname(self._slave)
            if self.link is not None:
                _point(self.link, self.port)
            self.process = subprocess.Popen(
                [str(self.program), str(master), repr(self.noise), str(self.seed)],
                pass_fds=(master,),
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                text=True,
            )
        except BaseException:
            os.close(self._slave)
            raise
        finally:
            os.close(master)

    def stop(self) -> None:
        """As pulling the plug."""
        if self.process is not None:
            kill_group(self.process)
            os.close(self._slave)
            self.process = None
        if self.link is not None and self.link.is_symlink():
            self.link.unlink()

    def wait(self) -> None:
        """Until the program ends, which it does not do by itself."""
        assert self.process is not None
        raise ToolError(
            f"can't emulate the board: the simulation ended with code {self.process.wait()}"
        )

    @contextlib.contextmanager
    def running(self) -> Iterator[Emulator]:
        self.start()
        try:
            yield self
        finally:
            self.stop()


def _leads_to_terminal(link: Path) -> bool:
    return re.match(r"/dev/(pts/\d|tty)", os.readlink(link)) is not None


def _point(link: Path, port: str) -> None:
    """Make or move a symbolic link; a thing of another form stays."""
    check_output(link, LINK, force=True)
    aside = link.with_name(f".{link.name}.new")
    try:
        aside.unlink(missing_ok=True)
        aside.symlink_to(port)
        aside.replace(link)
    except OSError as error:
        raise OptionError(
            f"link {link} can't be made ({error.strerror}); choose another with --link"
        ) from None
