"""External programs: in a folder of their own, logged, bounded in time, never left behind."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from scm_hw.errors import ToolError

LineCallback = Callable[[str], None]

# Programs under way, so that those which other threads wait for can be stopped too.
_running: set[subprocess.Popen[str]] = set()

# A disk with fewer bytes left is as good as full: programs that fail there seldom say why.
LEAST_ROOM = 1 << 16

_TELLING = re.compile(r"error|fatal|exception|not found|killed", re.IGNORECASE)


def run_tool(
    argv: Sequence[str | Path],
    *,
    name: str,
    cwd: Path,
    log: Path,
    timeout: float,
    env: Mapping[str, str] | None = None,
    on_line: LineCallback | None = None,
) -> int:
    """Run a program to its end and give its exit code; output of both kinds goes to `log`.

    The program and all it starts are killed when `timeout` seconds have passed (ToolError), and
    when this call is interrupted in any way. `on_line` sees each line as it comes, in a thread.
    """
    try:
        process = subprocess.Popen(
            [str(argument) for argument in argv],
            cwd=cwd,
            env=None if env is None else dict(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            # A process group of its own, so that the children of children can be killed too.
            start_new_session=True,
        )
    except OSError as error:
        raise ToolError(f"can't run {name}: {error}; install it") from error
    _running.add(process)
    copier = threading.Thread(target=_copy, args=(process, log, on_line), daemon=True)
    try:
        # An interrupt may come as soon as the program runs.
        copier.start()
        return process.wait(timeout)
    except subprocess.TimeoutExpired as error:
        raise ToolError(
            f"can't wait longer for {name}: it has run for {timeout:g} s (last line: "
            f"{_last_line(log)!r}); use a smaller model, or leave this step out"
        ) from error
    finally:
        kill_group(process)
        _running.discard(process)
        if copier.ident is not None:
            copier.join()


def kill_all() -> None:
    """Stop every program under way, whichever thread waits for it."""
    for process in list(_running):
        kill_group(process)


def kill_group(process: subprocess.Popen[str]) -> None:
    """Kill the program and whatever it left running."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _copy(process: subprocess.Popen[str], log: Path, on_line: LineCallback | None) -> None:
    assert process.stdout is not None
    with process.stdout, contextlib.suppress(OSError), log.open("w", encoding="utf-8") as file:
        for line in process.stdout:
            # On a full disk the log ends early; the program must not wait for a reader.
            with contextlib.suppress(OSError):
                file.write(line)
            if on_line is not None:
                on_line(line.rstrip("\n"))


def _last_line(log: Path) -> str:
    try:
        lines = log.read_text(errors="replace").split("\n")
    except OSError:
        return ""
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def _written_to(log: Path) -> list[Path]:
    """Folders that a program wrote to: its own, and the one for temporary files.

    Python does without the latter where it is full, which other programs do not.
    """
    temporary = os.environ.get("TMPDIR", "")
    return [log.parent, *([Path(temporary)] if os.path.isdir(temporary) else [])]


def telling_line(log: Path) -> str:
    """The line of a log that most likely says what went wrong."""
    for folder in _written_to(log):
        if shutil.disk_usage(folder).free < LEAST_ROOM:
            return f"no space left in {folder}"
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    telling = [line for line in lines if _TELLING.search(line)]
    return (telling or lines[-1:] or ["no output"])[0]
