"""Right and wrong cores in the three simulators."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from scm_hw.emit import testbench_files as bench_files
from scm_hw.errors import MismatchError, ToolError
from scm_hw.rtl import to_verilog
from scm_hw.sim.vectors import Probe, Vectors
from scm_hw.tools.process import kill_all, run_tool, telling_line
from scm_hw.verify import lint, run_amaranth, run_icarus, run_testbench, run_verilator
from tests.hw.standin import FoldedStandIn, StandIn, standin_vectors

FAULTS = {
    "value": "full_speed: 1 wrong results; vector 5 gave 0x102 for 0x1e9",
    "early_valid": "ready_after_valid: 40 samples without a result",
    "unstable": "stalled_output: cycle 8: out_data changed while it waited for out_ready",
    "doubled": "stalled_output: 14 samples without a result",
    "no_reset": "reset_in_mid_stream: 7 results that no sample asked for",
    "slow": "full_speed: latency of vector 0 is 4 cycles, not 3",
}


def write_core(folder: Path, fault: str | None = None) -> Path:
    path = folder / "scm_core.v"
    path.write_text(to_verilog(StandIn(fault=fault), "scm_core"))
    return path


def probes(index: int) -> list[Probe]:
    """What the registers of a good stand-in hold for that vector."""
    word = standin_vectors(40).inputs[index]
    low, high = word & 0xFFF, word >> 12
    return [
        Probe("no_such_signal", 1, 0, "nowhere"),
        Probe("in_valid", 0, 1, "one bit"),
        # Modulo its width, a negative value is the same.
        Probe("word", 1, word - (1 << 24), "signed", True),
        Probe("out_data", 3, 3 * low + high, "sum"),
        Probe("tripled", 2, 3 * low, "product"),
        Probe("word", 1, word, "input register"),
    ]


def test_amaranth_passes_a_good_core(tmp_path: Path) -> None:
    result = run_amaranth(StandIn, standin_vectors(40), 3, waveform=tmp_path / "core.vcd")
    assert (result.failures, result.vectors, result.mismatches) == ((), 40, 0)
    assert (result.cycles, result.interval) == (3, 1)
    assert (tmp_path / "core.vcd").stat().st_size > 1000
    result.check()


@pytest.mark.parametrize("fault", FAULTS)
def test_amaranth_finds_every_fault(fault: str) -> None:
    result = run_amaranth(lambda: StandIn(fault=fault), standin_vectors(40), 3)
    assert any(text.startswith(FAULTS[fault]) for text in result.failures), result.failures
    with pytest.raises(MismatchError, match="amaranth differs from the interpreter"):
        result.check()


def test_a_wrong_interval_is_found() -> None:
    result = run_amaranth(StandIn, standin_vectors(40), 3, 2)
    assert result.failures == ("full_speed: initiation interval of vector 0 is 1 cycles, not 2",)


def test_a_single_vector_is_enough() -> None:
    result = run_amaranth(StandIn, standin_vectors(1), 3)
    assert result.ok
    assert (result.vectors, result.cycles, result.interval) == (1, 3, 1)
    vectors = standin_vectors(1)
    wrong = Vectors(vectors.inputs, (vectors.outputs[0] ^ 1,), 24, 14)
    assert run_amaranth(StandIn, wrong, 3).first_mismatch.index == 0


def test_a_folded_core_is_timed_too(tmp_path: Path) -> None:
    result = run_amaranth(FoldedStandIn, standin_vectors(40), 5, 6)
    assert (result.failures, result.cycles, result.interval) == ((), 5, 6)
    files = {"scm_core.v": to_verilog(FoldedStandIn(), "scm_core")}
    files |= bench_files(standin_vectors(40), 5, 6)
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert run_testbench(tmp_path, workdir=tmp_path / "work") == (40, 5)
    core = tmp_path / "scm_core.v"
    result = run_icarus(core, standin_vectors(40), 5, 6, workdir=tmp_path / "work")
    assert (result.failures, result.cycles, result.interval) == ((), 5, 6)


@pytest.mark.parametrize("run", [run_icarus, run_verilator])
def test_cocotb_passes_a_good_core(tmp_path: Path, run: object) -> None:
    result = run(write_core(tmp_path), standin_vectors(400), 3, workdir=tmp_path / "work")
    assert result.failures == ()
    assert (result.vectors, result.mismatches) == (400, 0)
    assert (result.cycles, result.interval) == (3, 1)
    assert re.fullmatch(r"\d+\.[\d.]+", result.version)
    assert result.waveform is None


@pytest.mark.parametrize("run", [run_icarus, run_verilator])
def test_cocotb_names_vector_stage_and_waveform(tmp_path: Path, run: object) -> None:
    core = write_core(tmp_path, "value")
    result = run(core, standin_vectors(40), 3, workdir=tmp_path / "work", probes=probes)
    assert FAULTS["value"] in result.failures
    assert result.first_mismatch.index == 5
    low = standin_vectors(40).inputs[5] & 0xFFF
    assert result.stage == f"product (signal tripled: 0 for {3 * low})"
    assert result.waveform.stat().st_size > 300
    with pytest.raises(MismatchError, match=r"vector 5 .* first stage that differs is product"):
        result.check()


@pytest.mark.parametrize("fault", sorted(FAULTS.keys() - {"value"}))
def test_icarus_finds_faults_of_flow(tmp_path: Path, fault: str) -> None:
    result = run_icarus(
        write_core(tmp_path, fault), standin_vectors(40), 3, workdir=tmp_path / "work"
    )
    assert any(text.startswith(FAULTS[fault]) for text in result.failures), result.failures
    assert result.waveform.exists()


def test_icarus_leaves_a_waveform_when_asked(tmp_path: Path) -> None:
    result = run_icarus(
        write_core(tmp_path), standin_vectors(5), 3, workdir=tmp_path / "work", waves=True
    )
    assert result.ok
    assert result.waveform.stat().st_size > 300


def test_broken_verilog_shows_the_line(tmp_path: Path) -> None:
    (tmp_path / "scm_core.v").write_text("module scm_core(input clk; endmodule\n")
    with pytest.raises(ToolError, match=r"can't simulate in icarus.*scm_core\.v:1: .*error"):
        run_icarus(tmp_path / "scm_core.v", standin_vectors(2), 3, workdir=tmp_path / "work")


def test_hanging_simulation_is_killed(tmp_path: Path) -> None:
    endless = "module scm_core(input clk); reg a = 0; initial while (1) a = ~a; endmodule\n"
    (tmp_path / "scm_core.v").write_text(endless)
    with pytest.raises(ToolError, match="can't wait longer for icarus: it has run for 3 s"):
        run_icarus(
            tmp_path / "scm_core.v", standin_vectors(2), 3, workdir=tmp_path / "work", timeout=3
        )


def test_run_tool_kills_what_a_program_left_running(tmp_path: Path) -> None:
    script = (
        "import subprocess, sys; p = subprocess.Popen(['sleep', '60']); print(p.pid, flush=True)"
    )
    log = tmp_path / "log"
    start = time.monotonic()
    argv = [sys.executable, "-c", script]
    assert run_tool(argv, name="python", cwd=tmp_path, log=log, timeout=30) == 0
    assert time.monotonic() - start < 30
    assert ends(int(log.read_text()))


def test_interrupt_kills_the_children(tmp_path: Path) -> None:
    script = (
        "import sys, pathlib; from scm_hw.tools.process import run_tool\n"
        "run_tool(['sh', '-c', 'echo $$; sleep 60 & echo $!; wait'], name='sh',\n"
        "         cwd=pathlib.Path(sys.argv[1]), log=pathlib.Path(sys.argv[1]) / 'log',\n"
        "         timeout=60, on_line=lambda line: print(line, flush=True))\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as parent:
        children = [int(parent.stdout.readline()) for _ in range(2)]
        assert all(running(child) for child in children)
        parent.send_signal(2)
        assert parent.wait(20) != 0
    assert all(ends(child) for child in children)


def running(pid: int) -> bool:
    """Whether a process lives; one that is dead and not yet reaped does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (ProcessLookupError, FileNotFoundError):
        return False
    return state != "Z"


def ends(pid: int) -> bool:
    """Whether a process that was killed is gone soon."""
    deadline = time.monotonic() + 5
    while running(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not running(pid)


def test_missing_program_is_a_tool_error(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="can't run nonesuch: "):
        run_tool(["nonesuch"], name="nonesuch", cwd=tmp_path, log=tmp_path / "l", timeout=5)


def test_telling_line_is_the_one_with_the_error(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("start\n  Error: bad thing\nend\n")
    assert telling_line(tmp_path / "log") == "Error: bad thing"
    (tmp_path / "log").write_text("start\nend\n")
    assert telling_line(tmp_path / "log") == "end"
    (tmp_path / "log").write_text("")
    assert telling_line(tmp_path / "log") == "no output"


def test_lint_passes_amaranth_output_and_refuses_a_truncation(tmp_path: Path) -> None:
    core = write_core(tmp_path)
    lint([core], "scm_core")
    bad = "module bad(input [3:0] a, output [1:0] b);\n  assign b = a;\nendmodule\n"
    (tmp_path / "bad.v").write_text(bad)
    with pytest.raises(ToolError, match=r"bad fails Verilator's lint: .%Warning-WIDTHTRUNC"):
        lint([tmp_path / "bad.v"], "bad")


def test_a_full_disk_is_the_telling_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder of the log, or that for temporary files; one that is not there is no matter."""
    (tmp_path / "log").write_text("Error: bad thing\n")
    full: set[Path] = set()
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(
        shutil, "disk_usage", lambda path: usage._replace(free=0 if path in full else 1 << 30)
    )
    monkeypatch.setenv("TMPDIR", str(tmp_path / "gone"))
    assert telling_line(tmp_path / "log") == "Error: bad thing"
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    full.add(scratch)
    assert telling_line(tmp_path / "log") == f"no space left in {scratch}"
    full.add(tmp_path)
    assert telling_line(tmp_path / "log") == f"no space left in {tmp_path}"


def test_a_program_that_hangs_without_a_log(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match=r"it has run for 0.2 s \(last line: ''\)"):
        run_tool(["sleep", "60"], name="s", cwd=tmp_path, log=tmp_path / "no" / "log", timeout=0.2)


def test_programs_of_other_threads_can_be_stopped(tmp_path: Path) -> None:
    codes: list[int] = []
    argv = ["sh", "-c", f"touch {tmp_path}/on; exec sleep 60"]
    thread = threading.Thread(
        target=lambda: codes.append(
            run_tool(argv, name="s", cwd=tmp_path, log=tmp_path / "log", timeout=60)
        )
    )
    thread.start()
    deadline = time.monotonic() + 20
    while not (tmp_path / "on").exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    kill_all()
    thread.join(20)
    assert codes == [-9]
