"""Results of long runs, kept by digest in the user's cache folder."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path


def cache_root() -> Path:
    """Where programs of this user keep what they can do without."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def user_cache(kind: str) -> Path:
    return cache_root() / "scm-hw" / kind


def write_atomically(path: Path, content: bytes) -> None:
    """Whole or not at all, whoever else writes the same."""
    with tempfile.NamedTemporaryFile("wb", dir=path.parent, delete=False) as file:
        file.write(content)
    os.replace(file.name, path)


@contextlib.contextmanager
def file_lock(lock: Path) -> Iterator[None]:
    """Let one process at a time through, by a lock file. Where it can't be made, nobody waits."""
    with contextlib.ExitStack() as at_end:
        with contextlib.suppress(OSError):
            lock.parent.mkdir(parents=True, exist_ok=True)
            fcntl.flock(at_end.enter_context(lock.open("w")), fcntl.LOCK_EX)
        yield
