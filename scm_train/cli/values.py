"""The types of the values of options."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from scm_model.suggestions import did_you_mean
from scm_train.algorithms import ALGORITHMS


def parts_of(text: str) -> list[str]:
    """What stands between commas."""
    return [part.strip() for part in text.split(",") if part.strip()]


def one_of(*choices: str) -> Callable[[str], str]:
    """One of a few words, with a suggestion for any other."""

    def choose(text: str) -> str:
        if text not in choices:
            raise argparse.ArgumentTypeError(
                f"must be one of {', '.join(choices)}, not {text!r}; {did_you_mean(text, choices)}"
            )
        return text

    return choose


def algorithm(text: str) -> str:
    """The name of a learner, however it is spelt: scm, DeepSCN, dirvfl-1."""
    known = {name.lower(): name for name in ALGORITHMS}
    spelt = text.lower().replace("-", "").replace("_", "")
    if spelt not in known:
        raise argparse.ArgumentTypeError(
            f"must be one of {', '.join(known)}, not {text!r}; {did_you_mean(text, known)}"
        )
    return known[spelt]


def number_or(kind: type[int] | type[float], **words: Any) -> Callable[[str], Any]:
    """A number, or one of the words, each of which stands for its value."""
    what = "a whole number" if kind is int else "a number"
    rule = " or ".join([what, *words])

    def parse(text: str) -> Any:
        if text in words:
            return words[text]
        try:
            return kind(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"must be {rule}, not {text!r}") from None

    return parse


whole, real = number_or(int), number_or(float)


def seed(text: str) -> int:
    """A seed that every random generator takes."""
    number = whole(text)
    if not 0 <= number < 2**32:
        raise argparse.ArgumentTypeError(f"must be from 0 to 2**32 - 1, not {text!r}")
    return number


def count(text: str) -> int:
    """A number of things, of which there is at least one."""
    number = whole(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, not {text!r}")
    return number


def per_layer(kind: Callable[[str], Any]) -> Callable[[str], Any]:
    """One value, or several by commas, one per layer."""

    def parse(text: str) -> Any:
        values = [kind(part) for part in parts_of(text)]
        if not values:
            raise argparse.ArgumentTypeError("must be one value or one per layer, not empty")
        return values[0] if len(values) == 1 else values

    return parse


def numbers(text: str) -> tuple[float, ...]:
    """Numbers separated by commas."""
    return tuple(real(part) for part in parts_of(text))


def inputs_per_node(text: str) -> Any:
    """All, a number, one of several numbers, or shares of numbers; of each layer by slashes."""
    if "/" in text:
        # A plain number alone would be one of several for all layers.
        layers = [inputs_per_node(part) for part in text.split("/")]
        return [(own,) if isinstance(own, int) else own for own in layers]
    if text == "all":
        return None
    if ":" in text:
        pairs = (part.partition(":") for part in parts_of(text))
        return {whole(count): real(share) for count, _, share in pairs}
    counts = tuple(whole(part) for part in parts_of(text))
    return counts[0] if len(counts) == 1 else counts


def bias_range(text: str) -> str | tuple[float, ...]:
    """Auto, data, middle, paper, or two numbers."""
    return text if text in ("auto", "data", "middle", "paper") else numbers(text)
