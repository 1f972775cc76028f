"""The past of a machine with memory in C: one array, the codes of a source side by side."""

from __future__ import annotations

from dataclasses import dataclass

from scm_hw.emit.c.program import c_type, literal
from scm_hw.ir import Program, ranges
from scm_hw.load.records import Records


@dataclass(frozen=True)
class History:
    """What the template needs to keep the past of a machine.

    `past` is as long as `rest`, its contents before a record begins. A source has its places in it
    in a row, the newest code first, so that one loop moves all of them on; `newest` are the first
    places of each and what goes there. `now` are the signals that are read, with their largest
    codes, `tops` the largest outputs that are fed back. Bits of `nodes` come behind the outputs.
    """

    in_type: str
    out_type: str
    now: tuple[tuple[int, str], ...]
    taps: tuple[str, ...]
    newest: tuple[tuple[int, str], ...]
    rest: tuple[int, ...]
    tops: tuple[str, ...]
    depth: int
    nodes: int


def history_of(records: Records, program: Program) -> History:
    """The history around a program."""
    signals = len(records.signals)
    sources = range(len(records.widths))
    lengths = [records.longest(source) for source in sources]
    starts = [sum(lengths[:source]) for source in sources]
    outputs = records.outputs(program)
    known = ranges(program)
    in_type = c_type([*records.inputs, *(known[ref] for ref in program.inputs)])
    values = [f"now_{i}" for i in range(signals)]
    values += [f"({in_type})(outputs[{j}] >> {records.shift})" for j in range(len(outputs) - 1)]
    # A classifier has a source for each class, though only their winner leaves.
    values += ["0"] * (records.nodes_from - len(values))
    values += [
        f"results[{len(outputs) - 1 + node}] != 0 ? {literal((1 << records.widths[-1]) - 1)} : 0"
        for node in range(records.nodes)
    ]
    read = {tap.source for tap in records.taps}
    return History(
        in_type=in_type,
        out_type=c_type([*outputs, *(known[ref] for ref in program.outputs)]),
        now=tuple(
            (i, literal((1 << width) - 1))
            for i, width in enumerate(records.widths[:signals])
            if i in read
        ),
        taps=tuple(
            f"memory->past[{starts[source] + lag - 1}]" if lag else values[source]
            for source, lag in records.taps
        ),
        newest=tuple((starts[s], values[s]) for s in sources if lengths[s]),
        # An array of C has at least one element.
        rest=tuple(records.rest[s] for s in sources for _ in range(lengths[s])) or (0,),
        tops=tuple(literal(reach.high) for reach in outputs[:-1]) if records.feedback else (),
        depth=records.depth,
        nodes=records.nodes,
    )
