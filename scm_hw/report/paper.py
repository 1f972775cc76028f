"""The figures of the paper's FPGA case, to stand beside ours.

Wang and Felicetti, "Stochastic Configuration Machines for Industrial Artificial Intelligence"
(2023), tables "FPGA weight memory reduction using SCM" and "FPGA RMSE, time and power results using
SCM". Its servo data are private: the RMSE there and here are of different data.
"""

from __future__ import annotations

from typing import Any

from scm_hw.report.power import watts_and_source

PAPER_FPGA: dict[str, Any] = {
    "part": "XC7A100T-1CSG324C",
    "clock_mhz": 100.0,
    "nodes": 60,
    "weights_real": 660,
    "weights_hardware": 16_500,
    "bits_real": 42_240,
    "bits_hardware": 16_500,
    "reduction": 0.6094,
    "rmse_pc": 0.031336,
    "rmse_hw": 0.031360,
    "latency_cycles": 9,
    "latency_ns": 90.0,
    "power_w": 0.295,
}


def has_papers_shape(report: dict[str, Any]) -> bool:
    """Whether a build is of the paper's case: one layer of its nodes on as many coded inputs."""
    model = report["model"]
    nodes = [layer["nodes"] for layer in model["layers"]]
    weights = report["weights"]["hardware"]["count"]
    return nodes == [PAPER_FPGA["nodes"]] and weights == PAPER_FPGA["weights_hardware"]


def paper_rows(report: dict[str, Any]) -> list[tuple[str, str, str]]:
    """What, the paper's figure, ours: the two FPGA tables as rows of text."""
    weights, paper = report["weights"], PAPER_FPGA
    nodes = sum(layer["nodes"] for layer in report["model"]["layers"])
    rows = [
        ("part", paper["part"], report["part"]),
        ("clock", f"{paper['clock_mhz']:g} MHz", f"{report['clock_mhz']:g} MHz"),
        ("nodes", str(paper["nodes"]), str(nodes)),
        ("weights, real", f"{paper['weights_real']:,}", f"{weights['real']['count']:,}"),
        ("weights, FPGA", f"{paper['weights_hardware']:,}", f"{weights['hardware']['count']:,}"),
        ("bits, real", f"{paper['bits_real']:,}", f"{weights['real']['bits']:,}"),
        ("bits, FPGA", f"{paper['bits_hardware']:,}", f"{weights['hardware']['bits']:,}"),
        ("memory reduction", f"{paper['reduction']:.2%}", f"{weights['reduction']:.2%}"),
        ("clock cycles", str(paper["latency_cycles"]), str(report["latency_cycles"])),
        ("time", f"{paper['latency_ns']:g} ns", f"{report['latency_ns']:g} ns"),
    ]
    if "power" in report:
        rows.append(("power", f"{paper['power_w']:g} W, Vivado", watts_and_source(report["power"])))
    if "rmse_pc" in report:
        loss = paper["rmse_hw"] / paper["rmse_pc"] - 1
        ours = (report["rmse_ratio"] or 1.0) - 1
        rows += [
            ("RMSE, PC", f"{paper['rmse_pc']:.6f}", f"{report['rmse_pc']:.6f}"),
            ("RMSE, FPGA", f"{paper['rmse_hw']:.6f}", f"{report['rmse_hw']:.6f}"),
            ("RMSE lost on FPGA", f"{loss:+.1e}", f"{ours:+.1e}"),
        ]
    return rows
