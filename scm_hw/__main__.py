"""The command line: `python -m scm_hw COMMAND`; other packages add commands by entry points."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from collections.abc import Sequence
from types import FrameType
from typing import TextIO

from scm_hw.cli.text import one_line
from scm_hw.errors import (
    CompilerError,
    LinkError,
    MismatchError,
    RangeWarning,
    ScmError,
    TableWarning,
    ToolError,
)

# What goes wrong with good input.
FAILURES = (CompilerError, LinkError, MismatchError, ToolError)
# Warnings that are for the user.
NOTES = (RangeWarning, TableWarning)
FAILED, BAD_INPUT, INTERRUPTED, BROKEN_PIPE = 1, 2, 130, 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; 0, or the exit code of what went wrong, which one line tells."""
    signal.signal(signal.SIGTERM, _terminate)
    _open_standard_files()
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        for own in NOTES:
            warnings.simplefilter("always", own)
        return _run(argv)


def _run(argv: Sequence[str] | None) -> int:
    try:
        # Amaranth takes a while to import, and Ctrl-C may come before it is there.
        from scm_hw.cli.commands import build_parser

        args = build_parser().parse_args(argv)
        args.run(args)
        sys.stdout.flush()
    except ScmError as error:
        print(f"error: {one_line(str(error))}", file=sys.stderr)
        return FAILED if isinstance(error, FAILURES) else BAD_INPUT
    except KeyboardInterrupt as stop:
        said = ": ".join(filter(None, ("interrupted", str(stop))))
        print(one_line(said), file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        _forget_stdout()
        return BROKEN_PIPE
    except OSError as error:
        reason = one_line(str(error))
        print(f"error: {reason}; make room, or choose another folder", file=sys.stderr)
        _forget_stdout()
        return FAILED
    return 0


_show_elsewhere = warnings.showwarning


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Our own warnings are for the user: one line, without the place in the program."""
    if issubclass(category, NOTES):
        print(f"note: {one_line(str(message))}", file=sys.stderr)
    else:
        _show_elsewhere(message, category, filename, lineno, file, line)


def _open_standard_files() -> None:
    """Where stdout or stderr was closed (`>&-`), what goes there is dropped.

    Otherwise the next file that is opened would take its number, and all that is printed.
    """
    for number, name in ((1, "stdout"), (2, "stderr")):
        if getattr(sys, name) is None:
            # The lowest number that is free.
            opened = os.open(os.devnull, os.O_WRONLY)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            setattr(sys, name, os.fdopen(number, "w", encoding="utf-8"))


def _forget_stdout() -> None:
    """Nobody takes what is left of it, and Python would complain once more when it closes it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _terminate(_signal: int, _frame: FrameType | None) -> None:
    """As Ctrl-C, so that simulators are stopped and scratch folders removed."""
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
