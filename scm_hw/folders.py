"""Folders that appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from scm_hw.errors import OptionError


@contextlib.contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """A folder to write into; on success it takes the place of `target`, otherwise it goes away.

    What stood there before is only removed once the new folder has its name.
    """
    if target.exists() and not target.is_dir():
        raise OptionError(f"output {target} must be a folder; a file of that name is in the way")
    parent = target.parent
    try:
        parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".new", dir=parent))
    except OSError as error:
        raise OptionError(
            f"output folder {parent} can't be written ({error.strerror}); choose another with --out"
        ) from None
    try:
        scratch.chmod(0o755)
        yield scratch
        _swap(scratch, target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _swap(scratch: Path, target: Path) -> None:
    old = scratch.with_suffix(".old")
    with contextlib.suppress(FileNotFoundError):
        os.rename(target, old)
    try:
        os.rename(scratch, target)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.rename(old, target)
        raise OptionError(f"output folder {target} can't be replaced ({error.strerror})") from None
    shutil.rmtree(old, ignore_errors=True)


def write_files(folder: Path, files: dict[str, str]) -> None:
    """Write texts by file name."""
    for name, text in files.items():
        try:
            (folder / name).write_text(text, encoding="utf-8", newline="\n")
        except OSError as error:
            raise OptionError(
                f"file {name} can't be written to {folder.parent} ({error.strerror}); "
                "make room or choose another folder with --out"
            ) from None
