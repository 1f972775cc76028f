"""A fault in a design, in its files or in the middle of a build, and what is left of it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scm_hw import boards
from scm_hw import build as building
from scm_hw.__main__ import main
from scm_hw.build import BuildOptions, build
from scm_hw.design import Design
from scm_hw.errors import FitError
from scm_hw.rtl import ScmCore
from scm_hw.target.resources import Resources
from scm_hw.verify.check import SIMULATORS
from scm_hw.verify.rows import CheckRows
from tests.hw.commands import (
    command,
    contents,
    quick_build,
    small_model,
)


@pytest.fixture
def earlier(tmp_path: Path) -> dict[str, bytes]:
    """A good build in place, as bytes; the model beside it is another one by now."""
    small_model(tmp_path / "m.npz", seed=2)
    quick_build(tmp_path / "m.npz", tmp_path / "out")
    small_model(tmp_path / "m.npz")
    return contents(tmp_path)


def failing(folder: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """Exit code and the only line of a build in process."""
    argv = ["build", str(folder / "m.npz"), "--out", str(folder / "out"), "--no-synth"]
    handler = signal.getsignal(signal.SIGTERM)
    code = main([*argv, *arguments])
    signal.signal(signal.SIGTERM, handler)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    return code, err


def flip_node(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every core from here on has the second hidden bit inverted."""

    def faulty(self: Design) -> ScmCore:
        ops = [
            replace(op, contents=tuple(1 - bit for bit in op.contents))
            if op.name == "layer1.node1"
            else op
            for op in self.program.ops
        ]
        return ScmCore(replace(self.program, ops=tuple(ops)), self.schedule)

    monkeypatch.setattr(Design, "new_core", faulty)


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_a_wrong_core_fails_the_build_and_is_kept(
    simulator: str,
    tmp_path: Path,
    earlier: dict[str, bytes],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    flip_node(monkeypatch)
    code, line = failing(tmp_path, capsys, "--sim", simulator)
    assert code == 1
    assert re.match(rf"error: {simulator} differs from the interpreter \(full_speed: ", line)
    assert re.search(r"vector 0 gave 0x[0-9a-f]+ for 0x[0-9a-f]+", line)
    assert re.search(
        r"the first stage that differs is cycle \d+, layer1\.node1 "
        r"\(signal layer1\.layer1_node1\w+: (0 for 1|1 for 0)\);",
        line,
    )
    waveform = Path(re.search(r"see the waveform (\S+)$", line)[1])
    assert waveform.is_relative_to(tmp_path / "out.failed")
    assert waveform.stat().st_size > 300
    now = contents(tmp_path)
    assert {name: now.pop(name) for name in earlier} == earlier
    assert {name.split("/")[0] for name in now} == {"out.failed"}
    assert {"out.failed/m_core.v", "out.failed/tb_m_core.v"} <= now.keys()


def test_a_wrong_expectation_names_its_vector(
    tmp_path: Path,
    earlier: dict[str, bytes],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pack_rows = CheckRows.vectors

    def altered(self: CheckRows, design: Design, chosen: Any = None) -> Any:
        vectors = pack_rows(self, design, chosen)
        outputs = list(vectors.outputs)
        outputs[57] ^= 1
        return type(vectors)(vectors.inputs, tuple(outputs), vectors.in_width, vectors.out_width)

    monkeypatch.setattr(CheckRows, "vectors", altered)
    code, line = failing(tmp_path, capsys, "--sim", "icarus")
    assert code == 1
    assert "(full_speed: 1 wrong results; vector 57 gave" in line
    assert re.search(r"; the first stage that differs is \S+ \(signal out_data\[", line)
    assert {
        k: v for k, v in contents(tmp_path).items() if not k.startswith("out.failed")
    } == earlier


def test_files_that_fail_their_own_checks_are_not_handed_out(
    tmp_path: Path,
    earlier: dict[str, bytes],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(building, "check_core", lambda *_: [])
    bench = building.testbench_files
    monkeypatch.setattr(
        building,
        "testbench_files",
        lambda vectors, latency, *more, **how: bench(vectors, latency + 1, *more, **how),
    )
    code, line = failing(tmp_path, capsys, "--sim", "icarus")
    assert code == 1
    assert re.match(r"error: tb_m_core\.v fails \(error: vector 0 took", line)
    log = Path(re.search(r"see (\S+)$", line)[1])
    assert log.is_relative_to(tmp_path / "out.failed")
    assert "FAIL" in log.read_text()
    kept = {k: v for k, v in contents(tmp_path).items() if not k.startswith("out.failed")}
    assert kept == earlier


def test_a_design_too_large_after_synthesis_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = small_model(tmp_path / "m.npz")
    monkeypatch.setattr(building, "synthesise", lambda *_, **__: Resources(lut=70_000, ff=1))
    how = BuildOptions(out=tmp_path / "out", simulators=())
    with pytest.raises(FitError, match=r"not need 70,000 LUT of 63,400 \(110%\)"):
        build(model, boards.get("arty-a7"), None, how)
    assert contents(tmp_path).keys() == {"m.npz"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_leaves_nothing_behind(
    tmp_path: Path, earlier: dict[str, bytes], number: signal.Signals
) -> None:
    aside = tmp_path.with_name(f"{tmp_path.name}.aside")
    for name in ("bin", "tmp"):
        (aside / name).mkdir(parents=True)
    # A simulator that says who it is and then never ends.
    vvp = aside / "bin" / "vvp"
    vvp.write_text(
        f"#!/bin/sh\necho $$ > {aside}/pid.new; mv {aside}/pid.new {aside}/pid\nsleep 99\n"
    )
    vvp.chmod(0o755)
    environment = os.environ | {
        "PATH": f"{aside / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "TMPDIR": str(aside / "tmp"),
    }
    argv = command("build", "m.npz", "--out", "out", "--sim", "icarus", "--no-synth")
    with subprocess.Popen(
        argv,
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        wait_for(lambda: (aside / "pid").exists() or process.poll() is not None)
        simulator = int((aside / "pid").read_text())
        assert contents(tmp_path) != earlier
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (130, "")
    assert err == "interrupted: nothing was written, an earlier build is untouched\n"
    wait_for(lambda: not Path(f"/proc/{simulator}").exists())
    assert contents(tmp_path) == earlier
    assert contents(aside / "tmp") == {}


def wait_for(condition: Any, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)
