"""All benchmarks by one command: what is done stays done, on the same sources alone."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pytest

from bench import everything
from bench.everything import STEPS, Step, main


def step(name: str, code: str) -> Step:
    return Step(name, ("-c", code), ("-c", code))


def counted(folder: Path, name: str) -> Step:
    """A step that leaves a line each time that it is run."""
    return step(name, f"open({str(folder / name)!r}, 'a').write('run\\n')")


def runs(folder: Path, name: str) -> int:
    return len((folder / name).read_text().splitlines())


def test_what_is_done_is_not_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    steps, manifest = [counted(tmp_path, "one"), counted(tmp_path, "two")], tmp_path / "m.json"
    argv = ["--manifest", str(manifest)]
    assert main([*argv, "--only", "one"], steps) == 0
    assert main(argv, steps) == 0
    assert [runs(tmp_path, name) for name in ("one", "two")] == [1, 1]
    assert "bench: one is done" in capsys.readouterr().out
    monkeypatch.setattr(everything, "source_digest", lambda: "of later sources")
    assert main(argv, steps) == 0
    assert [runs(tmp_path, name) for name in ("one", "two")] == [2, 2]


def test_a_failed_step_is_named_and_run_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = tmp_path / "m.json"
    steps = [step("bad", "raise SystemExit(3)"), counted(tmp_path, "good")]
    for _ in range(2):
        assert main(["--manifest", str(manifest)], steps) == 1
        assert capsys.readouterr().err == "bench: failed: bad\n"
    assert runs(tmp_path, "good") == 1
    found = json.loads(manifest.read_text())
    assert found["steps"]["bad"]["exit"] == 3 and found["steps"]["good"]["exit"] == 0


def test_the_manifest_says_what_was_run_on(tmp_path: Path) -> None:
    main(["--manifest", str(tmp_path / "m.json"), "--quick"], [counted(tmp_path, "one")])
    found = json.loads((tmp_path / "m.json").read_text())
    assert found["packages"]["numpy"] and found["packages"]["amaranth"]
    assert found["machine"]["python"] == ".".join(map(str, sys.version_info[:3]))
    assert found["steps"]["one --quick"]["ground"] == found["digest"]


def test_every_step_is_a_module_that_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    for one in STEPS:
        assert importlib.util.find_spec(one.full[1]) is not None
    assert main(["--list"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(STEPS)
