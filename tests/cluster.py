"""A Dask cluster on loopback: a scheduler and workers, each a process that can be killed."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.support import REPOSITORY

PATIENCE = 60.0


LOCAL = ("--host", "127.0.0.1", "--no-dashboard")


@dataclass
class Cluster:
    """Processes of a scheduler and its workers."""

    address: str
    folder: Path
    options: tuple[str, ...]
    workers: list[subprocess.Popen] = field(default_factory=list)

    def hire(self) -> None:
        """One more worker of one thread, without a nanny: the dead stay dead."""
        words = ["worker", self.address, *LOCAL, "--no-nanny", "--nthreads", "1", *self.options]
        words += ["--name", f"worker{len(self.workers)}"]
        self.workers.append(_started(*words, cwd=self.folder))


@contextlib.contextmanager
def cluster(folder: Path, workers: int, *options: str) -> Iterator[Cluster]:
    """A scheduler with so many workers."""
    about = folder / "scheduler.json"
    words = ("scheduler", *LOCAL, "--port", "0", "--scheduler-file", about)
    with contextlib.ExitStack() as at_end:
        scheduler = _started(*words, cwd=folder)
        at_end.callback(_end, [scheduler])
        # The file is there before it is written.
        _wait(lambda: about.exists() and about.read_text().endswith("}"), scheduler)
        there = Cluster(json.loads(about.read_text())["address"], folder, options)
        at_end.callback(_end, there.workers)
        for _ in range(workers):
            there.hire()
        yield there


def _end(processes: list[subprocess.Popen]) -> None:
    for process in processes:
        process.kill()
        process.wait()


def _started(*words: str | Path, cwd: Path) -> subprocess.Popen:
    argv = [sys.executable, "-m", "dask", *map(str, words)]
    quiet = subprocess.DEVNULL
    # Functions of the tests travel by name.
    env = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    return subprocess.Popen(argv, cwd=cwd, env=env, stdout=quiet, stderr=quiet)


def _wait(ready: Callable[[], bool], process: subprocess.Popen) -> None:
    end = time.monotonic() + PATIENCE
    while not ready():
        assert time.monotonic() < end and process.poll() is None
        time.sleep(0.05)
