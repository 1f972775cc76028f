"""Cells as expressions that need no rule of the language to be understood: equal widths, choices
of two, and tables that are indexed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from scm_hw.rtl.plain.rtlil import (
    Cell,
    RtlModule,
    Signal,
    Wire,
    bits_of,
    constant,
    joined,
    width_of,
)

_MODULAR = ("$add", "$sub", "$and", "$or", "$xor", "$xnor")
_UNARY = ("$not", "$neg", "$pos")
_COMPARISONS = ("$eq", "$ne", "$lt", "$le", "$gt", "$ge")
# A table of more bits than that is a memory elsewhere.
_LARGEST_TABLE = 1 << 16


def plain_cells(module: RtlModule) -> list[Cell]:
    """The cells of a module, each as one or several plain ones."""
    return [plain for cell in module.cells for plain in _plain(cell, module)]


def _plain(cell: Cell, module: RtlModule) -> Iterator[Cell]:
    if cell.type == "$pmux":
        yield from _choices(cell, module)
        return
    if cell.type == "$sdffce":
        yield _reset_as_choice(cell, module)
    for kinds, change in _CHANGES:
        if cell.type in kinds:
            change(cell)
    yield cell


def _choices(cell: Cell, module: RtlModule) -> Iterator[Cell]:
    """One choice of two after the other, since at most one of the selecting bits is set.

    A `$pmux` has two words at least.
    """
    width = cell.number("\\WIDTH")
    result = cell.ports["\\A"]
    selects = _split(cell.ports["\\S"], 1)
    words = _split(cell.ports["\\B"], width)
    if set(constant(result) or "0") == {"x"}:
        # One of them is always chosen.
        result, selects, words = words[0], selects[1:], words[1:]
    for place, (select, word) in enumerate(zip(selects, words, strict=True)):
        last = place == len(words) - 1
        target = cell.ports["\\Y"] if last else _new_wire(module, f"{cell.name}_{place}", width)
        ports = {"\\A": result, "\\B": word, "\\S": select, "\\Y": target}
        yield Cell("$mux", f"{cell.name}_{place}", [], {"\\WIDTH": str(width)}, ports)
        result = target


def _reset_as_choice(cell: Cell, module: RtlModule) -> Cell:
    """What a register takes when it is enabled; its reset would be an `else` of two `if`."""
    width = cell.number("\\WIDTH")
    value: Signal = (cell.parameters.pop("\\SRST_VALUE").partition("'")[2],)
    sides = [cell.ports["\\D"], value]
    if not int(cell.parameters.pop("\\SRST_POLARITY")[-1]):
        sides.reverse()
    target = _new_wire(module, f"{cell.name}_d", width)
    ports = {"\\A": sides[0], "\\B": sides[1], "\\S": cell.ports.pop("\\SRST"), "\\Y": target}
    cell.type, cell.ports["\\D"] = "$dffe", target
    return Cell("$mux", f"{cell.name}_mux", [], {"\\WIDTH": str(width)}, ports)


def _new_wire(module: RtlModule, name: str, width: int) -> Signal:
    private = "$" + name.lstrip("\\$")
    while private in module.wires:
        private += "_"
    module.wires[private] = Wire(private, width, [], [])
    return ((private, width - 1, 0),)


def _split(signal: Signal, width: int) -> list[Signal]:
    """Its words, the lowest first."""
    bits = bits_of(signal)
    return [joined(bits[end - width : end]) for end in range(len(bits), 0, -width)]


def _index_table(cell: Cell) -> None:
    """A constant that is shifted to the right, as a table of which some bits are chosen."""
    table, index = constant(cell.ports["\\A"]), cell.ports["\\B"]
    if table is None or cell.number("\\B_SIGNED") or cell.number("\\A_SIGNED"):
        return
    # The index counts entries and is shifted by their width (`rtl.values`): its low bits are zeros.
    step = index[-1]
    low = len(step) - len(step.rstrip("0")) if isinstance(step, str) else 0
    reach = (1 << width_of(index)) - (1 << low)
    size = reach + cell.number("\\Y_WIDTH")
    if size > _LARGEST_TABLE:
        return
    cell.type = "$shiftx"
    # Zeros above, as a shift brings them in: no index reaches beyond the table then.
    _set(cell, "\\A", (table.rjust(size, "0")[-size:],))


def _compare_with_zero(cell: Cell) -> None:
    width = cell.number("\\A_WIDTH")
    if width > 1:
        cell.type = "$eq"
        _set(cell, "\\B", ("0" * width,))
        cell.parameters["\\A_SIGNED"] = cell.parameters["\\B_SIGNED"] = "0"


def _as_wide_as_result(cell: Cell) -> None:
    """The lowest bits of a result depend on as many of the operands alone."""
    width, sides = cell.number("\\Y_WIDTH"), [p for p in ("\\A", "\\B") if p in cell.ports]
    signed = all(cell.number(f"{side}_SIGNED") for side in sides)
    for side in sides:
        _set(cell, side, _resized(cell.ports[side], width, signed))
        cell.parameters[f"{side}_SIGNED"] = "0"


def _as_wide_as_other(cell: Cell) -> None:
    sides = ("\\A", "\\B")
    signed = all(cell.number(f"{side}_SIGNED") for side in sides)
    width = max(width_of(cell.ports[side]) for side in sides)
    for side in sides:
        _set(cell, side, _resized(cell.ports[side], width, signed))
        cell.parameters[f"{side}_SIGNED"] = str(int(signed))


def _resized(signal: Signal, width: int, signed: bool) -> Signal:
    own = width_of(signal)
    if own == width:
        return signal
    bits = bits_of(signal)
    if own > width:
        return joined(bits[own - width :])
    above = bits[:1] if signed else ("0",)
    return above * (width - own) + signal if signed else ("0" * (width - own), *signal)


def _set(cell: Cell, port: str, signal: Signal) -> None:
    cell.ports[port] = signal
    cell.parameters[f"{port}_WIDTH"] = str(width_of(signal))


_CHANGES: tuple[tuple[tuple[str, ...], Callable[[Cell], None]], ...] = (
    (("$shift", "$shr"), _index_table),
    (("$logic_not",), _compare_with_zero),
    ((*_MODULAR, *_UNARY), _as_wide_as_result),
    (_COMPARISONS, _as_wide_as_other),
)
