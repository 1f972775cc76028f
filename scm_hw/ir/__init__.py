"""The integer-exact program: named operations on integers, and what they mean.

A `Program` is a straight line of immutable operations, each of which yields one integer per sample.
`print(program)` shows it; `ranges` bounds every value; `verify` checks the rules; and
`scm_hw.ir.interp` runs it.
"""

from scm_hw.ir.levels import level_bits
from scm_hw.ir.ops import (
    Argmax,
    AtLeast,
    Concat,
    Constant,
    Field,
    Input,
    Less,
    Majority,
    Op,
    Product,
    Ref,
    Select,
    Shift,
    Sum,
    Table,
    Xor,
    operands,
    with_operands,
)
from scm_hw.ir.part import (
    ARGMAX,
    INTERFACE,
    LINEAR,
    MECHANISM,
    PARITY,
    READOUT,
    SHARED,
    Kind,
    Part,
    node_part,
)
from scm_hw.ir.program import Builder, Program, as_json, describe, part_of
from scm_hw.ir.ranges import Range, range_of, ranges
from scm_hw.ir.verify import BrokenProgram, verify

__all__ = [
    "ARGMAX",
    "INTERFACE",
    "LINEAR",
    "MECHANISM",
    "PARITY",
    "READOUT",
    "SHARED",
    "Argmax",
    "AtLeast",
    "BrokenProgram",
    "Builder",
    "Concat",
    "Constant",
    "Field",
    "Input",
    "Kind",
    "Less",
    "Majority",
    "Op",
    "Part",
    "Product",
    "Program",
    "Range",
    "Ref",
    "Select",
    "Shift",
    "Sum",
    "Table",
    "Xor",
    "as_json",
    "describe",
    "level_bits",
    "node_part",
    "operands",
    "part_of",
    "range_of",
    "ranges",
    "verify",
    "with_operands",
]
