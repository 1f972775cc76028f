"""Cells of the core and of what is around it, counted or estimated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from scm_hw.boards.toolchains import synthesis_family
from scm_hw.design import Design
from scm_hw.target.resources import Resources
from scm_hw.tools.toolchain import TOP
from scm_hw.tools.yosys_scripts import SYNTHESIS


@dataclass(frozen=True)
class Synthesis:
    """The cells of the core, and those that each of its surroundings has besides."""

    core: Resources
    around: Mapping[str, Resources]


def surroundings(design: Design) -> Iterator[tuple[str, str]]:
    """What a build has around the core, "wrapper" or "top", and its module."""
    if design.options.interface != "stream":
        yield "wrapper", design.names.wrapper(design.options.interface)
    if design.board.platform is not None and synthesis_family(design.board) is not None:
        yield "top", TOP


def resources_of(design: Design, found: Synthesis | None) -> dict[str, Any]:
    """The core's cells, and under `wrapper` and `top` those with what is around it."""
    guess = design.estimate
    estimated = {"lut": guess.lut, "ff": guess.ff, "dsp": guess.dsp, "bram": guess.bram}
    around = {part: _around(design, part, module, found) for part, module in surroundings(design)}
    around = {"wrapper": None, "top": None} | around
    if found is None:
        sites = {"lut_sites": guess.lut_sites}
        return {**estimated, **sites, "carry4": None, "source": "estimate", **around}
    core = found.core
    return {
        **_counts(design, core),
        "lutram": core.lutram,
        "srl": core.srl,
        "by_cell": dict(core.by_cell),
        "source": f"yosys {_synthesis(design)}",
        "estimate": estimated,
        **around,
    }


def _counts(design: Design, cells: Resources) -> dict[str, Any]:
    return {
        "lut": cells.lut,
        "lut_sites": cells.lut_sites,
        "route_throughs": cells.route_throughs,
        "lut_pairs": cells.lut_pairs,
        "ff": cells.ff,
        "carry4": cells.carry4 if design.board.family == "xc7" else None,
        "dsp": cells.dsp,
        "bram": cells.bram,
    }


def _around(
    design: Design, part: str, module: str, found: Synthesis | None
) -> dict[str, Any] | None:
    """The core and what is around it; each by itself, and added up."""
    timing = {"module": module, "max_clock_mhz_modelled": round(design.max_clock_mhz_of(part), 1)}
    guess = design.estimate + design.around(part).cost()
    estimated = {"lut": guess.lut, "ff": guess.ff, "dsp": guess.dsp, "bram": guess.bram}
    if found is None:
        sites = {"lut_sites": guess.lut_sites}
        return {**timing, **estimated, **sites, "carry4": None, "source": "estimate"}
    counted = _counts(design, found.core + found.around[part])
    return {**timing, **counted, "source": "yosys", "estimate": estimated}


def _synthesis(design: Design) -> str:
    return SYNTHESIS[synthesis_family(design.board) or ""].removesuffix(" -family xc7")
