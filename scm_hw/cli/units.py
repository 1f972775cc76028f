"""Options for the units of a core's ports."""

from __future__ import annotations

import argparse
from pathlib import Path

from scm_hw.errors import OptionError

# Before the name of a file with a format on each line.
FILE = "@"


def add_units(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--input-format",
        action="append",
        default=[],
        metavar="FEATURE=FORMAT",
        help="what enters the core for a feature: code (default), its range in training cut into "
        "steps, or adc:BITS:LOW:HIGH, the integers of a converter from LOW to HIGH in the units of "
        "the data; * is every other feature, @FILE has one on each line; may be repeated",
    )
    parser.add_argument(
        "--output-units",
        action="store_true",
        help="outputs are fixed point in the units of their targets, not of their training range",
    )


def input_formats(texts: list[str]) -> tuple[str, ...]:
    """The formats as told, those of files in the place of their names."""
    found: list[str] = []
    for text in texts:
        found += _lines(Path(text.removeprefix(FILE))) if text.startswith(FILE) else [text]
    return tuple(found)


def _lines(path: Path) -> list[str]:
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(f"file of input formats {path} can't be read: {error}") from None
    return [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]
