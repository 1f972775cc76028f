"""The rules of the core's streams, for every sequence of inputs, stalls and resets."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scm_hw.rtl import to_verilog
from scm_hw.schedule import Ends
from tests.formal.designs import Proven, folded, model_program, unrolled
from tests.formal.prover import proves
from tests.formal.rules import stream_rules
from tests.hw.standin import StandIn

TINY: dict[str, Any] = {"features": 2, "layers": (2,), "bits": 2, "input_bits": 2}
# A reset, a full pipeline, stalls at its end, a reset in the midst of it, and what comes after.
SPARE_CYCLES = 6


def keeps_the_rules(core: Proven, folder: Path, depth: int | None = None) -> bool:
    widths = (core.in_width, core.out_width)
    promises = (core.latency, core.interval, core.function)
    rules = stream_rules(*widths, *promises, ready=core.ready)
    sources = {"core.v": core.verilog, "rules.sv": rules}
    return proves(folder, sources, "rules", depth or 2 * core.latency + SPARE_CYCLES)


def standin(fault: str | None = None) -> Proven:
    core = StandIn(4, fault)
    return Proven(
        to_verilog(core, "scm_core"), 4, 4, core.latency, 1, "3 * sample[1:0] + sample[3:2]"
    )


@pytest.mark.parametrize("clock", [100.0, pytest.param(250.0, marks=pytest.mark.long)])
def test_pipelines_keep_the_rules(clock: float, tmp_path: Path) -> None:
    core = unrolled(model_program(**TINY), clock_mhz=clock)
    assert keeps_the_rules(core, tmp_path)


@pytest.mark.parametrize(
    "ends",
    [
        Ends("skid"),
        Ends("none", input_register=True),
        pytest.param(Ends("skid", input_register=True), marks=pytest.mark.long),
        pytest.param(Ends("global", input_register=True), marks=pytest.mark.long),
    ],
    ids=str,
)
def test_other_handshakes_keep_the_rules(ends: Ends, tmp_path: Path) -> None:
    assert keeps_the_rules(unrolled(model_program(**TINY), ends=ends), tmp_path)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("assign out_valid = ", "assign out_valid = out_ready & "),
        ("assign taken = ", "assign taken = in_valid | "),
    ],
    ids=["valid waits for ready", "taken without credit"],
)
def test_a_wrong_queue_has_a_counterexample(old: str, new: str, tmp_path: Path) -> None:
    core = unrolled(model_program(**TINY), ends=Ends("skid"))
    before, module, queue = core.verilog.partition("module scm_core_queue(")
    assert old in queue
    verilog = before + module + queue.replace(old, new, 1)
    assert not keeps_the_rules(replace(core, verilog=verilog), tmp_path)


@pytest.mark.long
def test_classifiers_keep_the_rules(tmp_path: Path) -> None:
    program = model_program(**TINY, outputs=3, task="classification")
    assert keeps_the_rules(unrolled(program, clock_mhz=200.0), tmp_path)


def folded_core(handshake: str = "global") -> Proven:
    options: dict[str, Any] = {"features": 1, "layers": (2,), "bits": 1, "input_bits": 2}
    return folded("2x2", handshake, **options, linear=False)


@pytest.mark.long
@pytest.mark.parametrize("handshake", ["global", "skid"])
def test_folded_cores_keep_the_rules(handshake: str, tmp_path: Path) -> None:
    """Two samples, with a reset at any time: a folded core holds one at a time."""
    assert keeps_the_rules(folded_core(handshake), tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("change", [{"function": "1 + {}"}, {"latency": -1}], ids=str)
def test_a_wrong_folded_core_has_a_counterexample(change: dict[str, Any], tmp_path: Path) -> None:
    """A result that is off by one, or later than promised."""
    core = folded_core()
    function = change.get("function", "{}").format(core.function)
    latency = core.latency + change.get("latency", 0)
    wrong = Proven(**{**vars(core), "function": function, "latency": latency})
    assert not keeps_the_rules(wrong, tmp_path)


@pytest.mark.parametrize(
    "fault",
    [
        "early_valid",
        "no_reset",
        *(pytest.param(fault, marks=pytest.mark.long) for fault in ("unstable", "doubled", "slow")),
    ],
)
def test_every_fault_has_a_counterexample(fault: str, tmp_path: Path) -> None:
    assert not keeps_the_rules(standin(fault), tmp_path)


@pytest.mark.long
def test_the_stand_in_itself_keeps_the_rules(tmp_path: Path) -> None:
    assert keeps_the_rules(standin(), tmp_path)


def test_a_wrong_result_has_a_counterexample(tmp_path: Path) -> None:
    good, other = (model_program(**TINY, linear=linear) for linear in (True, False))
    core = unrolled(good)
    assert not keeps_the_rules(
        Proven(**{**vars(core), "function": f"({unrolled(other).function})"}), tmp_path
    )
