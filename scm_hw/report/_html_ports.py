"""The ports of a core on the page: how they are packed, and what they stand for."""

from __future__ import annotations

from typing import Any

from scm_hw.report._html_elements import (
    NOTHING,
    Html,
    Section,
    count,
    el,
    join,
    name,
    section,
    shortened,
    table,
)

_STREAMS = (
    "a valid/ready handshake on both sides: a transfer happens at an edge where both are high."
)
HANDSHAKES = {
    "global": f"{_STREAMS} While a result waits, everything waits; in_ready follows out_ready.",
    "skid": f"{_STREAMS} Results wait in a queue, and in_ready is a register.",
    "none": "valid on both sides without ready: every sample is taken, and its result is there for "
    "one cycle.",
}


def ports_section(report: dict[str, Any]) -> Section:
    """How samples and results are packed, and the handshake around them."""
    formats = report["formats"]
    words = (
        f"The core has clk, rst (synchronous, active high), and {HANDSHAKES[report['handshake']]} "
        "The first port listed is in the lowest bits. A value is the integer over two to the power "
        "of its fraction; 0 and 1 of it stand for the ends of what is listed last: the training "
        "range of a feature or target, the range of a sensor (adc), or 0 and 1 of the target's own "
        "units."
    )
    parts = [
        part
        for bus in ("in_data", "out_data")
        for part in _bus_table(bus, formats[bus], formats[f"{bus.split('_')[0]}_width"])
    ]
    return section("ports", "Ports and formats", el("p", words), *parts)


def _bus_table(bus: str, ports: list[dict[str, Any]], width: int) -> tuple[Html, Html]:
    shown, remark = shortened(ports)
    rows, low = [], 0
    for port in shown:
        high = low + port["bits"] - 1
        place = f"{high}:{low}" if port["bits"] else NOTHING
        sign = "signed" if port["signed"] else "unsigned"
        reach = _reach(*port["range"], ",")
        stands = NOTHING if port["kind"] == "class" else _reach(port["low"], port["high"], ".6g")
        row = (name(port["name"]), port["kind"], place, port["bits"], port["fraction"], sign)
        rows.append((*row, reach, stands))
        low += port["bits"]
    columns = ("Port", "Kind", "Place", "Bits", "Fraction", "Sign", "Range", "Stands for")
    caption = join([el("code", bus), f", {count(width, 'bit')}"])
    return table(caption, columns, rows, text_columns=(1, 5)), remark


def _reach(low: float, high: float, form: str) -> str:
    return f"{low:{form}}\N{NO-BREAK SPACE}to\N{NO-BREAK SPACE}{high:{form}}"
