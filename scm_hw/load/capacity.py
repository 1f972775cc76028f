"""What an SCM processor has room for, whatever model it is given.

A processor is built for a capacity instead of a model: a program of steps and rows of coefficients
are loaded, and any model whose steps and rows fit runs without synthesis.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass
from functools import cached_property

from scm_hw.errors import OptionError
from scm_hw.ir import Range
from scm_hw.load.sections import DIGEST_BYTES, UploadPlan

# A coefficient and a code, or a power of two, are multiplied in one DSP block.
COEFFICIENT_BITS = 24
# Fraction bits of coefficients at least, so that a later model isn't held to those of the first.
LEAST_FRAC_BITS = 14
# Bits that outputs may outgrow those of the built-in model, and that a sum may besides.
HEADROOM, GUARD_BITS = 2, 4
MAX_CODE_BITS = 16
# Bits of the address of a table: more are tables of more rows than any processor has.
MAX_ADDRESS_BITS = 8
# Nodes read this many bits of the layers before in one step.
LEAST_LANES = 16

_LIMITS = {
    "inputs": 256,
    "nodes": 65_536,
    "layers": 64,
    "outputs": 64,
    "steps": 65_536,
    "bits": 4096,
}
_NEEDED = ("inputs", "nodes", "layers", "outputs")
_PART = re.compile(r"(\d+)\s*([a-z]+)")


@dataclass(frozen=True)
class Room:
    """What a model takes, or a processor has: the words of `--capacity`.

    `nodes` are those of the model file, in which a family of five bits has 32. `steps` are those of
    a program, and `bits` the coded inputs and nodes that are stored for later nodes.
    """

    inputs: int
    nodes: int
    layers: int
    outputs: int
    steps: int
    bits: int

    def __post_init__(self) -> None:
        for name, most in _LIMITS.items():
            value = getattr(self, name)
            if not 1 <= value <= most:
                raise OptionError(f"capacity in {name} must be in [1, {most}], not {value}")

    def __str__(self) -> str:
        return ",".join(f"{value} {name}" for name, value in asdict(self).items())


def parse_room(text: str) -> Room:
    """The room that `--capacity` describes; steps and bits follow from the rest unless given."""
    found: dict[str, int] = {}
    for part in text.split(","):
        match = _PART.fullmatch(part.strip().lower())
        # A single one may be written without its s, as in "1 layer".
        name = (
            ""
            if match is None
            else next((known for known in _LIMITS if known in (match[2], f"{match[2]}s")), "")
        )
        if match is None or not name or name in found:
            raise OptionError(
                "capacity must be numbers of inputs, nodes, layers and outputs, such as "
                f"'16 inputs,400 nodes,3 layers,4 outputs', not {text!r}"
            )
        found[name] = int(match[1])
    missing = [name for name in _NEEDED if name not in found]
    if missing:
        raise OptionError(f"capacity must say how many {missing[0]} there are, not {text!r}")
    inputs, nodes = found["inputs"], found["nodes"]
    found.setdefault("steps", min(max(2048, nodes // 2) + 32 * inputs, _LIMITS["steps"]))
    found.setdefault("bits", min(32 * inputs + nodes, 2048))
    return Room(**found)


def room_to_grow(used: Room) -> Room:
    """Half as much again as a model takes, and a step for what it has none of."""
    grown = {name: min(value + value // 2 + 1, _LIMITS[name]) for name, value in vars(used).items()}
    return Room(**{**grown, "inputs": used.inputs + 1, "outputs": used.outputs})


@dataclass(frozen=True)
class Capacity:
    """A processor: its room, and the bits of everything that is loaded or goes in and out.

    With `classes` what leaves it is the position of the greatest of its scores. `models` is how
    many models it holds.
    """

    room: Room
    code_bits: int
    frac_bits: int
    output_bits: int
    classes: bool
    models: int = 1

    def __post_init__(self) -> None:
        if self.code_bits > MAX_CODE_BITS:
            raise OptionError(
                f"input bits must be at most {MAX_CODE_BITS} for --reload all, not "
                f"{self.code_bits}; train again with --input-bits {MAX_CODE_BITS} or less"
            )

    @property
    def rows(self) -> int:
        """Rows of coefficients: of nodes and tables, of codes, and of constants."""
        return self.room.nodes + 8 * self.room.inputs + 8

    @property
    def lanes(self) -> int:
        """Stored bits that a step reads; its masks also hold the limits of a code."""
        return max(LEAST_LANES, self.code_bits + 1)

    @property
    def words(self) -> int:
        """Words of stored bits."""
        return -(-self.room.bits // self.lanes)

    @property
    def source_bits(self) -> int:
        """Bits of the number of an input, or of a word of stored bits."""
        return max((max(self.room.inputs, self.words) - 1).bit_length(), 1)

    @property
    def sum_bits(self) -> int:
        """Bits of the signed sum that makes a bit: codes of every input, or all stored bits."""
        reach = max(self.room.inputs << self.code_bits + 1, self.room.bits)
        return reach.bit_length() + 2

    @property
    def total_bits(self) -> int:
        """Bits of the signed sum of an output."""
        return COEFFICIENT_BITS + self.code_bits + GUARD_BITS

    @property
    def grid_bits(self) -> int:
        """Fraction bits of every output."""
        return self.frac_bits + self.code_bits

    @property
    def row_bits(self) -> int:
        return COEFFICIENT_BITS * self.room.outputs

    @cached_property
    def step_widths(self) -> dict[str, int]:
        """The fields of a step, the first in its lowest bits."""
        return {
            "kind": 2,
            "end": 1,
            "store": 1,
            "add": 1,
            "address": 1,
            "look": 1,
            "last": 1,
            "negative": 1,
            "above": 1,
            "width": 5,
            "shift": 5,
            "source": self.source_bits,
            "low": self.lanes,
            "high": self.lanes,
            "threshold": self.sum_bits,
        }

    @property
    def step_bits(self) -> int:
        return sum(self.step_widths.values())

    @property
    def digest(self) -> bytes:
        """The hash of all that an upload must agree with."""
        text = json.dumps({"processor": 1, **asdict(self)}, sort_keys=True)
        return hashlib.sha256(text.encode()).digest()[:DIGEST_BYTES]

    @property
    def upload(self) -> UploadPlan:
        sections = ((self.room.steps, -(-self.step_bits // 8)), (self.rows, -(-self.row_bits // 8)))
        return UploadPlan(self.digest, sections, self.models)

    def input_ranges(self) -> list[Range]:
        return [Range(0, (1 << self.code_bits) - 1)] * self.room.inputs

    def output_ranges(self) -> list[Range]:
        if self.classes:
            return [Range(0, max(self.room.outputs - 1, 1))]
        half = 1 << self.output_bits - 1
        return [Range(-half, half - 1)] * self.room.outputs
