"""Folders that appear whole or not at all."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from scm_hw.common.outputs import Kind, check_output
from scm_hw.errors import OptionError


@contextlib.contextmanager
def replacing(
    target: Path, kind: Kind, *, inputs: Iterable[Path | None] = (), force: bool = False
) -> Iterator[Path]:
    """A folder to write into; on success it takes the place of `target`, otherwise it goes away.

    What stood there before is only removed once the new folder has its name, and only if
    `check_output` lets it. One process at a time may do this; what a killed one left is put right
    by the next.
    """
    # The folder itself where a link is named: the link stays.
    target = Path(os.path.realpath(target))
    with contextlib.ExitStack() as stack:
        try:
            check_output(target, kind, inputs=inputs, force=force)
            if not target.parent.exists():
                target.parent.mkdir(parents=True)
                # Called last, and of no effect on a folder that something is in.
                stack.callback(_remove_empty, target.parent)
            stack.enter_context(_locked(target))
            _recover(target)
            scratch = Path(
                tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".new", dir=target.parent)
            )
        except OSError as error:
            raise OptionError(
                f"output folder {target} can't be written ({error.strerror}); choose another with "
                "--out"
            ) from None
        try:
            scratch.chmod(0o755)
            yield scratch
            _swap(scratch, target)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


def _remove_empty(folder: Path) -> None:
    with contextlib.suppress(OSError):
        folder.rmdir()


@contextlib.contextmanager
def _locked(target: Path) -> Iterator[None]:
    """Nobody else between here and the end; the lock goes with the process, however that ends."""
    path = target.parent / f".{target.name}.lock"
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Whoever held it may have removed the file just before.
            mine = os.path.samestat(os.fstat(file), os.stat(path))
        except (BlockingIOError, FileNotFoundError):
            mine = False
        if not mine:
            raise OptionError(
                f"output folder {target} must not be built by two at once; wait for the other "
                "build, or choose another folder with --out"
            )
        try:
            yield
        finally:
            path.unlink(missing_ok=True)
    finally:
        os.close(file)


def _recover(target: Path) -> None:
    """Put right what a killed build left: its scratch folder, or an earlier build set aside."""
    left = re.compile(re.escape(f".{target.name}.") + r"[a-z0-9_]{8}\.(new|old)")
    for path in sorted(target.parent.iterdir()):
        found = left.fullmatch(path.name)
        if found and found[1] == "old" and not target.exists():
            path.rename(target)
        elif found:
            shutil.rmtree(path, ignore_errors=True)


def _swap(scratch: Path, target: Path) -> None:
    """Put `scratch` in the place of `target`, or leave `target` as it was."""
    old = scratch.with_suffix(".old")
    try:
        with contextlib.suppress(FileNotFoundError):
            os.rename(target, old)
        os.rename(scratch, target)
    except BaseException as error:
        if old.exists() and not target.exists():
            os.rename(old, target)
        if not isinstance(error, OSError):
            raise
        raise OptionError(f"output folder {target} can't be replaced ({error.strerror})") from None
    shutil.rmtree(old, ignore_errors=True)


def write_files(folder: Path, files: dict[str, str]) -> None:
    """Write texts by file name, some of them in folders."""
    for name, text in files.items():
        try:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8", newline="\n")
        except OSError as error:
            raise OptionError(
                f"file {name} can't be written to {folder.parent} ({error.strerror}); "
                "make room or choose another folder with --out"
            ) from None


def write_file(path: Path, text: str) -> None:
    """Write one text, whole or not at all; where `path` is a link, to the file it leads to."""
    path = Path(os.path.realpath(path))
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_text(text, encoding="utf-8", newline="\n")
        os.replace(part, path)
    except OSError as error:
        raise OptionError(
            f"output {path} can't be written ({error.strerror}); choose another with --out"
        ) from None
    finally:
        with contextlib.suppress(OSError):
            part.unlink()
