"""The entries of a machine with memory: its taps, what stands for the past before a record, and the
bits of nodes that come back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from scm_model.activations import HARDWARE_ACTIVATIONS
from scm_model.entries import Arrays
from scm_model.errors import ModelFileError
from scm_model.mechanism import Mechanism, PolynomialModel
from scm_model.memory import MAX_LAG, Memory, Tap
from scm_model.meta import Meta, layer_kind, layer_meta
from scm_model.scaling import Floats
from scm_model.schema import ENCODERS, MAX_FEATURES, MECHANISMS, MEMORY

__all__ = ["check_bits", "read_memory", "tap_ranges"]


def read_memory(arrays: Arrays, meta: Meta, signals: tuple[str, ...]) -> Memory | None:
    horizon = meta.horizon
    if horizon is None:
        return None
    if meta.section("mechanism", MECHANISMS)[0] == "external":
        raise ModelFileError("mechanism 'kind' must not be 'external' beside meta 'memory'")
    sources = len(signals) + arrays.lengths["m"]
    nodes = _nodes_that_come_back(meta)
    tap_entry, rest_entry = MEMORY
    taps = arrays.get(replace(tap_entry, shape=("taps", 2)))
    if not 1 <= len(taps) <= MAX_FEATURES:
        raise ModelFileError(f"entry 'memory_taps' must be 1 to {MAX_FEATURES}, not {len(taps)}")
    source, lag = taps.T
    if source.min() < 0 or source.max() >= sources + nodes:
        raise ModelFileError(f"entry 'memory_taps' must be of sources 0 to {sources + nodes - 1}")
    fed_back, bits = source >= len(signals), source >= sources
    if lag.min() < 0 or lag.max() > MAX_LAG or (lag[fed_back] < 1).any():
        raise ModelFileError(
            f"entry 'memory_taps' must have lags of 0 to {MAX_LAG}, of outputs from 1 on"
        )
    if (lag[bits] != 1).any():
        raise ModelFileError("entry 'memory_taps' must have a lag of 1 for the bits of nodes")
    if bits.any() and (fed_back & ~bits).any():
        raise ModelFileError("entry 'memory_taps' must not be of outputs beside bits of nodes")
    if len({*map(tuple, taps.tolist())}) < len(taps):
        raise ModelFileError("entry 'memory_taps' must be distinct")
    if missing := set(range(len(signals))) - set(source.tolist()):
        raise ModelFileError(
            f"entry 'memory_taps' must have a tap of signal {signals[min(missing)]!r}"
        )
    if (fed_back & ~bits).any() and meta.task == "classification":
        raise ModelFileError("entry 'memory_taps' must be of signals alone for a classifier")
    rest = arrays.get(replace(rest_entry, shape=(sources,)))
    every = tuple(Tap(*tap) for tap in taps.tolist())
    return Memory(signals, every, rest, horizon, meta.washout)


def _nodes_that_come_back(meta: Meta) -> int:
    """How many nodes of the first layer taps may be of: binary sign or step nodes on coded bits."""
    if meta.version < 4 or not meta.layers or meta.section("encoder", ENCODERS)[0] == "none":
        return 0
    first = meta.layers[0]
    if layer_kind(1, first, meta.version) != "nodes":
        return 0
    layer = layer_meta(1, first, 1)
    return layer.nodes if layer.binary and layer.activation in HARDWARE_ACTIVATIONS else 0


def check_bits(memory: Memory | None, linear: Floats, mechanism: Mechanism) -> None:
    """Bits that come back are for nodes: linear part and mechanism don't see them."""
    places = [] if memory is None else [place for place, _ in memory.bits]
    if linear[places].any():
        raise ModelFileError("entry 'linear' must be 0 for the bits of nodes")
    seen = getattr(mechanism, "inputs", None)
    if isinstance(mechanism, PolynomialModel):
        seen = np.flatnonzero(mechanism.exponents.any(axis=0))
    if seen is not None and np.isin(seen, places).any():
        raise ModelFileError("mechanism must not be of the bits of nodes")


def tap_ranges(ranges: dict[str, Floats], memory: Memory) -> dict[str, Floats]:
    """The ranges of inputs tap by tap; those of outputs are the targets', of bits 0 to 1."""
    sources = [min(tap.source, memory.sources) for tap in memory.taps]
    ends = {"min": 0.0, "max": 1.0}
    return {
        f"input_{end}": np.concatenate(
            [ranges[f"input_{end}"], ranges[f"target_{end}"], [of_bits]]
        )[sources]
        for end, of_bits in ends.items()
    }
