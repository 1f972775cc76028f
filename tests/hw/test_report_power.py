"""Power in reports: recorded or assumed activity, and Vivado's figure in its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scm_hw import boards
from scm_hw.build import BuildOptions, build
from scm_hw.cli.console import summary_lines
from scm_hw.design import Design, compile_model
from scm_hw.report.compare import read_reports
from scm_hw.report.power import (
    joules,
    keep_vivado_reports,
    power_of,
    power_words,
    vivado_figures,
    watts,
    with_vivado,
)
from scm_hw.verify.saif import recorded_activity
from tests.hw.commands import SMALL
from tests.hw.report_pages import reported
from tests.hw.reports import report_of
from tests.pages import parsed
from tests.support import model_arrays, random_model, write_model

CELLS = {"lut_sites": 1000, "ff": 400, "dsp": 0, "bram": 0, "top": None, "wrapper": None}
RPT = """
1. Summary
+--------------------------+--------------+
| Total On-Chip Power (W)  | 0.131        |
| Design Power Budget (W)  | Unspecified* |
| Dynamic (W)              | 0.034        |
| Device Static (W)        | 0.097        |
+--------------------------+--------------+
"""


@pytest.fixture(scope="module")
def design() -> Design:
    return compile_model(random_model(1, **SMALL), boards.get("nexys-a7"))


def test_recorded_activity_by_hand(tmp_path: Path) -> None:
    saif = tmp_path / "activity.saif"
    assert recorded_activity(saif, 10.0) is None
    lines = [
        "(DURATION 1000000)",
        "(INSTANCE dut",
        "(NET",
        r"(clk (T0 1) (T1 1) (TX 0) (TC 200) (IG 0))",
        r"(a\[0\] (T0 1) (T1 1) (TX 0) (TC 60) (IG 0))",
        r"(a\[1\] (T0 1) (T1 1) (TX 0) (TC 20) (IG 0))",
        r"(b (T0 1) (T1 1) (TX 0) (TC 10) (IG 0))",
    ]
    saif.write_text("\n".join(lines))
    # 90 transitions of three bits in 100 cycles of 10 ns.
    assert recorded_activity(saif, 10.0) == pytest.approx(0.3)
    saif.write_text("(DURATION 1000000)\n")
    assert recorded_activity(saif, 10.0) is None


def test_an_estimate_by_hand(design: Design) -> None:
    found = power_of(design, CELLS, 0.25, None)
    assert found is not None
    # (0.05 W + 0.75 uW x 63,400) x 0.7 and x 1.4.
    assert found["static_w"] == [0.0683, 0.137]
    # 1,400 outputs x 100 MHz x 0.25 x 0.1 and 1.5 pJ, 400 clocks x 100 MHz x 0.01 and 0.07 pJ.
    assert found["dynamic_w"] == [0.0039, 0.0553]
    assert found["total_w"] == [0.0722, 0.192]
    assert found["energy_per_sample_j"] == [7.22e-10, 1.92e-9]
    assert found["activity"] == {"toggles_per_cycle": [0.25, 0.25], "source": "recorded"}
    assert found["source"] == "estimate"


def test_assumed_activity_widens_the_range(design: Design) -> None:
    recorded, assumed = (power_of(design, CELLS, a, None) for a in (0.125, None))
    assert recorded is not None and assumed is not None
    assert assumed["activity"] == {"toggles_per_cycle": [0.05, 0.25], "source": "assumed"}
    assert assumed["total_w"][0] < recorded["total_w"][0]
    assert recorded["total_w"][1] < assumed["total_w"][1]


def test_the_board_top_takes_more_than_the_core(design: Design) -> None:
    top = {"lut_sites": 2400, "ff": 1100, "dsp": 0, "bram": 0.5}
    core, whole = (power_of(design, CELLS | {"top": part}, 0.25, None) for part in (None, top))
    assert core is not None and whole is not None
    # 700 registers and half a block more are clocked; 2,100 cells may switch.
    assert whole["parts_w"]["clock"] == [0.0011, 0.0077]
    assert whole["parts_w"]["bram"] == [0.0005, 0.00125]
    assert whole["parts_w"]["around"] == [0.0, 0.0394]
    assert whole["parts_w"]["core_logic"] == core["parts_w"]["core_logic"]


def test_a_family_without_figures_has_no_power(design: Design) -> None:
    unknown = compile_model(random_model(1, **SMALL), boards.get("de10_nano"))
    assert power_of(unknown, CELLS, None, None) is None
    assert power_words(None) == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (RPT, {"total_w": 0.131, "dynamic_w": 0.034, "static_w": 0.097}),
        ("| Total On-Chip Power (W)  | <0.001 |\n", {"total_w": 0.001}),
        ("| Dynamic (W) | 0.034 |\n", None),
        ("", None),
    ],
)
def test_figures_of_vivado(text: str, expected: dict[str, float] | None) -> None:
    assert vivado_figures(text) == expected


def test_vivado_replaces_the_estimate(tmp_path: Path) -> None:
    report = report_of()
    assert with_vivado(report, tmp_path) is report
    (tmp_path / "scm_top_power.rpt").write_text("no report")
    assert with_vivado(report, tmp_path) is report
    (tmp_path / "scm_top_power.rpt").write_text(RPT)
    (tmp_path / "report.json").write_text(json.dumps(report))
    for found in (with_vivado(report, tmp_path), *read_reports([tmp_path])):
        power = found["power"]
        assert (power["source"], power["total_w"]) == ("vivado", [0.131, 0.131])
        assert power["energy_per_sample_j"] == [1.31e-9, 1.31e-9]
        assert power["dynamic_energy_per_sample_j"] == [3.4e-10, 3.4e-10]
        assert power["estimate"] == report["power"]
        line = "power: 0.131 W, 1.31 nJ a sample (Vivado, scm_top_power.rpt)"
        assert line in summary_lines(found)


def test_reports_of_vivado_are_kept_for_equal_designs_only(tmp_path: Path) -> None:
    earlier, folder = tmp_path / "earlier", tmp_path / "new"
    for place in (earlier, folder):
        place.mkdir()
    (earlier / "scm_top_power.rpt").write_text(RPT)
    keep_vivado_reports(earlier, "abc", folder)
    (earlier / "digest.txt").write_text("abd\n")
    keep_vivado_reports(earlier, "abc", folder)
    assert not list(folder.iterdir())
    (earlier / "digest.txt").write_text("abc\n")
    keep_vivado_reports(earlier, "abc", folder)
    assert (folder / "scm_top_power.rpt").read_text() == RPT


def test_a_build_reports_what_was_recorded(tmp_path: Path) -> None:
    model = write_model(tmp_path / "model.npz", model_arrays(3, layers=(4,), rows=40))
    out = tmp_path / "out"

    def built(simulators: tuple[str, ...]) -> dict[str, Any]:
        how = BuildOptions(out=out, simulators=simulators, synthesis=False)
        return build(model, boards.get("arty-a7"), build_options=how).report

    power = built(("icarus",))["power"]
    low, high = power["activity"]["toggles_per_cycle"]
    assert power["activity"]["source"] == "recorded" and 0.0 < low == high < 1.0
    expected = recorded_activity(out / "activity.saif", 10.0)
    assert expected == pytest.approx(low, rel=0.01)
    (out / "scm_top_power.rpt").write_text(RPT)
    again = built(())["power"]
    assert (again["source"], again["estimate"]["activity"]["source"]) == ("vivado", "assumed")
    assert json.loads((out / "report.json").read_text())["power"] == again


def test_the_page_says_that_it_is_an_estimate() -> None:
    page, report, *_ = reported(model_arrays(3))
    root = parsed(page)
    assert power_words(report["power"])[1:] in root.text()
    assert "nothing of it was measured" in root.text()
    assert "0.295 W" in root.text()


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (watts([0.0683, 0.137]), "0.068 to 0.137 W"),
        (watts([0.131, 0.131]), "0.131 W"),
        (watts([0.000161, 0.012]), "0.161 to 12 mW"),
        (watts([0.0001, 0.0024]), "0.1 to 2.4 mW"),
        (watts([0.0, 5e-5]), "0 to 50 \N{MICRO SIGN}W"),
        (joules([7.22e-10, 1.92e-9]), "0.722 to 1.92 nJ"),
        (joules([2e-6, 4e-6]), "2 to 4 \N{MICRO SIGN}J"),
    ],
)
def test_units_suit_the_higher_end(shown: str, expected: str) -> None:
    assert shown == expected
