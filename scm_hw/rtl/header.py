"""The comment above a module: where it comes from, and what its ports are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from importlib.metadata import version

from scm_hw.common.templates import render
from scm_hw.ir import Range
from scm_hw.rtl.ports import LOAD_PINS

Port = tuple[str, str, int, str]
"""Name, `in` or `out`, bits, and what it is for."""

# Beyond these the header of formats is the place to look.
_LISTED = 32
CLOCKED: tuple[Port, ...] = (
    ("clk", "in", 1, "rising edge"),
    ("rst", "in", 1, "synchronous, active high"),
)


def headed(
    verilog: str,
    title: str,
    facts: Iterable[tuple[str, str]] = (),
    ports: Iterable[Port] = (),
) -> str:
    """Verilog with a header; texts of users become plain ones."""
    return render(
        __package__,
        "header.v",
        title=_comment(title),
        version=version("scm-hw"),
        facts=[(name, _comment(value)) for name, value in facts],
        ports=[(*port[:3], _comment(port[3])) for port in ports],
        verilog=verilog.rstrip("\n"),
    )


def core_ports(
    inputs: Sequence[str],
    input_ranges: Sequence[Range],
    outputs: Sequence[str],
    output_ranges: Sequence[Range],
    *,
    ready: bool = True,
    reload: bool = False,
) -> list[Port]:
    """The ports of a core, with the fields of its words; there may be more names than inputs."""
    rows = [
        *CLOCKED,
        ("in_valid", "in", 1, "a sample is on in_data"),
        ("in_ready", "out", 1, "the sample is taken at the next edge"),
        *_word("in_data", "in", inputs, input_ranges),
        ("out_valid", "out", 1, "a result is on out_data"),
        ("out_ready", "in", 1, "the result is taken at the next edge"),
        *_word("out_data", "out", outputs, output_ranges),
        *(LOAD_PINS if reload else ()),
    ]
    return [row for row in rows if ready or not row[0].endswith("_ready")]


def _word(name: str, direction: str, fields: Sequence[str], ranges: Sequence[Range]) -> list[Port]:
    """A packed word and, on lines of their own, its fields."""
    rows: list[Port] = [(name, direction, sum(reach.width for reach in ranges), "packed fields:")]
    low = 0
    for field, reach in zip(fields[:_LISTED], ranges, strict=False):
        high = low + reach.width - 1
        rows.append(("", "", reach.width, f"[{high}:{low}] {field}" + ", signed" * reach.signed))
        low = high + 1
    if len(ranges) > _LISTED:
        rows.append(("", "", len(ranges) - _LISTED, "more, see the header of formats"))
    return rows


def _comment(text: str) -> str:
    """One line of printable ASCII: a comment can't end in it, nor go on after it."""
    return re.sub(r"[^ -~]", "?", text).rstrip("\\ ")
