"""The nearest known name, for messages about unknown ones."""

from __future__ import annotations

import re
from argparse import ArgumentParser
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


def usage_remedy(message: str, help_of: str, parser: ArgumentParser) -> str:
    """What to do about argparse's ``message``; names that begin with a dash look like options."""
    if message.endswith("?"):
        return ""
    if "expected one argument" in message or "expected at least one argument" in message:
        return f"; give a value that begins with '-' as in --target=-y, or see {help_of}"
    chosen = re.search(r"invalid choice: '([^']*)' \(choose from (.*)\)", message)
    if chosen is not None:
        near = _near(chosen[1], re.findall(r"'([^']*)'", chosen[2]))
        return f"; did you mean {near!r}?" if near else f"; see {help_of}"
    words = message.removeprefix("unrecognized arguments: ").split()
    if words == message.split() or not words or not words[0].startswith("-"):
        return f"; see {help_of}"
    if Path(words[0]).exists():
        return f"; give a file whose name begins with '-' as ./{words[0]}"
    near = _near(words[0].partition("=")[0], _options(parser))
    return f"; did you mean {near}?" if near else f"; see {help_of}"


def _options(parser: ArgumentParser) -> list[str]:
    """The long options of a parser and of its commands."""
    parsers, found = [parser], []
    for one in parsers:
        for action in one._actions:
            found += [text for text in action.option_strings if text.startswith("--")]
            if isinstance(action.choices, dict):
                parsers += action.choices.values()
    return list(dict.fromkeys(found))


def _near(name: str, known: Iterable[str]) -> str | None:
    found = get_close_matches(name, list(known), n=1, cutoff=0.6)
    return found[0] if found else None
