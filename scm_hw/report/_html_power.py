"""Power on the page: the figures, what they are made of, and how far to trust them."""

from __future__ import annotations

from typing import Any

from scm_hw.report._html_elements import Section, el, section, table
from scm_hw.report.power import VIVADO, joules, power_words, watts

_PARTS = {
    "core_logic": "LUTs of the core",
    "core_registers": "registers of the core",
    "clock": "clock of all registers",
    "dsp": "multipliers",
    "bram": "block RAMs",
    "around": "what is around the core",
    "io": "pins",
    "clock_manager": "clock manager",
}


def power_section(report: dict[str, Any]) -> list[Section]:
    """Nothing for families without figures."""
    power = report["power"]
    if power is None:
        return []
    lead = power_words(power)
    lead = f"{lead[0].upper()}{lead[1:]}."
    if power["source"] == VIVADO:
        return [section("power", "Power", el("p", lead), *_table(power))]
    replaced = " Vivado's report_power (build.tcl) replaces it."
    words = (
        "An estimate, and a wide one: nothing of it was measured. Static power is of typical "
        "silicon near 25 °C; a hot device takes several times as much. The energy of a sample "
        "holds at full speed."
    )
    if report["device"]["family"] == "xc7":
        words += replaced
    return [section("power", "Power", el("p", lead), el("p", words, class_="note"), *_table(power))]


def _table(power: dict[str, Any]) -> list[Any]:
    figures = [("static", "static_w"), ("dynamic", "dynamic_w"), ("total", "total_w")]
    rows = [(label, watts(power[key])) for label, key in figures if key in power]
    parts = power.get("parts_w", {})
    rows += [(f"of it {_PARTS[key]}", watts(span)) for key, span in parts.items() if span[1]]
    energies = [
        ("energy of a sample", "energy_per_sample_j"),
        ("energy of a sample, dynamic", "dynamic_energy_per_sample_j"),
    ]
    rows += [(label, joules(power[key])) for label, key in energies if key in power]
    return [table("Power and energy", ("What", "From lowest to highest"), rows)]
