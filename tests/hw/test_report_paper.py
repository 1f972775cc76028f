"""The paper's figures beside ours."""

from __future__ import annotations

from typing import Any

from scm_hw.report.paper import PAPER_FPGA, paper_rows


def a_report(**changes: Any) -> dict[str, Any]:
    report = {
        "part": "xc7a100tcsg324-1",
        "clock_mhz": 100.0,
        "latency_cycles": 5,
        "latency_ns": 50.0,
        "weights": {
            "real": {"count": 120, "bits": 7680},
            "hardware": {"count": 3000, "bits": 3000},
            "reduction": 0.609375,
        },
        "model": {"layers": [{"nodes": 28}, {"nodes": 8}]},
        "rmse_pc": 0.05,
        "rmse_hw": 0.050003,
        "rmse_ratio": 1.00006,
    }
    return report | changes


def test_the_papers_figures_agree_with_each_other() -> None:
    assert PAPER_FPGA["weights_real"] == 60 * 11
    assert PAPER_FPGA["weights_hardware"] == 60 * 11 * 25
    assert PAPER_FPGA["bits_real"] == 64 * PAPER_FPGA["weights_real"]
    share = PAPER_FPGA["bits_hardware"] / PAPER_FPGA["bits_real"]
    assert PAPER_FPGA["reduction"] == round(1 - share, 4)
    assert PAPER_FPGA["latency_ns"] == 1000 * PAPER_FPGA["latency_cycles"] / 100


def test_rows_stand_side_by_side() -> None:
    rows = {what: (paper, here) for what, paper, here in paper_rows(a_report())}
    assert rows["part"] == ("XC7A100T-1CSG324C", "xc7a100tcsg324-1")
    assert rows["nodes"] == ("60", "36")
    assert rows["weights, real"] == ("660", "120")
    assert rows["weights, FPGA"] == ("16,500", "3,000")
    assert rows["bits, real"] == ("42,240", "7,680")
    assert rows["bits, FPGA"] == ("16,500", "3,000")
    assert rows["memory reduction"] == ("60.94%", "60.94%")
    assert rows["clock cycles"] == ("9", "5")
    assert rows["time"] == ("90 ns", "50 ns")
    assert rows["RMSE, PC"] == ("0.031336", "0.050000")
    assert rows["RMSE, FPGA"] == ("0.031360", "0.050003")
    assert rows["RMSE lost on FPGA"] == ("+7.7e-04", "+6.0e-05")


def test_power_stands_beside_the_papers() -> None:
    for power, here in (
        ({"source": "estimate", "total_w": [0.0733, 0.216]}, "0.073 to 0.216 W, estimate"),
        ({"source": "vivado", "total_w": [0.131, 0.131]}, "0.131 W, Vivado"),
        (None, "not known"),
    ):
        rows = {what: (paper, ours) for what, paper, ours in paper_rows(a_report(power=power))}
        assert rows["power"] == ("0.295 W, Vivado", here)
    assert "power" not in {row[0] for row in paper_rows(a_report())}


def test_a_perfect_or_unscored_model_has_its_rows() -> None:
    perfect = paper_rows(a_report(rmse_pc=0.0, rmse_hw=0.0, rmse_ratio=None))
    assert perfect[-1] == ("RMSE lost on FPGA", "+7.7e-04", "+0.0e+00")
    unscored = a_report()
    del unscored["rmse_pc"]
    assert [row[0] for row in paper_rows(unscored)][-1] == "time"
