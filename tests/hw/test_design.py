"""From a model to a finished core."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from scm_hw import boards, design
from scm_hw.design import Design, Options, compile_model, speed_grade
from scm_hw.errors import OptionError, UnsupportedModelError
from scm_hw.ir import verify
from scm_hw.ir.interp import interpret
from scm_hw.verify.probes import expected_probes
from scm_hw.verify.rows import check_rows
from tests.hw import oracle
from tests.hw.commands import SMALL
from tests.support import random_model

ARTY = boards.get("arty-a7")


def compiled(
    seed: int = 1, board: boards.Board = ARTY, options: Options | None = None, **model: Any
) -> Design:
    return compile_model(
        random_model(seed, **(SMALL | model)), board, options, model_digest=f"model {seed}"
    )


def test_stages_agree_with_each_other_and_with_the_oracle() -> None:
    found = compiled(layers=(4, 2), activation=("sign", "step"))
    verify(found.program)
    rows = check_rows(found, found.model.evaluation)
    np.testing.assert_array_equal(interpret(found.program, rows.inputs), rows.outputs)
    np.testing.assert_array_equal(oracle.outputs(found.meaning, rows.inputs), rows.outputs)


def test_ranges_of_the_ports_are_the_codes_and_hold_every_output() -> None:
    found = compiled(mechanism="external")
    assert [(r.low, r.high) for r in found.input_ranges[:2]] == [(0, 15), (0, 15)]
    assert len(found.input_ranges) == 3
    outputs = check_rows(found, None).outputs
    (reach,) = found.output_ranges
    assert reach.low <= outputs.min() <= outputs.max() <= reach.high


def test_equal_models_give_equal_verilog() -> None:
    text = compiled().verilog
    assert compiled().verilog == text
    assert compiled(2).verilog != text


def test_verilog_has_the_ports_and_names_no_file_of_ours() -> None:
    text = compiled().verilog
    core = text[text.index("module scm_core(") : text.index("endmodule")]
    ports = "clk rst in_valid in_ready in_data out_valid out_ready out_data"
    assert set(re.findall(r"^  (?:in|out)put .*?(\w+);$", core, re.MULTILINE)) == set(ports.split())
    assert ".py" not in text


@pytest.mark.parametrize(
    "options",
    [
        Options(tolerance=1e-3),
        Options(frac_bits=9),
        Options(clock_mhz=50.0),
        Options(pipeline="short"),
        Options(latency=3),
    ],
    ids=repr,
)
def test_every_option_changes_the_digest(options: Options) -> None:
    plain = compiled()
    assert plain.digest == compiled().digest
    assert replace(plain, options=options).digest != plain.digest


def test_model_board_and_tools_change_the_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    digests = [compiled().digest, compiled(2).digest]
    digests += [compiled(board=boards.get(name)).digest for name in ("nexys-a7", "arty-a7-35")]
    digests += [compiled(board=boards.by_part("xc7a100tcsg324-1")).digest]
    monkeypatch.setattr(design.compiler, "version", lambda _: "0.0")
    digests += [compiled().digest]
    assert len(set(digests)) == len(digests)


def test_frac_bits_are_taken_as_told() -> None:
    assert compiled(options=Options(frac_bits=9)).fixed.frac_bits == 9
    coarse, fine = (compiled(options=Options(tolerance=t)).fixed.frac_bits for t in (0.1, 1e-6))
    assert coarse < fine


def test_the_clock_is_the_boards_unless_told() -> None:
    assert compiled().clock_mhz == pytest.approx(100.0)
    assert compiled(board=boards.get("cmod-a7-35")).clock_mhz == pytest.approx(12.0)
    fast = compiled(options=Options(clock_mhz=250.0), layers=(8,), bits=7)
    slow = compiled(options=Options(clock_mhz=20.0), layers=(8,), bits=7)
    assert fast.clock_mhz == pytest.approx(250.0)
    assert fast.schedule.latency > slow.schedule.latency


@pytest.mark.parametrize(
    ("part", "grade"),
    [
        ("xc7a100tcsg324-1", "1"),
        ("xc7a35ticsg324-1L", "1L"),
        ("xc7s50csga324-1IL", "1L"),
        ("xc7s50csga324-1Q", "1"),
        ("xc7k70tfbg484-2LI", "2L"),
        ("xc7k70tfbg484-3", "3"),
    ],
)
def test_the_speed_grade_is_read_from_the_part(part: str, grade: str) -> None:
    assert speed_grade(part) == grade
    assert compiled(board=boards.by_part(part)).board.part == part


def test_what_hardware_cannot_take_is_refused() -> None:
    with pytest.raises(UnsupportedModelError, match=r"layer 1 .*tanh"):
        compiled(activation="tanh")
    with pytest.raises(OptionError, match=r"frac bits must be in \[1, 28\], not 0"):
        compiled(options=Options(frac_bits=0))


def test_probes_hold_what_the_program_computes() -> None:
    # More bits of level than one table takes in.
    found = compiled(layers=(4,), features=3, bits=7)
    assert found.verilog
    row = np.array([3, 12, 7])
    probes = expected_probes(found, row)
    values = oracle.all_values(found.program, row.tolist())
    nodes = {f"layer1.node{k}" for k in range(4)}
    assert nodes & {op.name for op in found.program.ops}
    stages = {probe.stage.split(", ")[1] for probe in probes}
    assert stages >= nodes & {op.name for op in found.program.ops}
    expected = [(p.cycle, p.signal, values[p.ref]) for p in found.core.probes]
    assert sorted((p.offset, p.signal, p.expected) for p in probes) == sorted(expected)
    assert [p.offset for p in probes] == sorted(p.offset for p in probes)
