"""Which programs make a bitstream for a board, and the words they are called with."""

from __future__ import annotations

from dataclasses import replace

from scm_hw.boards.registry import Board
from scm_hw.errors import OptionError
from scm_hw.tools.toolchain import CORE, TOP, Step, Toolchain
from scm_hw.tools.yosys_scripts import PREPARE, SYNTHESIS

TOOLCHAINS = ("auto", "xray")
# Letters in Lattice's part numbers, and nextpnr's names of these packages.
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
            "board must have a part of the 7 series, ECP5, iCE40, Gowin or Cyclone V to be "
            f"synthesised here, not {board.name!r} with {board.part}; choose another board"
        )
    return family


def require_models(board: Board) -> None:
    """OptionError where a netlist of the board's part can't be simulated."""
    if require_synthesis(board) == "cyclonev":
        raise OptionError(
            "gate-level simulation must have models of the part's cells, and there are none of "
            f"Cyclone V ({board.part}); leave --gate-sim out"
        )


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
    if board.family == "gowin":
        return _apicula(board, core)
    return _lattice(board, core)


def trial_toolchain(board: Board, core: str, top: str) -> Toolchain | None:
    """What places and routes a core alone, between registers of `top`; None where nothing does.

    It fails where the clock is missed. Pins are where the router puts them.
    """
    found = _lattice(board, core, top)
    if found is None:
        return None
    free = {
        "nextpnr-ecp5": "--lpf-allow-unconstrained",
        "nextpnr-ice40": "--pcf-allow-unconstrained",
    }
    steps = []
    for step in found.steps:
        words = list(step.arguments)
        if step.tool in free:
            place = next(words.index(flag) for flag in ("--lpf", "--pcf") if flag in words)
            del words[place : place + 2]
            words.remove("--timing-allow-fail")
            words += [free[step.tool], "--freq", f"{board.clock_mhz:g}"]
        steps.append(replace(step, arguments=tuple(words)))
    return replace(found, sources=found.sources[:2], steps=tuple(steps))


def _lattice(board: Board, core: str, top: str = TOP) -> Toolchain | None:
    if board.family == "ecp5":
        return _trellis(board, core, top)
    return _icestorm(board, core, top) if board.family == "ice40" else None


def _synthesis(core: str, command: str, source: str, top: str = TOP) -> Step:
    sources = f"read_verilog {core}.v; read_verilog {source}.v"
    script = f"{PREPARE}; {sources}; {command} -top {top}; write_json {top}.json"
    return Step("yosys", ("-q", "-p", script))


def _routed(top: str, *arguments: str) -> tuple[str, ...]:
    # A clock that is missed is for us to judge, with the figures at hand.
    return (*arguments, "--json", f"{top}.json", "--timing-allow-fail", "--seed", "1")


def _apicula(board: Board, core: str) -> Toolchain:
    """nextpnr's himbaechel and Project Apicula, whose databases are called after dies."""
    die = _gowin_die(board)
    place = _routed(TOP, "--device", board.part, "--vopt", f"family={die}")
    pack = ("-d", die, "-o", f"{TOP}.fs", "--sspi_as_gpio", "--mspi_as_gpio", f"{TOP}.pnr.json")
    return Toolchain(
        "apicula",
        (f"{core}.v", f"{TOP}.v", f"{TOP}.cst"),
        (
            _synthesis(core, SYNTHESIS["gowin"], TOP),
            Step(
                "nextpnr-himbaechel-gowin",
                (*place, "--vopt", f"cst={TOP}.cst", "--write", f"{TOP}.pnr.json")
                + ("--freq", f"{board.clock_mhz:g}"),
            ),
            Step("gowin_pack", pack),
        ),
        f"{TOP}.fs",
    )


def _gowin_die(board: Board) -> str:
    """GW1NR is a GW1N with memory in its package; those of the C version are dies of their own."""
    assert board.platform is not None
    return str(board.platform()._chipdb_device).replace("GW2AR", "GW2A")


def _trellis(board: Board, core: str, top: str = TOP) -> Toolchain:
    name = board.device.name
    kind, _, number = name.lower().removeprefix("lfe5").removesuffix("f").partition("-")
    size = f"{number}k" if kind == "u" else f"{kind}-{number}k"
    speed, package = board.part.rsplit("-", 1)[-1][0], board.part.rsplit("-", 1)[-1][1:]
    package = _ECP5_PACKAGES[package[:2]] + package[2:]
    place = _routed(top, f"--{size}", "--package", package, "--speed", speed)
    return Toolchain(
        "trellis",
        (f"{core}.v", f"{top}.v", f"{top}.lpf"),
        (
            _synthesis(core, SYNTHESIS["ecp5"], top, top),
            Step("nextpnr-ecp5", (*place, "--lpf", f"{top}.lpf", "--textcfg", f"{top}.config")),
            Step("ecppack", ("--compress", "--input", f"{top}.config", "--bit", f"{top}.bit")),
        ),
        f"{top}.bit",
    )


def _icestorm(board: Board, core: str, top: str = TOP) -> Toolchain:
    size = board.device.name.lower().removeprefix("ice40")
    package = board.part.rsplit("-", 1)[-1].lower()
    # The 4K is an 8K of which not all may be used.
    suffix, size = (":4k", size.replace("4k", "8k")) if size.endswith("4k") else ("", size)
    place = _routed(top, f"--{size}", "--package", package + suffix)
    return Toolchain(
        "icestorm",
        (f"{core}.v", f"{top}.v", f"{top}.pcf"),
        (
            _synthesis(core, SYNTHESIS[board.grade or ""], top, top),
            Step("nextpnr-ice40", (*place, "--pcf", f"{top}.pcf", "--asc", f"{top}.asc")),
            Step("icepack", (f"{top}.asc", f"{top}.bin")),
        ),
        f"{top}.bin",
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
                "nextpnr-xilinx",
                (*_routed(TOP, *place), "--xdc", "xray.xdc", "--fasm", f"{TOP}.fasm"),
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
