"""How many lanes a layer has, and how a user says so."""

from __future__ import annotations

import re
from dataclasses import dataclass

from scm_hw.errors import OptionError

MAX_LANES = 1 << 16


@dataclass(frozen=True)
class Fold:
    """Lanes of a layer: `pe` nodes at a time, `simd` inputs of each."""

    pe: int
    simd: int

    @property
    def lanes(self) -> int:
        return self.pe * self.simd

    def __str__(self) -> str:
        return f"{self.pe}x{self.simd}"


def parse_fold(text: str, layers: int) -> tuple[Fold, ...]:
    """`PExSIMD` for all layers, or a comma-separated list with one for each."""
    if not layers:
        raise OptionError(f"fold must be auto or none for a model without layers, not {text!r}")
    found = [_one(part.strip(), text) for part in text.split(",")]
    if len(found) not in (1, layers):
        raise OptionError(
            f"fold must be one PExSIMD or {layers}, one for each layer, not {text!r}; "
            "separate them by commas"
        )
    return tuple(found * layers if len(found) == 1 else found)


def _one(part: str, text: str) -> Fold:
    # ASCII, since digits of other scripts match `\d` as well.
    match = re.fullmatch(r"([1-9]\d{0,5})x([1-9]\d{0,5})", part, re.ASCII)
    if match is None or int(match[1]) * int(match[2]) > MAX_LANES:
        raise OptionError(
            f"fold must be auto, none, or PExSIMD such as 8x32 with at most {MAX_LANES:,} lanes, "
            f"not {text!r}"
        )
    return Fold(int(match[1]), int(match[2]))
