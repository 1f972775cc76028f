"""The Verilog test bench, in Icarus."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scm_hw.emit import testbench_files as bench_files
from scm_hw.errors import MismatchError, OptionError, ToolError
from scm_hw.rtl import to_verilog
from scm_hw.sim.vectors import Vectors
from scm_hw.verify import lint, run_testbench
from tests.hw.standin import StandIn, standin_vectors


def write_design(
    folder: Path, vectors: Vectors, *, fault: str | None = None, latency: int = 3, interval: int = 1
) -> None:
    core = to_verilog(StandIn(vectors.in_width, fault), "scm_core")
    files = {"scm_core.v": core, **bench_files(vectors, latency, interval)}
    for name, text in files.items():
        (folder / name).write_text(text)


def run(folder: Path) -> tuple[int, int]:
    return run_testbench(folder, workdir=folder / "work")


def test_good_core_passes(tmp_path: Path) -> None:
    write_design(tmp_path, standin_vectors(500, in_width=132))
    assert run(tmp_path) == (500, 3)
    log = (tmp_path / "work" / "testbench.log").read_text()
    assert log.splitlines()[-1] == "PASS: 500 vectors, 3 cycles"
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == [
        "scm_core.v",
        "tb_scm_core.v",
        "vectors_in.hex",
        "vectors_out.hex",
    ]


@pytest.mark.parametrize(
    ("index", "count", "errors"),
    [(0, 40, "[34]"), (17, 40, "[34]"), (39, 40, "[34]"), (399, 400, "1")],
)
def test_expected_value_altered_by_one_fails(
    tmp_path: Path, index: int, count: int, errors: str
) -> None:
    good = standin_vectors(count)
    outputs = list(good.outputs)
    outputs[index] ^= 1
    write_design(tmp_path, Vectors(good.inputs, tuple(outputs), good.in_width, good.out_width))
    with pytest.raises(MismatchError, match=f"fails .error: vector {index} gave"):
        run(tmp_path)
    log = (tmp_path / "work" / "testbench.log").read_text()
    # Once in each run that has it; a reset may have come before its result.
    assert re.fullmatch(f"FAIL: {errors} errors, {count} vectors, 3 cycles", log.splitlines()[-1])


@pytest.mark.parametrize(
    ("fault", "complaint"),
    [
        ("value", "vector 5 gave 0102, not 01e9"),
        ("early_valid", "40 of 40 vectors have no result"),
        ("unstable", "a waiting result changed"),
        ("doubled", "vector [0-9]+ gave"),
        ("no_reset", "a result that no sample asked for"),
        ("slow", "vector 0 took 4 cycles, not 3"),
    ],
)
def test_faulty_core_fails(tmp_path: Path, fault: str, complaint: str) -> None:
    write_design(tmp_path, standin_vectors(40), fault=fault)
    with pytest.raises(MismatchError, match=complaint):
        run(tmp_path)


@pytest.mark.parametrize(
    ("fault", "complaint"),
    [("unstable", "a waiting result changed"), ("no_reset", "a result that no sample asked for")],
)
def test_runs_with_stalls_of_some_vectors_find_faults(
    tmp_path: Path, fault: str, complaint: str
) -> None:
    write_design(tmp_path, standin_vectors(400), fault=fault)
    with pytest.raises(MismatchError, match=complaint):
        run(tmp_path)


def test_wrong_interval_fails(tmp_path: Path) -> None:
    write_design(tmp_path, standin_vectors(40), interval=2)
    with pytest.raises(MismatchError, match="vector 1 was taken after 1 cycles, not 2"):
        run(tmp_path)


def test_missing_core_is_a_tool_error(tmp_path: Path) -> None:
    write_design(tmp_path, standin_vectors(4))
    (tmp_path / "scm_core.v").write_text("module other; endmodule\n")
    with pytest.raises(ToolError, match=r"can't compile .*tb_scm_core.v.*scm_core"):
        run(tmp_path)


def test_bench_passes_lint(tmp_path: Path) -> None:
    write_design(tmp_path, standin_vectors(4))
    lint([tmp_path / "tb_scm_core.v", tmp_path / "scm_core.v"], "tb_scm_core")


def test_equal_vectors_give_equal_bytes() -> None:
    vectors = standin_vectors(9)
    assert bench_files(vectors, 3) == bench_files(vectors, 3)
    assert bench_files(vectors, 3)["vectors_out.hex"].splitlines()[:2] == ["// 14 bits", "1339"]


def test_latency_must_be_positive() -> None:
    with pytest.raises(OptionError, match="latency and interval must be at least 1 cycle, not 0"):
        bench_files(standin_vectors(3), 0)
