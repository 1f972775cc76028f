"""The layout as Verilog."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from bench.trees.netlist import Branch, Layout, Node, lay_out, tree_name
from bench.trees.quantised import Quantised

__all__ = ["LATENCY", "NAME", "TEMPLATES", "output_bits", "to_verilog"]

NAME = "boosted_trees"
#: Cycles from input to output: a register behind the trees, one behind the sums.
LATENCY = 2

TEMPLATES = Environment(loader=FileSystemLoader(Path(__file__).parent), undefined=StrictUndefined)


def to_verilog(model: Quantised) -> str:
    """One module; the first feature is in the lowest bits of `in_data`."""
    layout = lay_out(model)
    out_width = output_bits(model, layout)
    matches, result = _decision(model, layout, out_width)
    return TEMPLATES.get_template("core.v.jinja").render(
        name=NAME,
        in_width=model.features * model.feature_bits,
        out_width=out_width,
        keys=[_comparison(*key, model.feature_bits) for key in layout.keys],
        trees=[
            {"name": tree_name(*place), "bits": _bits(most), "logic": _logic(node, _bits(most))}
            for place, (node, most) in layout.trees.items()
        ],
        adders=[
            {"name": a.total[1], "bits": _bits(a.total[0]), "left": a.left[1], "right": a.right[1]}
            for a in layout.adders
        ],
        totals=[{"name": name, "bits": _bits(most)} for most, name in layout.totals],
        matches=matches,
        result=result,
    )


def output_bits(model: Quantised, layout: Layout) -> int:
    """Of a regression the bits of its sum, else of the index of a class."""
    if model.classes is None:
        return _bits(layout.totals[0][0])
    return _bits(len(model.classes) - 1)


def _bits(most: int) -> int:
    return max(1, most.bit_length())


def _comparison(feature: int, threshold: int, bits: int) -> str:
    names = [f"in_data[{feature * bits + bit}]" for bit in range(bits)]
    return _at_least(names, threshold)


def _at_least(names: Sequence[str], threshold: int) -> str:
    """Whether a word is at least a threshold: a chain of ANDs and ORs from the lowest bit up.

    Bits below the threshold's lowest one do not matter.
    """
    if threshold <= 0:
        return "1'd1"
    if threshold >> len(names):
        return "1'd0"
    first = (threshold & -threshold).bit_length() - 1
    text = names[first]
    for bit in range(first + 1, len(names)):
        text = f"({text} {'&' if threshold >> bit & 1 else '|'} {names[bit]})"
    return text


def _logic(node: Node, bits: int) -> str:
    if isinstance(node, Branch):
        return f"(k{node.key} ? {_logic(node.high, bits)} : {_logic(node.low, bits)})"
    return f"{bits}'d{node}"


def _decision(
    model: Quantised, layout: Layout, out_width: int
) -> tuple[list[dict[str, str | int]], str]:
    """Matches between two classes at a time, and what comes out in the end."""
    if model.classes is None:
        return [], "sum0"
    if model.outputs == 1:
        names = [f"sum0[{bit}]" for bit in range(_bits(layout.totals[0][0]))]
        return [], _at_least(names, -int(model.constants[0]))
    # Of two equal sums the earlier class wins: it is always the first of a match.
    players = [
        (f"sum{i}", f"{out_width}'d{i}", _bits(most)) for i, (most, _) in enumerate(layout.totals)
    ]
    matches: list[dict[str, str | int]] = []
    while len(players) > 1:
        following = []
        for first, second in zip(players[::2], players[1::2], strict=False):
            name = f"m{len(matches)}"
            bits = max(first[2], second[2])
            matches.append(
                {
                    "name": name,
                    "bits": bits,
                    "first": first[0],
                    "second": second[0],
                    "first_class": first[1],
                    "second_class": second[1],
                }
            )
            following.append((name, f"{name}_class", bits))
        players = following + players[len(players) // 2 * 2 :]
    return matches, players[0][1]
