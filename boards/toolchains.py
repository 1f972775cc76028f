"""Which programs make a bitstream for a board, and the words they are called with."""

from __future__ import annotations

from scm_hw.boards.registry import Board
from scm_hw.errors import OptionError
from scm_hw.tools.toolchain import CORE, TOP, Step, Toolchain
from scm_hw.tools.yosys_scripts import PREPARE, SYNTHESIS

TOOLCHAINS = ("auto", "xray")
_ECP5_PACKAGES = {"BG": "CABGA", "MG": "CSFBGA"}


def synthesis_family(board: Board) -> str | None:
    """Which of `SYNTHESIS` is the board's; None where Yosys is not asked."""
    found = board.family if board.family in SYNTHESIS else board.grade
    return found if found in SYNTHESIS else None


def require_synthesis(board: Board) -> str:
    """The board's family as `synthesise` knows it; OptionError where Yosys doesn't."""
    family = synthesis_family(board)
    if family is None:
        raise OptionError(
            f"board must have a part of the 7 series, ECP5 or iCE40 to be synthesised here, not "
            f"{board.name!r} with {board.part}; choose another board"
        )
    return family


def toolchain_of(board: Board, choice: str = "auto", core: str = CORE) -> Toolchain | None:
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
        return _xray(board, core)
    if board.family == "ecp5":
        return _trellis(board, core)
    return _icestorm(board, core) if board.family == "ice40" else None


def _synthesis(core: str, command: str, top: str = TOP) -> Step:
    sources = f"read_verilog {core}.v; read_verilog {top}.v"
    script = f"{PREPARE}; {sources}; {command} -top {TOP}; write_json {TOP}.json"
    return Step("yosys", ("-q", "-p", script))


def _routed(*arguments: str) -> tuple[str, ...]:
    # A clock that is missed is for us to judge, with the figures at hand.
    return (*arguments, "--json", f"{TOP}.json", "--timing-allow-fail", "--seed", "1")


def _trellis(board: Board, core: str) -> Toolchain:
    name = board.device.name
    kind, _, number = name.lower().removeprefix("lfe5").removesuffix("f").partition("-")
    size = f"{number}k" if kind == "u" else f"{kind}-{number}k"
    speed, package = board.part.rsplit("-", 1)[-1][0], board.part.rsplit("-", 1)[-1][1:]
    place = _routed(
        f"--{size}", "--package", _ECP5_PACKAGES[package[:2]] + package[2:], "--speed", speed
    )
    return Toolchain(
        "trellis",
        (f"{core}.v", f"{TOP}.v", f"{TOP}.lpf"),
        (
            _synthesis(core, SYNTHESIS["ecp5"]),
            Step("nextpnr-ecp5", (*place, "--lpf", f"{TOP}.lpf", "--textcfg", f"{TOP}.config")),
            Step("ecppack", ("--compress", "--input", f"{TOP}.config", "--bit", f"{TOP}.bit")),
        ),
        f"{TOP}.bit",
    )


def _icestorm(board: Board, core: str) -> Toolchain:
    size = board.device.name.lower().removeprefix("ice40")
    package = board.part.rsplit("-", 1)[-1].lower()
    # The 4K is an 8K of which not all may be used.
    suffix, size = (":4k", size.replace("4k", "8k")) if size.endswith("4k") else ("", size)
    place = _routed(f"--{size}", "--package", package + suffix)
    return Toolchain(
        "icestorm",
        (f"{core}.v", f"{TOP}.v", f"{TOP}.pcf"),
        (
            _synthesis(core, SYNTHESIS[board.grade or ""]),
            Step("nextpnr-ice40", (*place, "--pcf", f"{TOP}.pcf", "--asc", f"{TOP}.asc")),
            Step("icepack", (f"{TOP}.asc", f"{TOP}.bin")),
        ),
        f"{TOP}.bin",
    )


_XRAY_FAMILIES = {"a": "artix7", "k": "kintex7", "s": "spartan7", "z": "zynq7"}


def _xray(board: Board, core: str) -> Toolchain:
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
        (f"{core}.v", "xray.v", "xray.xdc"),
        (
            _synthesis(core, "synth_xilinx -flatten -abc9 -arch xc7", "xray"),
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
