"""Verilator's run-time library, compiled once per user instead of once per run.

Its dozen files don't depend on the design, and compiling them takes longer than anything else in
a run of a few thousand cycles.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from scm_hw.tools import simulators


class RuntimeObjects:
    """Object files of one `kind`, between a build folder and the user's cache.

    A cache that can't be read or written costs time and nothing else.
    """

    def __init__(
        self, build_dir: Path, *, waves: bool, kind: str, files: str = "verilated*.o"
    ) -> None:
        self.build_dir = build_dir
        self.waves = waves
        self.kind = kind
        self.files = files

    @property
    def folder(self) -> Path:
        """Where the objects of these tools and settings are kept."""
        compiler = subprocess.run(["c++", "--version"], capture_output=True, text=True, check=False)
        settings = [
            simulators.version("verilator"),
            str(simulators.verilator_root()),
            importlib.metadata.version("cocotb"),
            simulators.VERILATOR_MAKEFLAGS,
            compiler.stdout,
            str(self.waves),
            self.kind,
        ]
        digest = hashlib.sha256("\n".join(settings).encode()).hexdigest()
        root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        return Path(root) / "scm-hw" / "verilator" / digest[:24]

    def restore(self) -> None:
        """Put the objects into the build folder."""
        # Make compares them with its makefile, which is yet to be written.
        later = time.time() + 3600
        with contextlib.suppress(OSError):
            for path in self.folder.glob("*.o"):
                target = self.build_dir / path.name
                shutil.copyfile(path, target)
                os.utime(target, (later, later))

    def keep(self) -> None:
        """Take the objects of a finished build, all of them or none."""
        folder = self.folder
        if folder.exists():
            return
        with contextlib.suppress(OSError):
            folder.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=folder.parent) as name:
                staging = Path(name) / "objects"
                staging.mkdir()
                for path in self.build_dir.glob(self.files):
                    shutil.copyfile(path, staging / path.name)
                # A rename is atomic: other runs see all of the objects, or no folder.
                staging.rename(folder)
