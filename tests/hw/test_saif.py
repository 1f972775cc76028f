"""Switching activity, against counts of the interpreter's own results."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from scm_hw import boards
from scm_hw.common.packing import pack
from scm_hw.design import Design, compile_model
from scm_hw.emit import testbench_files as bench_files
from scm_hw.emit.testbench import ACTIVITY_CYCLES, DUT
from scm_hw.errors import ToolError
from scm_hw.ir.interp import interpret
from scm_hw.rtl import to_verilog
from scm_hw.verify import run_testbench
from scm_hw.verify.check import check_files
from scm_hw.verify.rows import check_rows
from scm_hw.verify.saif import read_vcd, saif_file, toggles
from tests.hw.standin import StandIn, standin_vectors
from tests.support import random_model

Counts = dict[str, int]


def parse_saif(text: str) -> tuple[int, dict[str, Counts]]:
    """Duration, and the counts of every bit by its whole name; a reader of SAIF by brackets."""
    path: list[str] = []
    found: dict[str, Counts] = {}
    depths: list[bool] = []
    (duration,) = re.findall(r"\(DURATION (\d+)\)", text)
    for line in text.splitlines():
        if match := re.fullmatch(r"\(INSTANCE (\S+)", line):
            path.append(match[1].replace("\\", ""))
            depths.append(True)
        elif line == "(NET":
            depths.append(False)
        elif line == ")" and depths:
            if depths.pop():
                path.pop()
        elif match := re.fullmatch(r"\((\S+) ((?:\(\w+ \d+\) ?)+)\)", line):
            counts = {k: int(v) for k, v in re.findall(r"\((\w+) (\d+)\)", match[2])}
            found["/".join([*path, match[1].replace("\\", "")])] = counts
    assert not path and text.count("(") == text.count(")")
    return int(duration), found


def check_bits(found: dict[str, Counts], name: str, width: int, words: list[int], unit: int) -> int:
    """A word that changes with every clock, seen for half a cycle at both ends."""
    changes = 0
    for bit in range(width):
        ones = [word >> bit & 1 for word in words]
        count = found[f"{name}[{bit}]"]
        changed = sum(a != b for a, b in pairwise(ones))
        high = unit * sum(ones[1:-1]) + unit // 2 * (ones[0] + ones[-1])
        assert (count["TC"], count["T1"], count["TX"]) == (changed, high, 0)
        assert count["T0"] + count["T1"] == unit * (len(words) - 1)
        changes += changed
    return changes


@pytest.mark.parametrize("count", [30, ACTIVITY_CYCLES + 100])
def test_counts_of_a_stand_in(tmp_path: Path, count: int) -> None:
    vectors = standin_vectors(count)
    core = to_verilog(StandIn(), "scm_core")
    for name, text in {"scm_core.v": core, **bench_files(vectors, 3)}.items():
        (tmp_path / name).write_text(text)
    waveform = tmp_path / "activity.vcd"
    assert run_testbench(tmp_path, workdir=tmp_path / "work", activity=waveform) == (count, 3)
    wave = read_vcd(waveform.read_text().splitlines(keepends=True))
    duration, found = parse_saif(saif_file(wave, top=("tb_scm_core", DUT), inside=(), scale=1.0))
    cycles = min(ACTIVITY_CYCLES, count - 2)
    assert duration == 10_000 * cycles
    # What changes as it ends is no part of it.
    assert found["tb_scm_core/dut/clk"]["TC"] == 2 * cycles - 1
    # The first result had been taken when it began.
    words = list(vectors.outputs[1 : 2 + cycles])
    assert check_bits(found, "tb_scm_core/dut/out_data", 14, words, 10_000) > 5 * cycles


def built(tmp_path: Path, part: str | None) -> Design:
    """A folder as `build` proves it, with the activity in it."""
    board = boards.get("cmod-a7-35") if part is None else boards.by_part(part, 50.0)
    design = compile_model(random_model(4, layers=(6,), rows=60), board)
    rows = check_rows(design, design.model.evaluation)
    files = {"scm_core.v": design.verilog}
    files |= bench_files(rows.vectors(design), design.schedule.latency)
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    check_files(tmp_path, design, tmp_path / "work", lambda _: None)
    return design


@pytest.mark.parametrize("part", [None, "xc7k70tfbg484-2"])
def test_counts_are_the_interpreters(tmp_path: Path, part: str | None) -> None:
    design = built(tmp_path, part)
    duration, found = parse_saif((tmp_path / "activity.saif").read_text())
    rows = check_rows(design, design.model.evaluation)
    outputs = pack(interpret(design.meaning, rows.inputs), design.ports.out_widths)
    period = round(1e6 / design.clock_mhz)
    cycles = duration // period
    assert 200 < cycles <= ACTIVITY_CYCLES and abs(duration - 1e6 / design.clock_mhz * cycles) < 1
    inside = "tb_scm_core/dut" + ("/server/core/scm_core" if part is None else "")
    assert all(name.startswith(f"{inside}/") for name in found)
    toggles = [found[f"{inside}/out_data[{i}]"]["TC"] for i in range(design.ports.out_widths[0])]
    window = np.array(outputs[1 : 2 + cycles])
    bits = window[:, None] >> np.arange(len(toggles)) & 1
    assert toggles == np.abs(np.diff(bits, axis=0)).sum(axis=0).tolist()
    assert sum(toggles) > cycles
    assert not any("$" in name for name in found)


@pytest.mark.parametrize("text", ["", "$scope module a $end\n", "$enddefinitions $end\n#5\n"])
def test_what_is_no_waveform(text: str) -> None:
    with pytest.raises(ToolError, match="waveform must have"):
        read_vcd(text.splitlines(keepends=True))


def test_a_net_that_was_never_recorded_is_unknown() -> None:
    vcd = "$scope module a $end\n$var wire 2 ! x [1:0] $end\n$var wire 1 # y $end\n$upscope $end\n"
    vcd += "$enddefinitions $end\n#0\n1#\n#10\n0#\n#40\n"
    wave = read_vcd(vcd.splitlines(keepends=True))
    never, seen = (toggles(wave, net) for net in sorted(wave.nets, key=lambda net: net.name))
    assert [tuple(vars(bit).values()) for bit in never] == [(0, 0, 40, 0)] * 2
    assert [tuple(vars(bit).values()) for bit in seen] == [(30, 10, 0, 1)]
