"""Small faults in the Verilog of a core, each in one place."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

_CONSTANT = re.compile(r"(\d+)'h([0-9a-f]+)")
_DECLARED = re.compile(
    r"^  (?:wire|reg|output)(?: (?:wire|reg))?(?: \[(\d+):0\])? (\S+?) ?(?:=.*)?;$"
)
_ASSIGN = re.compile(r"^  assign (\S+) +=(?! \{) (.*);$")
_CHOICE = re.compile(r"^(  assign .* \? )(.*)( : )(.*);$")
_DIFFERENCE = re.compile(r"^(  assign .* = )(.*) (-|<|>=) (.*);$")
_ARITHMETIC = re.compile(r" (\+|-|<|>=|<=|>) .*'h")
_ENTRY = re.compile(r"^    \S+\[\d+\] = \d+'h")
_CLOCKED = re.compile(r"^  always @\(posedge clk\)$")


@dataclass(frozen=True)
class Mutant:
    """A core with one fault."""

    kind: str
    line: int
    before: str
    after: str
    verilog: str

    def __str__(self) -> str:
        return f"{self.kind}, line {self.line}: {self.before.strip()} -> {self.after.strip()}"


def mutants(verilog: str, per_kind: int, seed: int = 0) -> list[Mutant]:
    """Up to so many faults of each kind, at random places."""
    lines = verilog.split("\n")
    chosen = []
    for kind, plant in KINDS.items():
        random = Random(f"{seed} {kind}")
        places = list(plant(lines, random))
        picked = random.sample(places, min(per_kind, len(places)))
        chosen += [_planted(kind, lines, number, after) for number, after in picked]
    return chosen


def _planted(kind: str, lines: list[str], number: int, after: str) -> Mutant:
    changed = [*lines[:number], after, *lines[number + 1 :]]
    return Mutant(kind, number + 1, lines[number], after, "\n".join(changed))


Places = Iterator[tuple[int, str]]


def _flipped_bit(lines: list[str], random: Random) -> Places:
    """A bit of a constant: a weight, an entry of a table or of a memory."""
    for number, line in enumerate(lines):
        if line.startswith("  assign ") or _ENTRY.match(line):
            for found in _CONSTANT.finditer(line):
                value = int(found[2], 16) ^ 1 << random.randrange(int(found[1]))
                yield number, _with(line, found, value)


def _off_by_one(lines: list[str], random: Random) -> Places:
    """A constant that something is added to, or compared with."""
    for number, line in enumerate(lines):
        if line.startswith("  assign ") and _ARITHMETIC.search(line):
            for found in _CONSTANT.finditer(line):
                value = int(found[2], 16) + random.choice([-1, 1])
                yield number, _with(line, found, value % (1 << int(found[1])))


def _with(line: str, found: re.Match[str], value: int) -> str:
    return f"{line[: found.start()]}{found[1]}'h{value:x}{line[found.end() :]}"


def _swapped_operands(lines: list[str], _: Random) -> Places:
    """The two sides of a choice, a difference or a comparison."""
    for number, line in enumerate(lines):
        if found := _CHOICE.match(line):
            yield number, f"{found[1]}{found[4]}{found[3]}{found[2]};"
        elif found := _DIFFERENCE.match(line):
            yield number, f"{found[1]}{found[4]} {found[3]} {found[2]};"


def _dropped_register(lines: list[str], _: Random) -> Places:
    for number, line in enumerate(lines):
        if _CLOCKED.match(line):
            yield number, "  always @*"


def _stuck_bit(lines: list[str], random: Random) -> Places:
    widths: dict[str, int] = {}
    for number, line in enumerate(lines):
        # Modules use the same names again, each after its own declarations.
        if found := _DECLARED.match(line):
            widths[found[2]] = int(found[1] or 0) + 1
        elif found := _ASSIGN.match(line):
            bit = 1 << random.randrange(widths.get(found[1], 1))
            stuck = random.choice([f"| {bit}", f"& ~{bit}"])
            yield number, f"  assign {found[1]} = ({found[2]}) {stuck};"


KINDS: dict[str, Callable[[list[str], Random], Places]] = {
    "flipped bit": _flipped_bit,
    "off by one": _off_by_one,
    "swapped operands": _swapped_operands,
    "dropped register": _dropped_register,
    "stuck bit": _stuck_bit,
}
