"""A disk that is full: one line, what was there stays whole, and with room again all goes on.

The disk is a small tmpfs in a mount namespace of its own, which needs no rights beyond those of
user namespaces. Where even that is refused, `test_faults` has a limit on the size of files instead.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.hw.commands import contents, small_model

# The folder `disk` is the tmpfs; copies of what is on it are left beside it.
SCRIPT = """
set -u
mount -t tmpfs -o size=3m tmpfs disk || exit 99
cp earlier.npz disk/m.npz
$SCM_HW build disk/m.npz --out disk/out --no-sim --no-synth || exit 98
cp m.npz disk/m.npz
cp -a disk before
dd if=/dev/zero of=disk/fill bs=4k 2>/dev/null
{command} >full.out 2>full.err
echo $? >full.code
rm disk/fill
cp -a disk after
$SCM_HW build disk/m.npz --out disk/out --no-sim --no-synth || exit 97
cp -a disk next
"""
COMMANDS = {
    "build": "$SCM_HW build disk/m.npz --out disk/out --no-sim --no-synth",
    "scratch": "TMPDIR=$PWD/disk $SCM_HW build m.npz --out elsewhere --sim icarus --no-synth",
    "train": "$SCM_TRAIN fit data.csv --target y --max-nodes 3 --out disk/n.npz",
}


def refused() -> bool:
    """Whether this machine lets nobody mount."""
    done = subprocess.run(
        ["unshare", "-rm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"],
        capture_output=True,
        check=False,
    )
    return done.returncode != 0


@pytest.fixture
def workshop(tmp_path: Path) -> Path:
    (tmp_path / "disk").mkdir()
    small_model(tmp_path / "earlier.npz", seed=2)
    small_model(tmp_path / "m.npz")
    rows = np.random.default_rng(0).random((40, 3))
    np.savetxt(tmp_path / "data.csv", rows, delimiter=",", header="a,b,y", comments="")
    return tmp_path


@pytest.mark.skipif(refused(), reason="no mounts here; test_faults limits the size of files")
@pytest.mark.parametrize(
    "kind",
    ["build", *(pytest.param(kind, marks=pytest.mark.long) for kind in ("scratch", "train"))],
)
def test_a_full_disk_is_one_line(kind: str, workshop: Path) -> None:
    python = f"{sys.executable} -m"
    script = SCRIPT.replace("{command}", COMMANDS[kind])
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", script],
        cwd=workshop,
        env=os.environ | {"SCM_HW": f"{python} scm_hw", "SCM_TRAIN": f"{python} scm_train"},
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
    assert "no space left" in complaint.lower()
    before, after = contents(workshop / "before"), contents(workshop / "after")
    assert after == before
    assert not (workshop / "elsewhere").exists()
    # Another model by now, and nothing in the way.
    built = contents(workshop / "next")
    assert built.keys() == before.keys()
    assert built["out/digest.txt"] != before["out/digest.txt"]
