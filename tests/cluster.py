"""A Dask cluster on loopback: a scheduler and workers, each a process that can be killed."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support import REPOSITORY

PATIENCE = 60.0


@dataclass
class Cluster:
    """Processes of a scheduler and its workers."""

    address: str
    workers: list[subprocess.Popen]


@contextlib.contextmanager
def cluster(folder: Path, workers: int, *options: str) -> Iterator[Cluster]:
    """A scheduler with so many workers of one thread each, without nannies: the dead stay dead."""
    about = folder / "scheduler.json"
    local = ("--host", "127.0.0.1", "--no-dashboard")
    processes = [
        _started("scheduler", *local, "--port", "0", "--scheduler-file", about, cwd=folder)
    ]
    try:
        # The file is there before it is written.
        _wait(lambda: about.exists() and about.read_text().endswith("}"), processes)
        address = json.loads(about.read_text())["address"]
        for number in range(workers):
            words = ["worker", address, *local, "--no-nanny", "--nthreads", "1", *options]
            words += ["--name", f"worker{number}"]
            processes.append(_started(*words, cwd=folder))
        yield Cluster(address, processes[1:])
    finally:
        for process in reversed(processes):
            process.kill()
            process.wait()


def _started(*words: str | Path, cwd: Path) -> subprocess.Popen:
    argv = [sys.executable, "-m", "dask", *map(str, words)]
    quiet = subprocess.DEVNULL
    # Functions of the tests travel by name.
    env = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    return subprocess.Popen(argv, cwd=cwd, env=env, stdout=quiet, stderr=quiet)


def _wait(ready, processes: list[subprocess.Popen]) -> None:
    end = time.monotonic() + PATIENCE
    while not ready():
        assert time.monotonic() < end and all(p.poll() is None for p in processes)
        time.sleep(0.05)
