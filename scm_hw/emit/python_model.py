"""The machine in Python that needs nothing else: integers in, those of out_data out."""

from __future__ import annotations

from scm_hw.common.names import DEFAULT, Names
from scm_hw.common.templates import render
from scm_hw.ir import (
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
    Program,
    Select,
    Shift,
    Sum,
    Table,
    Xor,
)
from scm_hw.load.records import Records


def python_model_files(
    program: Program, digest: str, names: Names = DEFAULT, records: Records | None = None
) -> dict[str, str]:
    """File name to text, for the literal program; with `records` it keeps the past itself."""
    feedback = records is not None and records.feedback
    text = render(
        __package__,
        "model.py.txt",
        names=names,
        formats=names.formats_module.removesuffix(".py"),
        digest=digest,
        lines=[f"v{ref} = {_expression(op)}" for ref, op in program],
        outputs=[f"v{ref}" for ref in program.outputs],
        records=records,
        tops=[reach.high for reach in records.outputs(program)[:-1]] if feedback else [],
    )
    return {names.python_model: text}


def _expression(op: Op) -> str:
    match op:
        case Input():
            return f"inputs[{op.position}]"
        case Constant():
            return str(op.value)
        case AtLeast():
            return f"int(v{op.value} >= {op.bound})"
        case Field():
            bits = f"v{op.value} >> {op.offset} & {(1 << op.width) - 1}"
            half = 1 << op.width - 1
            # With its sign bit inverted the word is too large by `half`, whatever its sign.
            return f"(({bits}) ^ {half}) - {half}" if op.signed else bits
        case Shift():
            return f"v{op.value} >> {op.bits}"
        case Xor():
            return " ^ ".join(f"v{ref}" for ref in op.operands)
        case Majority():
            a, b, c = (f"v{ref}" for ref in op.operands)
            return f"{a} & {b} | {c} & ({a} | {b})"
        case Sum():
            terms = zip(op.operands, op.weights, strict=True)
            return " + ".join([str(op.constant), *(f"{w} * v{ref}" for ref, w in terms)])
        case Product():
            return f"v{op.left} * v{op.right}"
        case Concat():
            return _side_by_side(op)
        case Table():
            return f"{op.contents}[v{op.index}]"
        case Less():
            return f"int(v{op.left} < v{op.right})"
        case Select():
            return f"v{op.chosen} if v{op.condition} else v{op.other}"
        case Argmax():
            scores = ", ".join(f"v{ref}" for ref in op.operands)
            return f"_first_largest(({scores},))"


def _side_by_side(op: Concat) -> str:
    parts, offset = [], 0
    for ref, width in zip(op.operands, op.widths, strict=True):
        parts.append(f"v{ref} << {offset}")
        offset += width
    return " | ".join(parts)
