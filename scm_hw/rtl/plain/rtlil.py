"""RTLIL as Yosys writes it, without processes: read, changed and written again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

# Bits of a wire, from high to low, or constant bits as text, the highest first.
Bits = tuple[str, int, int]
Chunk = Bits | str
Signal = tuple[Chunk, ...]
"""The highest chunk first, as in the text."""

_TOKEN = re.compile(r"\{|\}|\[\d+(?::\d+)?\]|\d+'[01xzm-]*|[\\$]\S+|-?\d+")


@dataclass(slots=True)
class Wire:
    name: str
    width: int
    options: list[str]
    attributes: list[str]

    @property
    def is_port(self) -> bool:
        return any(word in ("input", "output", "inout") for word in self.options)


@dataclass(slots=True)
class Cell:
    type: str
    name: str
    attributes: list[str]
    parameters: dict[str, str]
    ports: dict[str, Signal]

    def number(self, parameter: str) -> int:
        return int(self.parameters[parameter])


@dataclass(slots=True)
class RtlModule:
    name: str
    attributes: list[str]
    wires: dict[str, Wire] = field(default_factory=dict)
    cells: list[Cell] = field(default_factory=list)
    connects: list[tuple[Signal, Signal]] = field(default_factory=list)

    def signals(self) -> Iterator[Signal]:
        """All that is read or driven in it."""
        for cell in self.cells:
            yield from cell.ports.values()
        for sides in self.connects:
            yield from sides


def width_of(signal: Signal) -> int:
    return sum(len(c) if isinstance(c, str) else c[1] - c[2] + 1 for c in signal)


def constant(signal: Signal) -> str | None:
    """Its bits, the highest first, if all are constant."""
    return "".join(map(str, signal)) if all(isinstance(c, str) for c in signal) else None


def names_in(signal: Signal) -> Iterator[str]:
    for chunk in signal:
        if not isinstance(chunk, str):
            yield chunk[0]


def bits_of(signal: Signal) -> Signal:
    """The same as chunks of one bit."""
    found: list[Chunk] = []
    for chunk in signal:
        if isinstance(chunk, str):
            found += chunk
        else:
            name, high, low = chunk
            found += [(name, place, place) for place in range(high, low - 1, -1)]
    return tuple(found)


def joined(bits: Signal) -> Signal:
    """Neighbours as one chunk."""
    found: list[Chunk] = []
    for bit in bits:
        before = found[-1] if found else None
        if isinstance(bit, str):
            if isinstance(before, str):
                found[-1] = before + bit
                continue
        elif isinstance(before, tuple) and before[0] == bit[0] and before[2] == bit[1] + 1:
            found[-1] = (before[0], before[1], bit[2])
            continue
        found.append(bit)
    return tuple(found)


def parse(text: str) -> list[RtlModule]:
    modules: list[RtlModule] = []
    attributes: list[str] = []
    cell: Cell | None = None
    for line in text.splitlines():
        line = line.strip()
        kind, _, rest = line.partition(" ")
        if kind == "attribute":
            # Attributes stand in front of what they belong to.
            attributes.append(line)
        elif kind == "module":
            modules.append(RtlModule(rest, attributes))
            attributes = []
        elif kind == "wire":
            *options, name = rest.split()
            modules[-1].wires[name] = Wire(name, _width(options), options, attributes)
            attributes = []
        elif kind == "cell":
            type_, name = rest.split()
            cell = Cell(type_, name, attributes, {}, {})
            modules[-1].cells.append(cell)
            attributes = []
        elif kind == "parameter":
            assert cell is not None
            # Text may have spaces in it; `signed` and `real` belong to the name.
            place = rest.find(' "') if '"' in rest else rest.rfind(" ")
            cell.parameters[rest[:place]] = rest[place + 1 :]
        elif kind == "connect":
            name, _, signal = rest.partition(" ")
            if cell is not None:
                cell.ports[name] = _signal(signal, modules[-1])
            else:
                sides = _sides(rest, modules[-1])
                modules[-1].connects.append(sides)
        elif kind == "end":
            # The end of a cell or of a module, in which no cell is open.
            cell = None
        else:
            assert not line or line[0] == "#" or kind == "autoidx", f"unknown RTLIL: {line}"
    return modules


def _width(options: list[str]) -> int:
    """Takes the width out of a wire's options."""
    if "width" not in options:
        return 1
    at = options.index("width")
    width = int(options[at + 1])
    del options[at : at + 2]
    return width


def _signal(text: str, module: RtlModule) -> Signal:
    (found,) = _signals(text, module)
    return found


def _sides(text: str, module: RtlModule) -> tuple[Signal, Signal]:
    left, right = _signals(text, module)
    return left, right


def _signals(text: str, module: RtlModule) -> list[Signal]:
    """The signals of a line, one after the other."""
    found: list[list[Chunk]] = []
    depth = 0
    for token in _TOKEN.findall(text):
        if token == "{":
            found.append([])
            depth += 1
        elif token == "}":
            depth -= 1
        elif token[0] == "[":
            name = found[-1][-1][0]
            high, _, low = token[1:-1].partition(":")
            found[-1][-1] = (name, int(high), int(low or high))
        else:
            if not depth:
                found.append([])
            found[-1].append(_chunk(token, module))
    return [tuple(chunks) for chunks in found]


def _chunk(token: str, module: RtlModule) -> Chunk:
    if token[0] in "\\$":
        return (token, module.wires[token].width - 1, 0)
    if "'" in token:
        width, _, bits = token.partition("'")
        # Leading zeros may be missing, and of undefined bits all but one.
        return bits.rjust(int(width), bits[0] if bits[0] in "xz" else "0")
    # A bare number has 32 bits in RTLIL.
    return f"{int(token) & 0xFFFFFFFF:032b}"


def unparse(modules: Iterable[RtlModule]) -> str:
    return "\n".join(line for module in modules for line in _module_lines(module)) + "\n"


def _module_lines(module: RtlModule) -> Iterator[str]:
    yield from module.attributes
    yield f"module {module.name}"
    for wire in module.wires.values():
        yield from wire.attributes
        yield " ".join(["wire", "width", str(wire.width), *wire.options, wire.name])
    for cell in module.cells:
        yield from cell.attributes
        yield f"cell {cell.type} {cell.name}"
        yield from (f"parameter {name} {value}" for name, value in cell.parameters.items())
        yield from (f"connect {name} {text_of(port)}" for name, port in cell.ports.items())
        yield "end"
    for left, right in module.connects:
        yield f"connect {text_of(left)} {text_of(right)}"
    yield "end"


def text_of(signal: Signal) -> str:
    return "{ " + " ".join(_chunk_text(chunk) for chunk in signal) + " }"


def _chunk_text(chunk: Chunk) -> str:
    if isinstance(chunk, str):
        return f"{len(chunk)}'{chunk}"
    name, high, low = chunk
    return f"{name} [{high}:{low}]"
