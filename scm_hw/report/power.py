"""What a build takes: an estimate as a range, or Vivado's figure where its report is there."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

from scm_hw.design import Design
from scm_hw.target.power import (
    ASSUMED_ACTIVITY,
    NOTHING,
    Cells,
    Span,
    dynamic_power,
    is_known,
    static_power,
    total,
)

ESTIMATE, VIVADO = "estimate", "vivado"
# What build.tcl has Vivado write, of the board top or of the core alone.
REPORTS = "*_power.rpt"
_LINES = {
    "total_w": r"Total On-Chip Power \(W\)",
    "dynamic_w": r"Dynamic \(W\)",
    "static_w": r"Device Static \(W\)",
}


def power_of(
    design: Design,
    resources: dict[str, Any],
    activity: float | None,
    baud: float | None,
) -> dict[str, Any] | None:
    """The estimate for the key `power` of a report; None for families without figures.

    `activity` is what was recorded of the core: transitions of a bit in a cycle.
    """
    device = design.board.device
    if not is_known(device):
        return None
    whole = resources.get("top") or resources.get("wrapper") or resources
    span = ASSUMED_ACTIVITY if activity is None else (activity, activity)
    parts = dynamic_power(
        device,
        _cells(resources),
        _more(_cells(whole), _cells(resources)),
        clock_hz=design.clock_mhz * 1e6,
        activity=span,
        pin_toggles=NOTHING if baud is None else (0.0, baud),
        clock_manager=design.board.pll is not None and design.board.platform is not None,
    )
    figures = {"static_w": static_power(device), "dynamic_w": total(parts)}
    figures["total_w"] = total(figures)
    return {
        "source": ESTIMATE,
        **{key: _rounded(span) for key, span in figures.items()},
        **_energies(figures["total_w"], figures["dynamic_w"], _rate(design)),
        "activity": {
            "toggles_per_cycle": _rounded(span),
            "source": "assumed" if activity is None else "recorded",
        },
        "parts_w": {name: _rounded(part) for name, part in parts.items()},
    }


def _rate(design: Design) -> float:
    """Samples in a second, at the core's full speed."""
    return design.clock_mhz * 1e6 / design.initiation_interval


def _energies(whole: Span, dynamic: Span, rate: float) -> dict[str, list[float]]:
    return {
        "energy_per_sample_j": _rounded((whole[0] / rate, whole[1] / rate)),
        "dynamic_energy_per_sample_j": _rounded((dynamic[0] / rate, dynamic[1] / rate)),
    }


def _cells(used: dict[str, Any]) -> Cells:
    return Cells(lut=used["lut_sites"], ff=used["ff"], dsp=used["dsp"], block=used["bram"])


def _more(whole: Cells, core: Cells) -> Cells:
    return Cells(
        lut=max(whole.lut - core.lut, 0),
        ff=max(whole.ff - core.ff, 0),
        dsp=max(whole.dsp - core.dsp, 0),
        block=max(whole.block - core.block, 0),
    )


def _rounded(span: Span) -> list[float]:
    return [float(f"{value:.3g}") for value in span]


def vivado_figures(text: str) -> dict[str, float] | None:
    """Watts in a report of `report_power`; None where the text has no total."""
    found = {}
    for key, label in _LINES.items():
        match = re.search(rf"^\|\s*{label}\s*\|\s*<?([\d.]+)\s*\|", text, re.M)
        if match is not None:
            found[key] = float(match[1])
    return found if "total_w" in found else None


def with_vivado(report: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The report with Vivado's figure instead of the estimate, where Vivado's report is there."""
    for path in sorted(folder.glob(REPORTS)):
        figures = vivado_figures(path.read_text(encoding="utf-8", errors="replace"))
        if figures is not None:
            break
    else:
        return report
    rate = report["clock_mhz"] * 1e6 / report["initiation_interval"]
    spans = {key: (figure, figure) for key, figure in figures.items()}
    dynamic = spans.get("dynamic_w", NOTHING)
    power = {
        "source": VIVADO,
        "file": path.name,
        **{key: list(span) for key, span in spans.items()},
        **_energies(spans["total_w"], dynamic, rate),
        "estimate": report.get("power"),
    }
    if "dynamic_w" not in spans:
        del power["dynamic_energy_per_sample_j"]
    return report | {"power": power}


def keep_vivado_reports(earlier: Path, digest: str, folder: Path) -> None:
    """Copy Vivado's reports of power from an earlier build of the very same design."""
    try:
        same = (earlier / "digest.txt").read_text(encoding="utf-8").strip() == digest
    except OSError:
        return
    for path in sorted(earlier.glob(REPORTS)) if same else ():
        shutil.copyfile(path, folder / path.name)


def power_words(power: dict[str, Any] | None) -> str:
    """The figure and its energy in a line; empty where there is none."""
    if power is None:
        return ""
    whole, energy = watts(power["total_w"]), joules(power["energy_per_sample_j"])
    if power["source"] == VIVADO:
        return f"{whole}, {energy} a sample (Vivado, {power['file']})"
    activity = power["activity"]["source"]
    static, dynamic = watts(power["static_w"]), watts(power["dynamic_w"])
    return (
        f"estimate {whole} ({static} static, {dynamic} dynamic, activity {activity}), "
        f"{energy} a sample"
    )


def watts_and_source(power: dict[str, Any] | None) -> str:
    """For tables: the power and where it is from."""
    if power is None:
        return "not known"
    source = "estimate" if power["source"] == ESTIMATE else "Vivado"
    return f"{watts(power['total_w'])}, {source}"


def watts(span: list[float]) -> str:
    """A power from the lowest to the highest, as text."""
    return _scaled(span, ((1.0, "W"),), "{:.3f}") if span[1] >= 0.05 else _scaled(span, _SMALL)


_SMALL = ((1e-3, "mW"), (1e-6, "\N{MICRO SIGN}W"))
_ENERGY = ((1e-3, "mJ"), (1e-6, "\N{MICRO SIGN}J"), (1e-9, "nJ"), (1e-12, "pJ"))


def joules(span: list[float]) -> str:
    """An energy, likewise."""
    return _scaled(span, _ENERGY)


def _scaled(span: list[float], units: tuple[tuple[float, str], ...], form: str = "{:.3g}") -> str:
    """Both ends in the unit that suits the high one, or one figure where they are the same."""
    unit, name = next((u for u in units if span[1] >= u[0]), units[-1])
    ends = dict.fromkeys(form.format(value / unit) for value in span)
    return f"{' to '.join(ends)} {name}"
