"""Lags: which rows of the past of which signals a machine sees."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from scm_model.memory import MAX_LAG
from scm_train.errors import ParameterError

__all__ = ["Lags", "parse_lags"]

#: Lags by the name of a signal, or of a target.
Lags = dict[str, tuple[int, ...]]

_RANGE = re.compile(r"(\d+)(?:\.\.(\d+))?$")


def parse_lags(
    told: str | Sequence[str] | Mapping[str, object], names: Sequence[str], what: str, least: int
) -> Lags:
    """Lags as ``"speed:0..2,current:0"``, or of ``{"speed": [0, 1, 2]}``; ``*`` is every name.

    ``what`` they are of and the ``least`` lag are for checks.
    """
    if isinstance(told, Mapping):
        pairs = [(str(name), _numbers(values, what)) for name, values in told.items()]
    else:
        texts = told.split(",") if isinstance(told, str) else list(told)
        pairs = [_pair(text.strip(), what) for text in texts if text.strip()]
    found: Lags = {}
    for name, lags in pairs:
        for one in names if name == "*" else (name,):
            found[one] = tuple(sorted({*found.get(one, ()), *lags}))
    for name, lags in found.items():
        if name not in names:
            raise ParameterError(
                f"{what} must be of {', '.join(map(repr, names))} or *, not of {name!r}"
            )
        if not lags or min(lags) < least or max(lags) > MAX_LAG:
            raise ParameterError(
                f"{what} of {name!r} must be whole numbers from {least} to {MAX_LAG}, not "
                f"{list(lags)}"
            )
    return found


def _pair(text: str, what: str) -> tuple[str, tuple[int, ...]]:
    name, colon, numbers = text.rpartition(":")
    parts = [_RANGE.match(part) for part in numbers.split("+")]
    if not colon or not all(parts):
        raise ParameterError(f"{what} must be SIGNAL:LAGS with lags as 0..2 or 0+2+5, not {text!r}")
    found: list[int] = []
    for part in parts:
        assert part is not None
        low, high = int(part[1]), int(part[2] or part[1])
        if high - low > MAX_LAG:
            raise ParameterError(f"{what} must reach {MAX_LAG} rows back at most, not {text!r}")
        found += range(low, high + 1)
    return name, tuple(found)


def _numbers(values: object, what: str) -> tuple[int, ...]:
    numbers = [values] if isinstance(values, int) else list(values)  # type: ignore[call-overload]
    if any(isinstance(n, bool) or int(n) != n for n in numbers):
        raise ParameterError(f"{what} must be whole numbers, not {values!r}")
    return tuple(int(n) for n in numbers)
