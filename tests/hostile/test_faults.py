"""Killed builds, two builds at once, crashing simulators: nothing is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from scm_hw.__main__ import main
from scm_hw.common.folders import replacing, write_files
from scm_hw.common.outputs import folder_of
from scm_hw.errors import OptionError
from scm_hw.verify import check, run_icarus
from tests.hw.commands import command, contents, quick_build, run, small_model

MARK = folder_of("an earlier one", "mark")
QUICK = ("--no-sim", "--no-synth")
PROVEN = ("--sim", "icarus", "--no-synth")


@pytest.fixture
def earlier(tmp_path: Path) -> dict[str, bytes]:
    """A build in place, and another model beside it by now."""
    small_model(tmp_path / "m.npz", seed=2)
    quick_build(tmp_path / "m.npz", tmp_path / "out")
    small_model(tmp_path / "m.npz")
    return contents(tmp_path)


@pytest.fixture
def simulator(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], dict[str, str]]:
    """An environment whose simulator does what a line of shell says."""

    def environment(line: str) -> dict[str, str]:
        folder = tmp_path_factory.mktemp("bin")
        vvp = folder / "vvp"
        vvp.write_text(f"#!/bin/sh\n{line}\n")
        vvp.chmod(0o755)
        return {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}

    return environment


def started(folder: Path, environment: dict[str, str]) -> subprocess.Popen[str]:
    """A build that has come as far as its simulator, which does not end."""
    process = subprocess.Popen(
        command("build", "m.npz", "--out", "out", *PROVEN),
        cwd=folder,
        env=os.environ | environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    mark = folder.with_name(f"{folder.name}.mark")
    deadline = time.monotonic() + 120
    while not mark.exists():
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    mark.unlink()
    return process


def hanging(folder: Path) -> str:
    return f"touch {folder.with_name(f'{folder.name}.mark')}; exec sleep 60"


def test_a_killed_build_is_forgotten_by_the_next(
    tmp_path: Path, earlier: dict[str, bytes], simulator: Callable[[str], dict[str, str]]
) -> None:
    process = started(tmp_path, simulator(hanging(tmp_path)))
    assert process.stderr is not None
    # Another build into the same folder, meanwhile: one line, and nothing happens to either.
    second = run("build", "m.npz", "--out", "out", *QUICK, cwd=tmp_path)
    assert second.returncode == 2
    assert second.stderr.startswith("error: output folder ")
    assert "must not be built by two at once; wait for the other build" in second.stderr
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stderr.close()
    left = contents(tmp_path)
    assert {name: left[name] for name in earlier} == earlier
    assert run("build", "m.npz", "--out", "out", *QUICK, cwd=tmp_path).returncode == 0
    assert contents(tmp_path).keys() == earlier.keys()


def test_an_earlier_build_that_was_set_aside_comes_back(tmp_path: Path) -> None:
    """As if killed between the two renames."""
    aside = tmp_path / ".out.abcd1234.old"
    write_files(_made(aside), {"mark": "earlier"})
    write_files(_made(tmp_path / ".out.abcd1234.new"), {"mark": "half"})
    write_files(_made(tmp_path / ".out.b.abcd1234.new"), {"mark": "of another"})
    with pytest.raises(KeyError), replacing(tmp_path / "out", MARK):
        raise KeyError
    assert contents(tmp_path) == {"out/mark": b"earlier", ".out.b.abcd1234.new/mark": b"of another"}


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def test_two_at_once_are_told_apart(tmp_path: Path) -> None:
    with replacing(tmp_path / "out", MARK) as folder:
        write_files(folder, {"mark": "first"})
        with (
            pytest.raises(OptionError, match="must not be built by two at once"),
            replacing(tmp_path / "out", MARK),
        ):
            pass
        with replacing(tmp_path / "other", MARK) as other:
            write_files(other, {"mark": "other"})
    assert contents(tmp_path) == {"out/mark": b"first", "other/mark": b"other"}


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("kill -SEGV $$", "can't simulate in icarus: it ended with code"),
        ("echo 'Error: out of licences'; exit 3", "can't simulate in icarus: it ended with code"),
        ("exit 0", "can't simulate in icarus: it ended with code"),
    ],
)
def test_a_simulator_that_crashes_is_one_line(
    line: str,
    complaint: str,
    tmp_path: Path,
    earlier: dict[str, bytes],
    simulator: Callable[[str], dict[str, str]],
) -> None:
    done = run("build", "m.npz", "--out", "out", *PROVEN, cwd=tmp_path, env=simulator(line))
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert complaint in done.stderr
    # The log that it names is there.
    assert Path(done.stderr.split("; see ")[-1].strip()).exists()
    left = {k: v for k, v in contents(tmp_path).items() if not k.startswith("out.failed")}
    assert left == earlier
    quick_build(tmp_path / "m.npz", tmp_path / "out")
    assert contents(tmp_path).keys() == earlier.keys()


def test_a_simulator_that_hangs_is_stopped(
    tmp_path: Path,
    earlier: dict[str, bytes],
    simulator: Callable[[str], dict[str, str]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Ten minutes are a few seconds here."""
    monkeypatch.setenv("PATH", simulator("exec sleep 61.25")["PATH"])
    monkeypatch.setattr(check, "run_icarus", partial(run_icarus, timeout=8))
    monkeypatch.chdir(tmp_path)
    assert main(["build", "m.npz", "--out", "out", *PROVEN]) == 1
    complaint = capsys.readouterr().err
    assert complaint.startswith("error: can't wait longer for icarus: it has run for 8 s")
    assert complaint.count("\n") == 1
    left = {k: v for k, v in contents(tmp_path).items() if not k.startswith("out.failed")}
    assert left == earlier
    running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    assert "sleep 61.25" not in running.stdout


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    small_model(tmp_path / "m.npz")
    done = run("build", "m.npz", "--out", "/proc/out", *QUICK, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("error: output folder /proc/out can't be written (")
    assert done.stderr.count("\n") == 1
