"""What may stand where a command writes: nothing, or what the same command wrote earlier."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from scm_hw.errors import OptionError


@dataclass(frozen=True)
class Kind:
    """What a command writes.

    `form` is "file", "folder" or "link", `what` the words for an earlier one, which `ours` tells
    from the user's own. `option` is how the place is chosen. A folder that is `replaced` loses all
    that it held.
    """

    form: str
    what: str
    ours: Callable[[Path], bool]
    option: str = "--out"
    replaced: bool = True


def folder_of(what: str, *markers: str, option: str = "--out", replaced: bool = True) -> Kind:
    """A folder that is told from others by a file that every one of them holds."""

    def ours(folder: Path) -> bool:
        return not any(folder.iterdir()) or any((folder / name).exists() for name in markers)

    return Kind("folder", what, ours, option, replaced)


def check_output(
    path: Path, kind: Kind, *, inputs: Iterable[Path | None] = (), force: bool = False
) -> None:
    """OptionError unless `path` may be written: to be asked before any long work.

    An output never replaces an input, a device, a pipe, or a thing of another form; a file or
    folder of somebody else only with `force`.
    """
    place = path if kind.form == "link" else Path(os.path.realpath(path))
    elsewhere = f"choose another with {kind.option}"
    for used in inputs:
        if used is not None and _would_lose(place, kind, used):
            verb = "hold" if kind.form == "folder" else "be"
            raise OptionError(f"output {path} must not {verb} the input {used}; {elsewhere}")
    try:
        found = _form(place.lstat().st_mode)
        if found != kind.form:
            raise OptionError(f"output {path} must be a {kind.form}, not a {found}; {elsewhere}")
        if found == "folder" and kind.replaced and Path.cwd().is_relative_to(place):
            raise OptionError(
                f"output {path} must not be the current folder or hold it; {elsewhere}"
            )
        ours = force or kind.ours(place)
    except (FileNotFoundError, NotADirectoryError):
        ours = True
    except OSError as error:
        raise OptionError(
            f"output {path} can't be written ({error.strerror}); {elsewhere}"
        ) from None
    if (reason := _obstacle(place.parent)) is not None:
        raise OptionError(f"output {path} can't be written ({reason}); {elsewhere}")
    if not ours:
        raise OptionError(
            f"output {path} must be new or {kind.what}, not another {kind.form}; {elsewhere}, or "
            "replace it with --force"
        )


def _would_lose(place: Path, kind: Kind, used: Path) -> bool:
    """Whether writing takes the input away: it is the output, or lies in a folder that goes."""
    if kind.form == "folder":
        return kind.replaced and Path(os.path.realpath(used)).is_relative_to(place)
    try:
        # Hard links too: they are the same file.
        return place.samefile(used)
    except OSError:
        return False


def _obstacle(folder: Path) -> str | None:
    """Why nothing can be written into a folder that is there or has to be made."""
    there = next(
        parent for parent in (folder.absolute(), *folder.absolute().parents) if _is(parent)
    )
    if not there.is_dir():
        return os.strerror(errno.ENOTDIR)
    if os.statvfs(there).f_flag & os.ST_RDONLY:
        return os.strerror(errno.EROFS)
    return None if os.access(there, os.W_OK | os.X_OK) else os.strerror(errno.EACCES)


def _is(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        # A name that is too long, or a folder that can't be searched.
        return False


def _form(mode: int) -> str:
    forms = (
        (stat.S_ISREG, "file"),
        (stat.S_ISDIR, "folder"),
        (stat.S_ISLNK, "link"),
        (stat.S_ISFIFO, "pipe"),
        (stat.S_ISSOCK, "socket"),
    )
    return next((name for test, name in forms if test(mode)), "device")
