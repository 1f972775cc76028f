"""Which vectors go where, and what happens to a design that fails."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from scm_hw import boards
from scm_hw.common.folders import write_files
from scm_hw.design import Design, Options, compile_model
from scm_hw.errors import MismatchError, OptionError, ToolError
from scm_hw.sim.vectors import Vectors
from scm_hw.verify import SimResult, check
from scm_hw.verify.check import (
    AMARANTH_VECTORS,
    SIMULATORS,
    Tools,
    check_core,
    check_files,
    check_interface,
    check_netlist,
    choose_tools,
    chosen_rows,
    parse_simulators,
    select_vectors,
    simulate,
)
from scm_hw.verify.rows import CheckRows, check_rows
from tests.hw.commands import SMALL
from tests.support import random_model


@pytest.fixture(scope="module")
def design() -> Design:
    return compile_model(random_model(1, **SMALL), boards.get("arty-a7"))


@pytest.fixture(scope="module")
def rows(design: Design) -> CheckRows:
    return check_rows(design, design.model.evaluation)


def silent(_: str) -> None:
    pass


def verdict(simulator: str, *failures: str, waveform: Path | None = None) -> SimResult:
    return SimResult(simulator, "1.0", 216, 0, 1, 1, failures=failures, waveform=waveform)


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        ("icarus", ("icarus",)),
        ("Verilator, amaranth", ("verilator", "amaranth")),
        ("icarus,", ("icarus",)),
    ],
)
def test_simulators_are_chosen_by_name(text: str, chosen: tuple[str, ...]) -> None:
    assert parse_simulators(text) == chosen


@pytest.mark.parametrize(("text", "bad"), [("icarus,xsim", "'xsim'"), ("", "''"), (",", "','")])
def test_an_unknown_simulator_is_named(text: str, bad: str) -> None:
    with pytest.raises(OptionError, match=f"one of amaranth, icarus, verilator, not {bad}"):
        parse_simulators(text)


@pytest.mark.parametrize("evaluated", [True, False])
def test_amaranth_sees_evaluation_rows_and_corners(
    design: Design, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, evaluated: bool
) -> None:
    seen: list[Vectors] = []
    monkeypatch.setattr(
        check, "run_amaranth", lambda _core, vectors, *_, **__: seen.append(vectors)
    )
    rows = check_rows(design, design.model.evaluation if evaluated else None)
    simulate(design, rows, "amaranth", tmp_path)
    every = rows.vectors(design)
    assert seen[0] == every.head(AMARANTH_VECTORS)
    many = replace(design.model.evaluation, inputs=design.model.evaluation.inputs.repeat(4, 0))
    simulate(design, check_rows(design, many), "amaranth", tmp_path)
    half = AMARANTH_VECTORS // 2
    assert len(seen[1]) == AMARANTH_VECTORS
    corners = [0x00, 0xFF, 0x0F, 0xF0, 0xF0, 0x0F]
    assert sorted(seen[1].inputs[half : half + 6]) == sorted(corners)


def test_amaranth_is_given_the_core_itself(design: Design, rows: CheckRows, tmp_path: Path) -> None:
    result = simulate(design, rows, "amaranth", tmp_path, waves=True)
    assert (result.failures, result.vectors) == ((), AMARANTH_VECTORS)
    assert result.cycles == design.schedule.latency
    assert result.waveform == tmp_path / "amaranth.vcd"
    assert result.waveform.stat().st_size > 1000


def test_the_first_simulator_that_differs_ends_the_proof(
    design: Design, rows: CheckRows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []

    def fake(_design: Design, _rows: CheckRows, simulator: str, folder: Path) -> SimResult:
        write_files(folder, {"wave.fst": simulator})
        if simulator == "amaranth":
            return verdict(simulator)
        return verdict(simulator, "full_speed: wrong", waveform=folder / "wave.fst")

    monkeypatch.setattr(check, "simulate", fake)
    keep = tmp_path / "design.failed"
    keep.mkdir()
    write_files(keep, {"stale.txt": "", "failed.txt": "of an earlier failure"})
    with pytest.raises(MismatchError, match=rf"icarus differs.*{keep / 'wave.fst'}$"):
        check_core(
            design,
            rows,
            ("amaranth", "icarus", "verilator"),
            tmp_path / "work",
            keep,
            steps.append,
        )
    assert steps == ["simulating in amaranth", "simulating in icarus"]
    assert (keep / "wave.fst").read_text() == "icarus"
    assert (keep / "failed.txt").read_text().startswith("icarus differs")
    assert {path.name for path in keep.iterdir()} == {
        "failed.txt",
        "scm_core.v",
        "wave.fst",
        "tb_scm_core.v",
        "vectors_in.hex",
        "vectors_out.hex",
    }


def test_all_verdicts_are_given_in_order(
    design: Design, rows: CheckRows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check, "simulate", lambda _d, _r, simulator, _f: verdict(simulator))
    found = check_core(
        design, rows, ("icarus", "amaranth"), tmp_path / "work", tmp_path / "failed", silent
    )
    assert [result.simulator for result in found] == ["icarus", "amaranth"]
    assert not (tmp_path / "failed").exists()


@pytest.fixture
def handed_out(design: Design, rows: CheckRows, tmp_path: Path) -> Path:
    """Core and test bench as a build writes them."""
    folder = tmp_path / "design"
    folder.mkdir()
    files = check.testbench_files(rows.vectors(design), design.schedule.latency)
    write_files(folder, {"scm_core.v": design.verilog, **files})
    return folder


def test_good_files_pass(design: Design, handed_out: Path, tmp_path: Path) -> None:
    steps: list[str] = []
    before = sorted(handed_out.iterdir())
    check_files(handed_out, design, tmp_path / "work", steps.append)
    assert steps == ["running the Verilog test bench", "linting"]
    assert sorted(handed_out.iterdir()) == sorted([*before, handed_out / "activity.saif"])


def test_an_expected_value_off_by_one_fails(
    design: Design, handed_out: Path, tmp_path: Path
) -> None:
    path = handed_out / "vectors_out.hex"
    lines = path.read_text().splitlines()
    lines[8] = f"{int(lines[8], 16) ^ 1:0{len(lines[8])}x}"
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(MismatchError, match=r"tb_scm_core\.v fails.*vector 7 gave"):
        check_files(handed_out, design, tmp_path / "work", silent)


def test_other_cycles_than_scheduled_fail(
    design: Design, handed_out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = design.schedule.latency + 1
    monkeypatch.setattr(check, "run_testbench", lambda *_, **__: (216, late))
    message = rf"must take {late - 1} cycles, not {late} \(over 216 vectors\)"
    with pytest.raises(MismatchError, match=message):
        check_files(handed_out, design, tmp_path / "work", silent)


@pytest.mark.parametrize("name", ["scm_core.v", "scm_top.v"])
def test_lint_sees_everything_that_is_emitted(
    design: Design,
    handed_out: Path,
    tmp_path: Path,
    name: str,
) -> None:
    module = name.removesuffix(".v")
    truncation = "(input [3:0] a, output [1:0] b);\n  assign b = a;\nendmodule\n"
    (handed_out / name).write_text(f"module {module}{truncation}")
    with pytest.raises(ToolError, match=rf"{module} fails Verilator's lint.*WIDTHTRUNC"):
        check_files(handed_out, design, tmp_path / "work", silent, Tools(bench=False))


def test_a_fault_of_the_core_in_a_top_is_the_core_s(
    design: Design, handed_out: Path, tmp_path: Path
) -> None:
    ports = "(input [3:0] a, output [1:0] b);\n"
    (handed_out / "scm_core.v").write_text(f"module scm_core{ports}  assign b = a;\nendmodule\n")
    inside = "  scm_core core (.a(a), .b(b));\n"
    (handed_out / "scm_top.v").write_text(f"module scm_top{ports}{inside}endmodule\n")
    with pytest.raises(ToolError, match=r"^scm_core fails Verilator's lint.*WIDTHTRUNC"):
        check_files(handed_out, design, tmp_path / "work", silent, Tools(bench=False))


def test_a_large_core_is_interpreted_less_and_says_so(
    design: Design, rows: CheckRows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Icarus and the test bench see some of the vectors, Verilator all, Amaranth none."""
    every = len(rows.inputs)
    assert len(chosen_rows(design, rows)) == every
    monkeypatch.setattr(check, "INTERPRETED_STEPS", 40 * len(design.program.ops))
    monkeypatch.setattr(check, "AMARANTH_OPERATIONS", len(design.program.ops) - 1)
    monkeypatch.setattr(check, "run_icarus", lambda _source, vectors, *_, **__: vectors)
    monkeypatch.setattr(check, "run_verilator", lambda _source, vectors, *_, **__: vectors)
    assert len(select_vectors(design, rows)) == 40
    for simulator, count in (("icarus", 40), ("verilator", every)):
        assert len(simulate(design, rows, simulator, tmp_path)) == count
    monkeypatch.setattr(check, "simulate", lambda *args, **_: verdict(args[2]))
    told: list[str] = []
    check_core(design, rows, SIMULATORS, tmp_path / "all", tmp_path, told.append)
    assert told == [
        "leaving out amaranth: its simulator is too slow for that many operations",
        f"simulating in icarus (40 of {every} vectors, as the core is large)",
        "simulating in verilator",
    ]


def test_amaranth_is_left_out_for_many_lanes(
    rows: CheckRows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = random_model(1, **SMALL)
    folded = compile_model(model, boards.get("arty-a7"), Options(fold="2x2"))
    monkeypatch.setattr(check, "simulate", lambda *args, **_: verdict(args[2]))
    for lanes, found in ((4, ["amaranth", "icarus"]), (3, ["icarus"])):
        monkeypatch.setattr(check, "AMARANTH_LANES", lanes)
        told: list[str] = []
        results = check_core(
            folded, rows, ("amaranth", "icarus"), tmp_path / str(lanes), tmp_path, told.append
        )
        assert [result.simulator for result in results] == found
        assert ("leaving out amaranth: its simulator is too slow for that many lanes" in told) == (
            lanes == 3
        )
    # Alone it is not left out, or nothing would be proven.
    (only,) = check_core(folded, rows, ("amaranth",), tmp_path / "alone", tmp_path, silent)
    assert only.simulator == "amaranth"


def test_a_netlist_that_differs_without_a_waveform(
    design: Design, rows: CheckRows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check, "run_netlist", lambda *_, **__: verdict("netlist", "late"))
    work = tmp_path / "work"
    work.mkdir()
    with pytest.raises(MismatchError, match="netlist differs"):
        check_netlist(design, rows, work / "netlist.v", work, tmp_path / "kept", silent)
    assert (tmp_path / "kept" / "tb_scm_core.v").exists()


def test_other_families_have_no_activity_for_vivado(
    handed_out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lattice = compile_model(random_model(1, **SMALL), boards.get("icebreaker"))
    asked: list[Path | None] = []

    def bench(*_: object, activity: Path | None, **__: object) -> tuple[int, int]:
        asked.append(activity)
        return 216, lattice.schedule.latency

    monkeypatch.setattr(check, "run_testbench", bench)
    monkeypatch.setattr(check, "lint", lambda *_: None)
    check_files(handed_out, lattice, tmp_path / "work", silent)
    assert asked == [None]
    assert not (handed_out / "activity.saif").exists()


def test_wrappers_are_played_where_cocotb_can(
    rows: CheckRows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrapped = compile_model(
        random_model(1, **SMALL), boards.get("arty-a7"), Options(interface="axis")
    )
    played: list[str] = []
    monkeypatch.setattr(check, "lint", lambda *_: None)
    monkeypatch.setattr(check, "run_interface", lambda *args, **_: played.append(args[5]))
    check_interface(tmp_path, wrapped, rows, Tools(), tmp_path, silent)
    assert played == ["icarus", "verilator"]


def without(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    monkeypatch.setattr(
        check, "missing", lambda name: f"can't run {name}: gone" if name in names else None
    )


def test_all_tools_that_are_here_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch)
    assert choose_tools(None) == choose_tools(check.SIMULATORS) == Tools()
    assert choose_tools(["amaranth"]) == Tools(("amaranth",))
    assert choose_tools([]) == Tools((), bench=False, lint=False)


def test_what_a_missing_tool_would_do_is_left_out_and_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    without(monkeypatch, "icarus")
    bench = "the Verilog test bench and switching activity, which need icarus"
    simulation = "simulation in icarus (can't run icarus: gone)"
    assert choose_tools(None) == Tools(
        ("amaranth", "verilator"), bench=False, left_out=(simulation, bench)
    )
    assert choose_tools(["amaranth"]) == Tools(("amaranth",), bench=False, left_out=(bench,))
    without(monkeypatch, "icarus", "verilator")
    found = choose_tools(["amaranth"])
    assert found.left_out == (bench, "lint, which needs verilator") and not found.lint


@pytest.mark.parametrize(
    ("chosen", "gate_sim"), [(["icarus"], False), (["amaranth"], True), (None, True)]
)
def test_a_tool_that_is_needed_is_named_first(
    monkeypatch: pytest.MonkeyPatch, chosen: list[str] | None, gate_sim: bool
) -> None:
    without(monkeypatch, "icarus")
    with pytest.raises(ToolError, match=r"^can't run icarus: gone$"):
        choose_tools(chosen, gate_sim=gate_sim)
    without(monkeypatch, "icarus", "verilator")
    with pytest.raises(ToolError) as refused:
        choose_tools(None)
    assert str(refused.value) == (
        "can't simulate the Verilog: can't run icarus: gone and can't run verilator: gone; install "
        "one of icarus and verilator, or skip the simulations with --no-sim"
    )
