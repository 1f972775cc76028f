"""The command line: ``scm_train fit|refit|evaluate|predict|info|plot|export|datasets``."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence

from scm_train.cli import model_commands
from scm_train.cli.console import say
from scm_train.cli.parser import build_parser
from scm_train.errors import ScmTrainError

__all__ = ["main"]


def _fit(args: argparse.Namespace) -> None:
    # It imports scikit-learn, which takes longer than all that the other commands do.
    from scm_train.cli.fit import fit

    fit(args)


def _refit(args: argparse.Namespace) -> None:
    from scm_train.cli.refit import refit_file

    refit_file(args)


_COMMANDS = {
    "fit": _fit,
    "refit": _refit,
    "evaluate": model_commands.evaluate,
    "predict": model_commands.predict,
    "info": model_commands.info,
    "plot": model_commands.plot,
    "export": model_commands.export,
    "datasets": model_commands.list_datasets,
}

USAGE_ERROR, INTERRUPTED, BROKEN_PIPE = 2, 130, 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; 0, or the exit code of what went wrong, which one line tells."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            args = build_parser().parse_args(argv)
            if getattr(args, "quiet", False):
                warnings.simplefilter("ignore")
            _COMMANDS[args.command](args)
            sys.stdout.flush()
    except ScmTrainError as error:
        say(f"error: {error}", sys.stderr)
        return USAGE_ERROR
    except KeyboardInterrupt as stop:
        say(f"interrupted: {str(stop) or 'nothing was written'}", sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has gone; without this, Python complains once more when it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except OSError as error:
        place = "" if error.filename is None else f" {str(error.filename)!r}"
        reason = error.strerror or " ".join(str(error).split())
        say(f"error: can't use{place or ' a file'}: {reason}; check the place", sys.stderr)
        return USAGE_ERROR
    except MemoryError:
        say(
            "error: can't finish: there is too little memory; use fewer rows or fewer candidates",
            sys.stderr,
        )
        return USAGE_ERROR
    return 0


def _show_warning(message: Warning | str, *_: object) -> None:
    say(f"warning: {' '.join(str(message).split())}", sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
