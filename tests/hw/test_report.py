"""report.json: every key of the design page, with figures that agree with each other."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from scm_hw import boards
from scm_hw.design import compile_model
from scm_hw.report.storage import weights
from scm_hw.target.resources import Resources
from scm_hw.verify import SimResult
from tests.hw import oracle
from tests.hw.commands import SMALL
from tests.hw.reports import COUNTED, KEYS, report_of
from tests.support import model_arrays, random_model


@pytest.mark.parametrize("task", ["regression", "classification"])
@pytest.mark.parametrize("mechanism", ["none", "external"])
def test_every_key_is_there_and_is_json(task: str, mechanism: str) -> None:
    report = report_of(task=task, mechanism=mechanism, outputs=2)
    score = "accuracy" if task == "classification" else "rmse"
    assert report.keys() >= KEYS | {f"{score}_pc", f"{score}_hw"}
    assert report["resources"].keys() >= COUNTED
    assert report["device"].keys() >= COUNTED
    assert json.loads(json.dumps(report, allow_nan=False)) == report


def test_time_is_cycles_of_the_clock() -> None:
    report = report_of()
    assert (report["board"], report["part"]) == ("nexys-a7", "xc7a100tcsg324-1")
    assert report["latency_ns"] == pytest.approx(1000 * report["latency_cycles"] / 100)
    assert len(report["stages_ns"]) == report["latency_cycles"]


@pytest.mark.parametrize(("task", "outputs"), [("regression", 2), ("classification", 3)])
def test_scores_are_those_of_exact_arithmetic(task: str, outputs: int) -> None:
    report = report_of(task=task, outputs=outputs)
    arrays = model_arrays(1, **(SMALL | {"task": task, "outputs": outputs}))
    exact = [
        [float(y) for y in oracle.y_norm(arrays, oracle.code_of(arrays, row))]
        for row in arrays["eval_inputs"]
    ]
    if task == "classification":
        right = np.argmax(exact, axis=1) == arrays["eval_targets"]
        assert report["accuracy_pc"] == right.mean()
        assert report["accuracy_hw"] == pytest.approx(right.mean(), abs=1e-4)
        return
    span = arrays["target_max"] - arrays["target_min"]
    error = np.array(exact) - (arrays["eval_targets"] - arrays["target_min"]) / span
    assert report["rmse_pc"] == pytest.approx(math.sqrt(np.mean(error**2)), rel=1e-12)
    assert report["rmse_hw"] == pytest.approx(report["rmse_pc"], rel=1e-4)
    assert report["rmse_hw"] != report["rmse_pc"]
    assert report["rmse_ratio"] == report["rmse_hw"] / report["rmse_pc"]
    in_units = [report["rmse_units"][name]["pc"] for name in ("y0", "y1")]
    assert in_units == pytest.approx(np.sqrt(np.mean(error**2, axis=0)) * span, rel=1e-12)


def test_without_evaluation_rows_there_is_no_score() -> None:
    report = report_of(evaluated=False)
    assert not report.keys() & {"rmse_pc", "rmse_hw", "accuracy_pc", "accuracy_hw", "rows"}


def test_verdicts_are_told_by_simulator() -> None:
    results = [SimResult("icarus", "11.0", 216, 0, 4, 1), SimResult("verilator", "5.4", 9, 0, 4, 1)]
    verdicts = report_of(results)["bit_exact"]
    assert list(verdicts) == ["icarus", "verilator"]
    assert verdicts["icarus"] == {
        "vectors": 216,
        "mismatches": 0,
        "cycles": 4,
        "initiation_interval": 1,
        "version": "11.0",
    }


def test_resources_say_where_they_come_from() -> None:
    estimated = report_of()["resources"]
    assert estimated["source"] == "estimate"
    assert estimated["lut"] > 0
    cells = Resources(lut=20, ff=18, carry4=6, dsp=1, bram=0.5, lutram=2, srl=3)
    found = report_of(resources=cells)["resources"]
    assert "yosys" in found["source"]
    assert [found[kind] for kind in ("lut", "ff", "carry4", "dsp", "bram")] == [20, 18, 6, 1, 0.5]
    assert found["estimate"]["lut"] == estimated["lut"]


def test_the_device_is_the_parts() -> None:
    device = {"lut": 63_400, "ff": 126_800, "carry4": 15_850, "dsp": 240, "bram": 135}
    names = {"name": "xc7a100t", "family": "xc7", "block": "BRAM36"}
    assert report_of()["device"] == names | device


@pytest.mark.parametrize("mechanism", ["none", "external"])
def test_formats_are_those_of_the_ports(mechanism: str) -> None:
    options = SMALL | {"mechanism": mechanism, "outputs": 2}
    design = compile_model(random_model(1, **options), boards.get("nexys-a7"))
    formats = report_of(**options)["formats"]
    words = ["P0_y0", "P0_y1"] if mechanism == "external" else []
    assert [port["name"] for port in formats["in_data"]] == ["x0", "x1", *words]
    assert [port["bits"] for port in formats["in_data"]] == design.core.in_widths
    assert [port["fraction"] for port in formats["in_data"][:2]] == [4, 4]
    assert [port["bits"] for port in formats["out_data"]] == design.core.out_widths
    assert f"input [{formats['in_width'] - 1}:0] in_data;" in design.verilog
    assert f"output [{formats['out_width'] - 1}:0] out_data;" in design.verilog
    for port in formats["out_data"]:
        assert port["fraction"] == design.fixed.grid_bits
        assert port["signed"] == (port["range"][0] < 0)


def test_a_classifier_has_the_class_as_its_output() -> None:
    formats = report_of(task="classification", outputs=3)["formats"]
    (port,) = formats["out_data"]
    assert port == {
        "name": "class",
        "kind": "class",
        "bits": 2,
        "fraction": 0,
        "signed": False,
        "range": [0, 2],
        "low": 0.0,
        "high": 1.0,
    }


def test_weights_of_the_paper() -> None:
    model = random_model(features=11, layers=(60,), bits=25, input_bits=12, rows=1)
    found = weights(model)
    assert found["real"] == {"count": 660, "bits": 42_240}
    assert found["hardware"] == {"count": 16_500, "bits": 16_500}
    assert f"{found['reduction']:.2%}" == "60.94%"


@pytest.mark.parametrize(
    ("options", "real", "hardware"),
    [
        ({"layers": (4, 2)}, 3 * 4 + 4 * 2, 3 * 7 * 4 + 4 * 2),
        ({"layers": (5,), "inputs_per_node": 2}, 15, 70),
        ({"layers": (4, 3), "inputs_per_node": 2}, 12 + 12, 56 + 6),
        ({"layers": (4,), "encoder": "none"}, 12, 12),
        ({"layers": ()}, 0, 0),
    ],
)
def test_only_connections_that_exist_have_a_sign(
    options: dict[str, Any], real: int, hardware: int
) -> None:
    found = weights(random_model(1, features=3, bits=7, **options))
    assert found["real"]["count"] == real
    assert found["hardware"]["count"] == hardware
    assert found["reduction"] == (1 - hardware / (64 * real) if real else 0)
