"""Files that commands write: what they may replace, and how they are written.

A command never replaces one of its own inputs, nor anything that is not a regular file. A regular
file of another kind than the one to be written is replaced with ``--force`` only.
"""

from __future__ import annotations

import csv
import io
import os
import secrets
import stat
import zipfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from scm_train.errors import OutputError

__all__ = ["MODEL", "ONNX", "FileKind", "check_output", "figure_kind", "table_kind", "write_output"]


@dataclass(frozen=True)
class FileKind:
    """A kind of output, and how a file that exists is recognised as one."""

    name: str
    recognises: Callable[[Path], bool]


def check_output(
    path: str | Path,
    kind: FileKind,
    inputs: Iterable[str | Path | None] = (),
    force: bool = False,
) -> None:
    """Refuse, before any work is done, an output that may not or can't be written.

    ``inputs`` are the files that the command reads; those that are None or absent don't count.
    """
    path = Path(path)
    try:
        _check_folder(path)
        if not path.exists():
            return
        if any(one is not None and _same(path, Path(one)) for one in inputs):
            raise _refusal(path, "this command reads it", "choose another name for the output")
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            raise _refusal(path, f"it is {_what(mode)}, not a regular file", "choose another name")
        # What is empty has nothing to lose.
        if not force and path.stat().st_size and not kind.recognises(path):
            raise _refusal(
                path, f"it exists and is not {kind.name}", "choose another name, or add --force"
            )
    except OSError as error:
        raise _refusal(path, error.strerror or str(error), "choose another place") from error


def write_output(path: str | Path, write: Callable[[IO[bytes]], object]) -> None:
    """Write a file whole or not at all: a failure leaves what was there, and nothing beside it."""
    path = Path(path)
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with open(part, "xb") as file:
            write(file)
        os.replace(part, path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise _refusal(path, reason, "free some space, or choose another place") from error
    finally:
        part.unlink(missing_ok=True)


def _refusal(path: Path, reason: str, remedy: str) -> OutputError:
    return OutputError(f"can't write {str(path)!r}: {reason}; {remedy}")


def _check_folder(path: Path) -> None:
    folder = path.parent
    if not folder.is_dir():
        raise _refusal(path, f"there is no folder {str(folder)!r}", "make it first")
    # Asks the file system too: on one that is read-only, nobody may write, root included.
    if not os.access(folder, os.W_OK | os.X_OK):
        raise _refusal(
            path, f"the folder {str(folder)!r} can't be written to", "choose another place"
        )


def _same(path: Path, other: Path) -> bool:
    """Whether both names, by links of either kind, lead to one file."""
    return other.exists() and path.samefile(other)


def _what(mode: int) -> str:
    kinds = {
        stat.S_ISDIR: "a folder",
        stat.S_ISCHR: "a device",
        stat.S_ISBLK: "a device",
        stat.S_ISFIFO: "a pipe",
        stat.S_ISSOCK: "a socket",
    }
    return next((name for check, name in kinds.items() if check(mode)), "special")


# -------------------------------------------------------------------------------- kinds of files

_MAGIC = {".png": (b"\x89PNG\r\n",), ".pdf": (b"%PDF-",), ".svg": (b"<?xml", b"<svg")}


def _is_model(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return {"meta.npy", "readout.npy"} <= set(archive.namelist())
    except zipfile.BadZipFile:
        return False


MODEL = FileKind("a model file", _is_model)


def _is_onnx(path: Path) -> bool:
    with open(path, "rb") as file:
        start = file.read(3)
    # The version of the format (field 1, one byte), then the producer's name (field 2).
    return start[:1] == b"\x08" and start[2:] == b"\x12"


ONNX = FileKind("an ONNX file", _is_onnx)


def table_kind(header: Sequence[str]) -> FileKind:
    """A table of predictions: any that begins with the line of names that ours would have."""
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(header)
    first = line.getvalue().encode()

    def recognises(path: Path) -> bool:
        with open(path, "rb") as file:
            return file.read(len(first)) == first

    return FileKind("a table of this model's predictions", recognises)


def figure_kind(suffix: str) -> FileKind:
    """A figure, by what files of that ending begin with."""
    beginnings = _MAGIC[suffix.lower()]

    def recognises(path: Path) -> bool:
        with open(path, "rb") as file:
            return file.read(16).startswith(beginnings)

    return FileKind(f"a {suffix[1:].upper()} figure", recognises)
