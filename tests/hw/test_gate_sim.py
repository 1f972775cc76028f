"""`build --gate-sim` as a user runs it, for every kind of core and of mechanism."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scm_hw import build as building
from scm_hw.__main__ import main
from scm_hw.tools.synthesis import synthesise
from scm_train.__main__ import main as train
from tests.hw.commands import SMALL, run, small_model, write_csv

CORES: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "unrolled": ({}, ()),
    "folded": ({"layers": (3, 2)}, ("--fold", "2x2")),
    "deep": ({"layers": (3, 3, 2), "activation": ("sign", "step", "sign")}, ()),
    "argmax": ({"task": "classification", "outputs": 3}, ()),
    "polynomial": ({"mechanism": "polynomial", "features": 1}, ()),
    "table": ({"mechanism": "table", "features": 1}, ()),
    "external": ({"mechanism": "external"}, ()),
    "folded argmax": ({"task": "classification", "outputs": 3}, ("--fold", "1x2")),
    "folded external": ({"mechanism": "external"}, ("--fold", "2x3")),
    "deep argmax": ({"layers": (3, 2), "task": "classification", "outputs": 3}, ()),
}
LONG = ("table", "folded argmax", "folded external", "deep argmax")
BUILD = ("--out", "out", "--gate-sim", "--sim", "icarus")

RULES = """
from scm_train.mechanisms.fuzzy import FuzzySystem, Rule, Triangle

cold, hot = Triangle(0, 0, 10), Triangle(0, 10, 10)
valve = FuzzySystem([Rule({0: cold}, 1.0), Rule({0: hot}, 3.0, {1: 0.5})])
"""


def assert_netlist_is_exact(report: dict[str, Any]) -> None:
    """As many vectors as the RTL was played, all equal, in as many cycles."""
    assert report["checks"]["netlist"]
    verdict = report["bit_exact"]["netlist"]
    assert verdict == report["bit_exact"]["icarus"]
    assert verdict["vectors"] > 0
    assert verdict["mismatches"] == 0
    assert verdict["cycles"] == report["latency_cycles"]


@pytest.mark.parametrize(
    "kind", [pytest.param(k, marks=pytest.mark.long if k in LONG else ()) for k in CORES]
)
def test_netlists_are_checked(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options, arguments = CORES[kind]
    monkeypatch.chdir(tmp_path)
    small_model(Path("m.npz"), **(options | {"rows": 3}))
    assert main(["build", "m.npz", *BUILD, "-q", *arguments]) == 0
    report = json.loads(Path("out/report.json").read_text())
    assert_netlist_is_exact(report)
    assert (report["initiation_interval"] > 1) == kind.startswith("folded")
    assert "netlist" in Path("out/report.html").read_text()


def test_a_fuzzy_system_sampled_as_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From its rules to gates, by the two command lines alone."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = [(10 * a, b, 1 + 2 * a + a * b / 2) for a, b in rng.random((60, 2))]
    write_csv(Path("data.csv"), ("heat", "load", "flow"), rows)
    Path("rules_of_the_valve.py").write_text(RULES)
    fit = ["fit", "data.csv", "--target", "flow", "--max-nodes", "2", "--candidates", "5"]
    fit += ["--encoder", "thermometer:3", "--input-bits", "5", "--out", "m.npz", "-q"]
    fit += ["--mechanism", "rules_of_the_valve:valve", "--mechanism-kind", "table"]
    assert train([*fit, "--mechanism-inputs", "heat,load", "--mechanism-points", "3"]) == 0
    done = run("build", "m.npz", *BUILD, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["model"]["mechanism"] == "table"
    assert_netlist_is_exact(report)


# A table in LUTs, with its size, contents and the net that it drives; a register of the results.
LUT = re.compile(
    r"LUT\d #\(\s*\.INIT\((\d+)'([hd])([0-9a-f]+)\)\s*\) \S+\s+\([^;]*?\.O\((.*?)\)\s*\);"
)
RESULT = re.compile(r"\.D\((.*?)\),\s*\.Q\(out_data(?:\[\d+\])?\)")


def inverted(netlist: Path) -> None:
    """The table that feeds a register of the results, which can't be without effect.

    Where carry chains feed them all, the largest there is.
    """
    text = netlist.read_text()
    results = set(RESULT.findall(text))
    luts = list(LUT.finditer(text))
    last = [lut for lut in luts if lut[4] in results]
    found = last[0] if last else max(luts, key=lambda lut: int(lut[1]))
    contents = int(found[3], 16 if found[2] == "h" else 10)
    wrong = f"h{contents ^ ((1 << int(found[1])) - 1):x}"
    netlist.write_text(f"{text[: found.start(2)]}{wrong}{text[found.end(3) :]}")


@pytest.mark.parametrize(
    "kind", [pytest.param(k, marks=pytest.mark.long if k != "folded" else ()) for k in CORES]
)
def test_a_wrong_lut_ends_the_build(
    kind: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """One line, exit code 1, no folder, and what it takes to look into it beside it."""

    def damaged(*arguments: Any, netlist: Path, **more: Any) -> Any:
        resources = synthesise(*arguments, netlist=netlist, **more)
        inverted(netlist)
        return resources

    monkeypatch.setattr(building, "synthesise", damaged)
    monkeypatch.chdir(tmp_path)
    options, arguments = CORES[kind]
    small_model(Path("m.npz"), **(SMALL | options | {"rows": 3}))
    assert main(["build", "m.npz", *BUILD, "-q", *arguments]) == 1
    complaint = capsys.readouterr().err
    assert complaint.startswith("error: netlist differs from the interpreter")
    assert complaint.count("\n") == 1
    assert not Path("out").exists()
    assert Path("out.failed/netlist.v").exists()
