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
        help="what enters the core for a feature: code (default), the training range in equal "
        "steps, or adc:BITS:LOW:HIGH, the output of an A/D converter whose range is LOW to HIGH in "
        "the units of the data; * stands for every other feature, @FILE has one format per line; "
        "may be repeated",
    )
    parser.add_argument(
        "--output-units",
        action="store_true",
        help="outputs in the units of the targets, not scaled to their training range",
    )


def input_formats(texts: list[str]) -> tuple[str, ...]:
    """The formats as given, those of files in the place of their names."""
    found: list[str] = []
    for text in texts:
        found += _lines(Path(text.removeprefix(FILE))) if text.startswith(FILE) else [text]
    return tuple(found)


def _lines(path: Path) -> list[str]:
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(f"can't read the input formats in {path}: {error}") from None
    return [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]
