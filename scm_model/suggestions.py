"""The nearest known name, for messages about unknown ones."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


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
