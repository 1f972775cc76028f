"""report.html: a build on one page, complete in itself.

The page loads nothing and runs nothing, which its own content policy holds it to, and equal builds
have equal pages. All text from the model is escaped and of bounded length.
"""

from __future__ import annotations

from typing import Any

from scm_hw.design import Design
from scm_hw.report._html_accuracy import accuracy_section, predictions_section
from scm_hw.report._html_adaptation import adaptation_section
from scm_hw.report._html_blocks import blocks_section
from scm_hw.report._html_elements import Html, count, el, figure_of, join, name, text
from scm_hw.report._html_features import features_sections
from scm_hw.report._html_files import vivado_section
from scm_hw.report._html_hardware import (
    checks_section,
    pipeline_section,
    resources_section,
)
from scm_hw.report._html_model import built_section, layers_section, storage_section
from scm_hw.report._html_page import Page
from scm_hw.report._html_ports import ports_section
from scm_hw.report._html_power import power_section
from scm_hw.report._html_records import records_sections
from scm_hw.report._html_registers import registers_sections
from scm_hw.report._html_routed import routed_sections
from scm_hw.report._html_training import training_section
from scm_hw.verify.rows import CheckRows

__all__ = ["html_report"]


def html_report(report: dict[str, Any], design: Design, rows: CheckRows) -> str:
    """The page of a build, from its report and what the report was made from."""
    sections = [
        built_section(report, design),
        accuracy_section(report),
        predictions_section(design, rows),
        *records_sections(design, rows),
        *features_sections(design.model),
        training_section(design.model),
        layers_section(report),
        storage_section(report),
        blocks_section(design),
        pipeline_section(report, design),
        *adaptation_section(report),
        resources_section(report),
        *routed_sections(report),
        *power_section(report),
        checks_section(report, rows),
        ports_section(report),
        *registers_sections(design),
        vivado_section(report, design),
    ]
    return Page(
        title=join([name(report["name"]), f" on {report['board']}"]),
        heading=name(report["name"]),
        lead=f"A stochastic configuration machine for {report['board']} ({report['part']})",
        cards=_key_figures(report),
        sections=sections,
        footer=_footer(report),
    ).markup()


def _key_figures(report: dict[str, Any]) -> list[tuple[str, Html, str]]:
    cycles, interval = report["latency_cycles"], report["initiation_interval"]
    used, device = report["resources"], report["device"]
    rate = report["clock_mhz"] / interval
    source = "estimated" if used["source"] == "estimate" else "synthesised"
    return [
        (
            "Latency",
            figure_of("latency_ns", report["latency_ns"], f"{report['latency_ns']:,g} ns"),
            count(cycles, "cycle"),
        ),
        _clock_figure(report),
        (
            "Throughput",
            text(f"{rate:,g} M/s"),
            ("one sample per cycle" if interval == 1 else f"one sample per {interval} cycles")
            + _over_serial(report),
        ),
        *_accuracy_figure(report),
        (
            "Logic of the core",
            figure_of("resources.lut", used["lut"], f"{used['lut']:,} LUT"),
            f"{used['lut'] / device['lut']:.1%} of {device['name']}, {source}",
        ),
        *_around_figures(report),
        _checks_figure(report),
    ]


def _clock_figure(report: dict[str, Any]) -> tuple[str, Html, str]:
    """The clock, and how much of it is to spare: as routed, or by the compiler's delays."""
    routed = report["implementation"]
    if routed is not None:
        slack = 1e3 / routed["clock_mhz"] - 1e3 / routed["fmax_mhz"]
        note = f"slack {slack:+.2f} ns, board top as routed"
    else:
        note = f"slack {report['slack_ns_modelled']:+.2f} ns, core by the delay model"
    return (
        "Clock",
        figure_of("clock_mhz", report["clock_mhz"], f"{report['clock_mhz']:g} MHz"),
        note,
    )


def _around_figures(report: dict[str, Any]) -> list[tuple[str, Html, str]]:
    """What the wrapper and the board top take with the core in them, where that is known."""
    found = []
    for key, what in (("wrapper", "Core and wrapper"), ("top", "Whole board top")):
        part = report["resources"].get(key)
        if part is not None:
            shown = figure_of(f"resources.{key}.lut", part["lut"], f"{part['lut']:,} LUT")
            how = "estimated" if part["source"] == "estimate" else "synthesised"
            found.append((what, shown, f"{part['ff']:,} registers, {how}"))
    return found


def _over_serial(report: dict[str, Any]) -> str:
    serial = report["serial"]
    return "" if serial is None else f"; {serial['samples_per_second']:,.0f}/s over serial"


def _accuracy_figure(report: dict[str, Any]) -> list[tuple[str, Html, str]]:
    if "rmse_hw" in report:
        return _error_figures(report)
    if "accuracy_hw" in report:
        shown = figure_of("accuracy_hw", report["accuracy_hw"], f"{report['accuracy_hw']:.2%}")
        return [("Accuracy on the FPGA", shown, f"{report['accuracy_pc']:.2%} on the PC")]
    return []


def _error_figures(report: dict[str, Any]) -> list[tuple[str, Html, str]]:
    shown = figure_of("rmse_hw", report["rmse_hw"], f"{report['rmse_hw']:.6f}")
    worst = figure_of("max_error_hw", report["max_error_hw"], f"{report['max_error_hw']:.4f}")
    units = list(report["rmse_units"].values())
    in_units = [f", {one['max_hw']:.5g} in its unit" for one in units] if len(units) == 1 else [""]
    found = [
        ("RMSE on the FPGA", shown, f"{report['rmse_pc']:.6f} on the PC, targets in [0, 1]"),
        ("Worst error", worst, f"of {report['rows']:,} rows{in_units[0]}"),
    ]
    if report["r2_hw"] is not None:
        r2 = figure_of("r2_hw", report["r2_hw"], f"{report['r2_hw']:.4f}")
        found.insert(1, ("R² on the FPGA", r2, "share of the variance explained"))
    return found


def _checks_figure(report: dict[str, Any]) -> tuple[str, Html, str]:
    found = report["bit_exact"].values()
    if not found:
        return "Bit-exact", Html("not run"), "the build left the simulators out"
    wrong = sum(verdict["mismatches"] for verdict in found)
    most = max(verdict["vectors"] for verdict in found)
    verdict = Html("yes") if not wrong else Html("no")
    return (
        "Bit-exact",
        verdict,
        f"{most:,} vectors, {count(len(found), 'simulator')}, {wrong:,} mismatches",
    )


def _footer(report: dict[str, Any]) -> Html:
    made = f"Made by scm-hw {report['tools']['scm-hw']}; the same figures for programs: "
    return el("footer", made, el("a", "report.json", href="report.json"))
