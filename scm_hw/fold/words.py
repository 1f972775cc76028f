"""What the memories of a folded core hold, word by word in the order of the steps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scm_hw.fold.engines import Engine, LayerPlan, ReadoutPlan
from scm_hw.fold.machine import Bits, Integers, coefficient_bits


def sign_words(engine: Engine) -> list[int]:
    """A word for each chunk of each group: nodes in the high places, inputs in the low ones."""
    return [word for plan in engine.layers for word in _layer_signs(plan, engine.masked)]


def _layer_signs(plan: LayerPlan, masked: bool) -> list[int]:
    """Lanes beyond the last input have a sign that leaves their zero as it is."""
    layer, fold, words = plan.layer, plan.fold, []
    for first in range(0, layer.nodes, fold.pe):
        for start in range(0, layer.inputs, fold.simd):
            # All ones, from which what isn't set is removed: lanes beyond the last node or input
            # keep theirs.
            signs = present = (1 << fold.lanes) - 1
            for pe, node in enumerate(range(first, min(first + fold.pe, layer.nodes))):
                place = pe * fold.simd
                chunk = slice(start, start + fold.simd)
                signs ^= _packed_bits(~layer.signs[node, chunk]) << place
                if layer.present is not None:
                    present ^= _packed_bits(~layer.present[node, chunk]) << place
            words.append(signs | present << fold.lanes if masked else signs)
    return words


def threshold_words(engine: Engine) -> list[int]:
    """A word for each group of nodes; nodes beyond the last are never looked at."""
    pe = engine.fold.pe
    return [
        packed(plan.layer.thresholds[first : first + pe], engine.sum_bits)
        for plan in engine.layers
        for first in range(0, plan.layer.nodes, pe)
    ]


def readout_words(coefficients: Integers, plan: ReadoutPlan) -> list[int]:
    """A word for each step: for each of its nodes the coefficients of every output.

    Lanes that hold no node have none.
    """
    words: list[int] = []
    start = 0
    for layer in plan.layers:
        pe, count = layer.fold.pe, layer.layer.nodes
        nodes = np.zeros((layer.groups * pe, plan.outputs), dtype=np.int64)
        nodes[:count] = coefficients[start : start + count]
        padded = np.zeros((layer.groups, plan.slots(layer) * plan.lanes, plan.outputs), np.int64)
        padded[:, :pe] = nodes.reshape(layer.groups, pe, plan.outputs)
        rows = padded.reshape(-1, plan.lanes * plan.outputs).tolist()
        words += [packed(row, plan.coefficient_bits) for row in rows]
        start += count
    return words


def linear_words(coefficients: Integers) -> list[int]:
    """A word for each code: its weights for every output."""
    width = coefficient_bits(coefficients)
    return [packed(row, width) for row in coefficients.tolist()]


def packed(values: Sequence[int], width: int) -> int:
    """Values side by side in two's complement, the first in the lowest bits."""
    return sum((value % (1 << width)) << (i * width) for i, value in enumerate(values))


def _packed_bits(bits: Bits) -> int:
    return int.from_bytes(np.packbits(bits, bitorder="little").tobytes(), "little")


def unpacked_bits(words: Sequence[int], width: int) -> Bits:
    """A row of bits for each word, the lowest first."""
    size = -(-width // 8)
    raw = np.frombuffer(b"".join(word.to_bytes(size, "little") for word in words), np.uint8)
    bits = np.unpackbits(raw.reshape(len(words), size), axis=1, bitorder="little")
    return bits[:, :width].astype(bool)


def unpacked(words: Sequence[int], width: int, count: int, *, signed: bool) -> Integers:
    """A row of `count` values of `width` bits for each word."""
    bits = unpacked_bits(words, width * count).reshape(len(words), count, width)
    places = np.left_shift(np.int64(1), np.arange(width, dtype=np.int64))
    if signed:
        # The highest place of two's complement.
        places[-1] = -places[-1]
    return bits @ places
