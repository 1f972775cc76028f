"""Results of cells in one piece."""

from __future__ import annotations

from scm_hw.rtl.plain.rtlil import (
    Bits,
    Chunk,
    RtlModule,
    Signal,
    bits_of,
    joined,
    width_of,
)

Piece = tuple[Bits, Chunk]


def whole_results(module: RtlModule) -> None:
    """A cell that drives parts of a nameless wire and, between them, a signal that is known as
    the rest of that wire, drives the wire; the signal is then a part of it."""
    pieces = {sides: _pieces(*sides) for sides in module.connects}
    parts: dict[Chunk, Bits] = {}
    for found in pieces.values():
        for target, source in found:
            if not isinstance(source, str):
                parts.setdefault(source, target)
    turned: set[Piece] = set()
    for cell in module.cells:
        result = cell.ports.get("\\Y", ())
        whole = joined(tuple(parts.get(chunk, chunk) for chunk in result))
        # Only where all pieces together are one piece of one wire.
        if len(result) > len(whole) == 1:
            cell.ports["\\Y"] = whole
            turned.update((parts[chunk], chunk) for chunk in result if chunk in parts)
    module.connects = [
        sides
        for whole, found in pieces.items()
        for sides in ([_sides(p, turned) for p in found] if turned & set(found) else [whole])
    ]


def _sides(piece: Piece, turned: set[Piece]) -> tuple[Signal, Signal]:
    target, source = piece
    return ((source,), (target,)) if piece in turned else ((target,), (source,))


def _pieces(left: Signal, right: Signal) -> list[Piece]:
    """What is connected to a nameless wire, chunk by chunk."""
    found: list[Piece] = []
    targets = bits_of(left)
    for chunk in right:
        width = width_of((chunk,))
        target, targets = joined(targets[:width]), targets[width:]
        # A piece that goes to several places says nothing about one wire.
        if len(target) > 1 or isinstance(target[0], str) or target[0][0][0] != "$":
            return []
        found.append((target[0], chunk))
    return found
