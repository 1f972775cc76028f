"""A readout that can be loaded: what stays logic, and the tables that the rest is made of.

Every output is the sum of a fixed part (linear, mechanism) and of one entry of each of its tables:
a table for each few nodes, addressed by their bits, or one for each family. Other coefficients are
other entries. The intercept is added to all entries of an output's first table, since one of them
is always chosen.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from scm_hw.errors import OptionError, UnsupportedModelError
from scm_hw.ir import READOUT, Builder, Input, Program, Range, Ref, Sum, as_json, operands, ranges
from scm_hw.ir.ops import with_operands
from scm_hw.load.lowered import Lowered
from scm_hw.load.sections import BANK, DIGEST_BYTES, UploadPlan
from scm_model import Model
from scm_model.fixed_point import FixedPoint, cut, quantise

# With the bit of the bank, five bits are what distributed RAM of the 7 series is deep.
NODES_PER_TABLE = 4
# Bits by which a later model's entries may outgrow those of the built-in one.
HEADROOM = 1

Contents = tuple[tuple[int, ...], ...]
"""The entries of every table."""


@dataclass(frozen=True)
class TablePlan:
    """A table of one output: addressed by some hidden bits, the first of them the lowest.

    Its entries have `width` bits, two's complement, and count `2**shift` each in the sum.
    """

    output: int
    bits: tuple[int, ...]
    width: int
    shift: int

    @property
    def depth(self) -> int:
        return 1 << len(self.bits)


@dataclass(frozen=True)
class ReadoutPlan:
    """The tables behind a program whose outputs are hidden bits and then the fixed parts.

    `fixed` has the range of each output's fixed part, None where there is none. `kind` says what
    leaves the core: the scores, their "sign", or the position of the greatest ("argmax").
    """

    tables: tuple[TablePlan, ...]
    hidden_bits: int
    fixed: tuple[Range | None, ...]
    spare_bits: int
    kind: str
    widths: tuple[int, int]
    """Widths of the first table of every output, which has its constant, and of the others."""
    digest: bytes
    """The hash of all that an upload must agree with."""
    models: int = 1
    """How many the tables hold; with several, the last output of the program says which."""

    @property
    def depth(self) -> int:
        """Entries that an upload has for every table; a smaller one has them several times."""
        return max(table.depth for table in self.tables)

    @property
    def entry_bytes(self) -> int:
        return -(-max(table.width for table in self.tables) // 8)

    @property
    def upload(self) -> UploadPlan:
        return UploadPlan(
            self.digest, ((self.depth, self.entry_bytes),) * len(self.tables), self.models
        )

    @property
    def outputs(self) -> int:
        return len(self.fixed)

    def score_range(self, output: int) -> Range:
        """All that any contents can give, before spare bits are dropped."""
        low, high = self.fixed[output] or (0, 0)
        for table in self.tables:
            if table.output == output:
                reach = 1 << table.width - 1 << table.shift
                low, high = low - reach, high + reach - (1 << table.shift)
        return Range(low, high)

    def output_ranges(self) -> list[Range]:
        if self.kind != "scores":
            return [Range(0, max(self.outputs - 1, 1))]
        found = [self.score_range(j) for j in range(self.outputs)]
        return [Range(low >> self.spare_bits, high >> self.spare_bits) for low, high in found]


@dataclass(frozen=True, eq=False)
class LoadableReadout:
    """The program in front of the readout, the plan of its tables, and what they hold at first."""

    program: Program
    plan: ReadoutPlan
    contents: Contents


def loadable(
    model: Model,
    lowered: Lowered,
    fixed: FixedPoint,
    widths: tuple[int, int] | None = None,
    models: int = 1,
) -> LoadableReadout:
    """The model with its readout apart.

    `widths` are those of the tables of a core that is there already; without them the entries have
    the bits that the model needs, and some to spare.
    """
    places = _table_bits(model, lowered)
    program, hidden = _without_readout(lowered, places)
    groups = tuple(tuple(hidden[ref] for ref in refs) for refs in places)
    contents = tuple(
        entries for j in range(model.outputs) for entries in _entries(model, fixed, places, j)
    )
    shift = fixed.sum_bits - fixed.frac_bits
    if widths is None:
        widths = _widths(contents, fixed.constant.tolist(), shift)
    tables = tuple(
        TablePlan(j, bits, widths[bool(number)], shift if number else 0)
        for j in range(model.outputs)
        for number, bits in enumerate(groups)
    )
    known = ranges(program)
    # Behind the hidden bits come the fixed parts, of those outputs that have one.
    rest = iter(known[ref] for ref in program.outputs[len(hidden) :])
    if models > 1:
        program = with_bank(program, models)
        program = replace(program, outputs=(*program.outputs, program.inputs[-1]))
    plan = ReadoutPlan(
        tables,
        len(hidden),
        tuple(next(rest) if _fixed_terms(lowered, j) else None for j in range(model.outputs)),
        fixed.spare_bits,
        _kind(model),
        widths,
        b"",
        models,
    )
    digest = _digest(model, fixed, program, plan)
    return LoadableReadout(program, replace(plan, digest=digest), contents)


def with_bank(program: Program, models: int) -> Program:
    """The same program with the field that says which of several models a sample is for."""
    if models == 1:
        return program
    build = Builder(list(program.ops))
    names = {op.name for op in program.input_ops()}
    field = Input(len(program.inputs), 0, models - 1, name=unused(BANK, names))
    return build.program((*program.inputs, build.add(field)), program.outputs)


def unused(name: str, taken: set[str]) -> str:
    """What a port is called whose name may be taken."""
    while name in taken:
        name += "_"
    return name


def reload_fixed_point(model: Model, frac_bits: int, output_bits: int | None) -> FixedPoint:
    """The coefficients of a model on the grid of a core that is there.

    Each is rounded by itself, so that the fixed part doesn't depend on the readout.
    """
    fixed = quantise(model, frac_bits)
    return fixed if output_bits is None else cut(model, fixed, output_bits)


def _kind(model: Model) -> str:
    if not model.is_classifier:
        return "scores"
    return "sign" if model.decides_by_sign else "argmax"


# Tables


def _table_bits(model: Model, lowered: Lowered) -> list[tuple[Ref, ...]]:
    """The hidden bits that address each table of an output."""
    nodes = lowered.readout.refs
    if not nodes:
        raise UnsupportedModelError(
            "model must have hidden nodes for --reload readout, not a linear part alone; "
            "train with nodes, or leave --reload out"
        )
    if model.families is None:
        starts = range(0, len(nodes), NODES_PER_TABLE)
        return [nodes[start : start + NODES_PER_TABLE] for start in starts]
    last = lowered.layers[-1].nodes
    supports = model.families.supports.tolist()
    return [tuple(last[place] for place in support if place >= 0) for support in supports]


def _entries(
    model: Model, fixed: FixedPoint, places: list[tuple[Ref, ...]], output: int
) -> list[tuple[int, ...]]:
    """The entries of an output's tables, the first with the constant."""
    shift = fixed.sum_bits - fixed.frac_bits
    column = fixed.readout[:, output] >> shift
    found = []
    start = 0
    if model.families is not None:
        start = len(column) - int(model.families.sizes.sum())
        if column[:start].any():
            raise UnsupportedModelError(
                "model must read its families alone for --reload readout, not nodes besides; "
                "leave --reload out"
            )
    for number, refs in enumerate(places):
        size = 1 << len(refs)
        if model.families is None:
            # Each address adds up the coefficients of the nodes that are set in it.
            bits = np.arange(size)[:, None] >> np.arange(len(refs)) & 1
            entries = (bits @ column[start : start + len(refs)]).tolist()
            start += len(refs)
        else:
            stop = start + int(model.families.sizes[number])
            entries = [*column[start:stop].tolist()]
            entries += [0] * (size - len(entries))
            start = stop
        if number == 0:
            entries = [(entry << shift) + int(fixed.constant[output]) for entry in entries]
        found.append(tuple(entries))
    return found


def _widths(contents: Contents, constants: Sequence[int], shift: int) -> tuple[int, int]:
    """Widths of the first table of any output, which has the constant, and of the others.

    All have room for what any of them holds, so that another model may weigh other nodes most.
    """
    each = len(contents) // len(constants)
    least = most = 0
    for number, entries in enumerate(contents):
        output, table = divmod(number, each)
        if table == 0:
            entries = tuple((entry - constants[output]) >> shift for entry in entries)
        least, most = min(least, *entries), max(most, *entries)
    rest = _width(((least, most),)) + HEADROOM
    constant = _width((tuple(constants),)) + HEADROOM
    return max(rest + shift, constant) + 1, rest


def _width(tables: Contents) -> int:
    """Bits of two's complement for all entries."""
    # -1 among them keeps a place for the sign.
    entries = [entry for table in tables for entry in table]
    return Range(min(*entries, -1), max(entries)).width


def check_entries(tables: Sequence[TablePlan], contents: Contents) -> None:
    """OptionError where an entry has no place in its table."""
    for table, entries in zip(tables, contents, strict=True):
        needed = _width((entries,))
        if needed > table.width:
            raise OptionError(
                f"readout must fit tables of {table.width} bits, not {needed}; fit it again with "
                "a stronger --ridge, or build that model"
            )


# What stays logic


def _fixed_terms(lowered: Lowered, output: int) -> list[tuple[Ref, int]]:
    kinds = (lowered.linear, lowered.external, lowered.mechanism)
    return [term for kind in kinds for term in kind.of_output(output)]


def _without_readout(
    lowered: Lowered, places: list[tuple[Ref, ...]]
) -> tuple[Program, dict[Ref, int]]:
    """Hidden bits and fixed parts as outputs; and the position of each bit among them."""
    source = lowered.program
    bits = list(dict.fromkeys(ref for refs in places for ref in refs))
    terms = [found for j in range(len(lowered.scores)) if (found := _fixed_terms(lowered, j))]
    live = set(bits) | {ref for found in terms for ref, _ in found} | set(source.inputs)
    # Readers stand behind what they read, so one walk backwards finds all that is needed.
    for ref in reversed(range(len(source.ops))):
        if ref in live:
            live.update(operands(source.ops[ref]))
    build, new = Builder(), dict[Ref, Ref]()
    for ref in sorted(live):
        op = source.ops[ref]
        new[ref] = build.add(with_operands(op, tuple(new[r] for r in operands(op))))
    with build.within(READOUT):
        parts = []
        for number, found in enumerate(terms):
            refs, weights = zip(*found, strict=True)
            new_refs = tuple(new[ref] for ref in refs)
            parts.append(build.add(Sum(new_refs, weights, name=f"fixed{number}")))
    inputs = tuple(new[ref] for ref in source.inputs)
    # Equal nodes are one operation, and yet each has its bit.
    outputs = tuple(new[ref] for ref in bits)
    return build.program(inputs, (*outputs, *parts)), {ref: i for i, ref in enumerate(bits)}


def _digest(model: Model, fixed: FixedPoint, program: Program, plan: ReadoutPlan) -> bytes:
    """The hash of hidden layers and formats: where it is equal, a readout means the same."""
    # Ranges too: in others the same integers would stand for other values.
    low, high = model.signal_ranges
    facts: dict[str, object] = {
        "program": as_json(program),
        "tables": [(t.output, t.bits, t.width, t.shift) for t in plan.tables],
        "kind": plan.kind,
        "bits": (fixed.frac_bits, fixed.sum_bits, fixed.grid_bits),
        "inputs": (low.tolist(), high.tolist()),
        "targets": (list(model.targets), model.target_min.tolist(), model.target_max.tolist()),
        "classes": None if model.classes is None else list(model.classes),
    }
    if plan.models > 1:
        facts["models"] = plan.models
    text = json.dumps(facts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).digest()[:DIGEST_BYTES]
