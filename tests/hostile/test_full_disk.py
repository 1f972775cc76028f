"""A disk that is full: one line, what was there stays whole, and with room again all goes on.

The disk is a small tmpfs in a mount namespace of its own, which needs no rights beyond those of
user namespaces. Where even that is refused, a limit on the size of files stands in for it, and a
warning says so; the limit is tested on its own everywhere.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from tests.hw.commands import contents, small_model


@dataclass(frozen=True)
class Disk:
    """How a disk comes to be, gets full and has room again, as lines of shell."""

    launcher: tuple[str, ...]
    made: str
    filled: str
    freed: str
    complaint: str


TMPFS = Disk(
    launcher=("unshare", "-rm"),
    made="mount -t tmpfs -o size=3m tmpfs disk || exit 99",
    filled="dd if=/dev/zero of=disk/fill bs=4k 2>/dev/null",
    freed="rm disk/fill",
    complaint="no space left",
)
# The limit ends with the subshell that it is set in.
LIMIT = Disk((), ":", "ulimit -f 2", ":", "file too large")

# The folder `disk` is the disk; copies of what is on it are left beside it.
SCRIPT = """
set -u
{made}
cp earlier.npz disk/m.npz
$SCM_HW build disk/m.npz --out disk/out --no-sim --no-synth || exit 98
cp m.npz disk/m.npz
cp -a disk before
({filled}; {command}) >full.out 2>full.err
echo $? >full.code
{freed}
cp -a disk after
$SCM_HW build disk/m.npz --out disk/out --no-sim --no-synth || exit 97
cp -a disk next
"""
COMMANDS = {
    "build": "$SCM_HW build disk/m.npz --out disk/out --no-sim --no-synth",
    "scratch": "TMPDIR=$PWD/disk $SCM_HW build m.npz --out elsewhere --sim icarus --no-synth",
    "train": "$SCM_TRAIN fit data.csv --target y --max-nodes 3 --out disk/n.npz",
}


@pytest.fixture(scope="module")
def small_disk() -> Disk:
    """A tmpfs, or what comes nearest to it on a machine that lets nobody mount."""
    if shutil.which("unshare") is not None:
        mount = [*TMPFS.launcher, "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
        if subprocess.run(mount, capture_output=True, check=False).returncode == 0:
            return TMPFS
    warnings.warn("no mounts here: a limit on the size of files is the full disk", stacklevel=2)
    return LIMIT


@pytest.fixture
def workshop(tmp_path: Path) -> Path:
    (tmp_path / "disk").mkdir()
    small_model(tmp_path / "earlier.npz", seed=2)
    small_model(tmp_path / "m.npz")
    rows = np.random.default_rng(0).random((40, 3))
    np.savetxt(tmp_path / "data.csv", rows, delimiter=",", header="a,b,y", comments="")
    return tmp_path


LONG_KINDS = [pytest.param(kind, marks=pytest.mark.long) for kind in ("scratch", "train")]


@pytest.mark.parametrize("kind", ["build", *LONG_KINDS])
def test_a_full_disk_is_one_line(kind: str, small_disk: Disk, workshop: Path) -> None:
    refused_and_intact(kind, small_disk, workshop)


@pytest.mark.parametrize("kind", ["build", *LONG_KINDS])
def test_files_that_may_not_grow_are_one_line(kind: str, workshop: Path) -> None:
    refused_and_intact(kind, LIMIT, workshop)


def refused_and_intact(kind: str, disk: Disk, workshop: Path) -> None:
    python = f"{sys.executable} -m"
    # What measures coverage writes files too, and has no room for them either.
    unmeasured = {k: v for k, v in os.environ.items() if not k.startswith("COVERAGE_")}
    done = subprocess.run(
        [*disk.launcher, "sh", "-c", SCRIPT.format(command=COMMANDS[kind], **vars(disk))],
        cwd=workshop,
        env=unmeasured | {"SCM_HW": f"{python} scm_hw", "SCM_TRAIN": f"{python} scm_train"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (workshop / "full.code").read_text().strip() in ("1", "2")
    complaint = (workshop / "full.err").read_text()
    assert complaint.startswith("error: ")
    assert complaint.count("\n") == 1
    assert disk.complaint in complaint.lower()
    before, after = contents(workshop / "before"), contents(workshop / "after")
    assert after == before
    assert not (workshop / "elsewhere").exists()
    # Another model by now, and nothing in the way.
    built = contents(workshop / "next")
    assert built.keys() == before.keys()
    assert built["out/digest.txt"] != before["out/digest.txt"]
