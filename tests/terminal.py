"""Programs on a pseudo-terminal, as a person has them."""

from __future__ import annotations

import os
import pty
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path


def on_terminal(argv: Sequence[str], cwd: Path) -> tuple[int, str]:
    """Exit code and all that was shown, without colours and movements of the cursor."""
    ours, theirs = pty.openpty()
    env = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    process = subprocess.Popen(argv, cwd=cwd, env=env, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown = b""
    try:
        while more := _read(ours):
            shown += more
        return process.wait(60), re.sub(r"\x1b\[[?\d;]*[A-Za-z]", "", shown.decode())
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:
        # So Linux says that nobody has the other end any more.
        return b""
