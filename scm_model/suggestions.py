"""The nearest known name, for messages about unknown ones."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return ``did you mean 'sigmoid'?`` or, with nothing near, ``known are: ...``."""
    names = list(known)
    by_lower_case = {known.lower(): known for known in names}
    near = get_close_matches(str(name).lower(), by_lower_case, n=1, cutoff=0.5)
    if near:
        return f"did you mean {by_lower_case[near[0]]!r}?"
    if len(names) > 12:
        return f"known are: {', '.join(names[:12])}, and {len(names) - 12} more"
    return f"known are: {', '.join(names)}"


def dash_remedy(message: str, help_of: str) -> str:
    """What to do about argparse's ``message``: names that begin with a dash look like options."""
    if message.endswith("?"):
        return ""
    if "expected one argument" in message or "expected at least one argument" in message:
        return f"; give a value that begins with '-' as in --target=-y, or see {help_of}"
    words = message.removeprefix("unrecognized arguments: ").split()
    if words and words != message.split() and words[0].startswith("-") and Path(words[0]).exists():
        return f"; give a file whose name begins with '-' as ./{words[0]}"
    return f"; see {help_of}"
