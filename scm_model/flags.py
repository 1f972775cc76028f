"""What a machine says of its own results: bits behind the outputs, calibrated on held-back rows.

- ``unsure``, of a classifier: its ``margin``, by which the first class leads the second, is no
  larger than a threshold. Of all rows that are drawn as those of training were, at most the share
  ``level`` is answered wrongly without the bit.
- ``novel``: some groups of hidden bits have values that they rarely or never had in training. Of
  such rows at most the share ``rate`` has the bit all the same, a false alarm.
- ``outside``: an input lies outside of its training range, where the core's port can tell.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from scm_model.entries import Arrays, Entry
from scm_model.errors import ModelFileError
from scm_model.layers import Layer
from scm_model.scaling import Floats

if TYPE_CHECKING:
    from scm_model.model import Model

__all__ = [
    "MARGIN", "MAX_GROUPS", "MAX_GROUP_BITS", "NOVEL", "NOVELTY", "OUTSIDE", "UNSURE", "Flags",
    "Novelty", "Unsure", "flag_kinds", "flag_names", "flags_meta", "margins", "novel_rows",
    "outside_reach", "rare_groups", "read_flags", "unsure_rows",
]  # fmt: skip

MARGIN, UNSURE, NOVEL, OUTSIDE = "margin", "unsure", "novel", "outside"
#: A group is a table of one LUT, and a few of them are enough.
MAX_GROUP_BITS, MAX_GROUPS = 6, 256
NOVELTY = (
    Entry("flag_groups", np.int32, ("flag_groups", "flag_bits"), "groups"),
    Entry("flag_rare", np.uint64, ("flag_groups",), "rare"),
)


@dataclass(frozen=True)
class Unsure:
    """A margin up to ``threshold``, in the unit of the outputs, is unsure."""

    level: float
    threshold: float


@dataclass(frozen=True, eq=False)
class Novelty:
    """Groups of hidden bits, and of each the values that are rare.

    ``groups`` (g, b) are nodes, counted over all layers of nodes, -1 where a group has fewer; the
    first is the lowest bit of a group's value. Bit v of ``rare`` (g,) says that value v is rare. A
    row is novel where at least ``least`` groups have a rare value.
    """

    rate: float
    least: int
    groups: NDArray[np.int32]
    rare: NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Flags:
    """The bits that a machine has; ``novelty`` goes with ``outside``."""

    unsure: Unsure | None = None
    novelty: Novelty | None = None


def flag_names(model: Model) -> tuple[str, ...]:
    """What :func:`flag_kinds` are called, apart from all features and targets."""
    taken = {*model.targets, *model.features, *model.signals}
    found = []
    for name in flag_kinds(model):
        # A feature or target may be called `unsure` already.
        while name in taken:
            name += "_"
        found.append(name)
    return tuple(found)


def flag_kinds(model: Model) -> tuple[str, ...]:
    """The outputs behind those of the targets, in their order."""
    flags = model.flags
    if flags is None:
        return ()
    names: list[str] = []
    if flags.unsure is not None:
        names += [MARGIN, UNSURE]
    if flags.novelty is not None:
        names += [NOVEL, *([OUTSIDE] if outside_reach(model) else [])]
    return tuple(names)


def outside_reach(model: Model) -> list[int]:
    """The features whose codes reach beyond their training range."""
    if model.input_bits is None or model.columns is not None:
        return []
    return [
        place
        for place, code in enumerate(model.codes)
        if code.low > 0 or code.high < (1 << code.bits) - 1
    ]


def margins(outputs: Floats) -> Floats:
    """By how much the first class leads the second, of outputs (n, classes) or (n, 1)."""
    if outputs.shape[1] == 1:
        return np.abs(outputs[:, 0])
    # Only the two largest have to be in their places.
    leading = np.partition(outputs, -2, axis=1)
    return np.asarray(leading[:, -1] - leading[:, -2])


def unsure_rows(unsure: Unsure, outputs: Floats) -> NDArray[np.bool_]:
    """Which rows are unsure, by the outputs of the PC model."""
    return np.asarray(margins(outputs) <= unsure.threshold)


def rare_groups(novelty: Novelty, bits: NDArray[np.bool_]) -> NDArray[np.int64]:
    """How many groups have a rare value, of the bits (n, nodes) of all nodes."""
    found = np.zeros(len(bits), dtype=np.int64)
    for group, rare in zip(novelty.groups.tolist(), novelty.rare.tolist(), strict=True):
        value = np.zeros(len(bits), dtype=np.uint64)
        for place, node in enumerate(node for node in group if node >= 0):
            value |= bits[:, node].astype(np.uint64) << np.uint64(place)
        found += ((np.uint64(rare) >> value) & np.uint64(1)).astype(np.int64)
    return found


def novel_rows(novelty: Novelty, hidden: Floats) -> NDArray[np.bool_]:
    """Which rows are novel, by the outputs (n, nodes) of all nodes."""
    return np.asarray(rare_groups(novelty, hidden > 0) >= novelty.least)


# ------------------------------------------------------------------------------------- model file


def flags_meta(flags: Flags) -> dict[str, Any]:
    """What ``meta`` says of them."""
    meta: dict[str, Any] = {}
    if flags.unsure is not None:
        meta[UNSURE] = {"level": flags.unsure.level, "threshold": flags.unsure.threshold}
    if flags.novelty is not None:
        meta[NOVEL] = {"rate": flags.novelty.rate, "least": flags.novelty.least}
    return meta


def read_flags(arrays: Arrays, meta: Any, task: str, layers: tuple[Any, ...]) -> Flags:
    """The flags of a file, by what its ``meta`` says; `ModelFileError` where a rule is broken."""
    known = isinstance(meta, Mapping) and {UNSURE, NOVEL}.issuperset(meta) and meta
    if not known:
        raise ModelFileError(f"meta 'flags' must have 'unsure', 'novel' or both, not {meta!r}")
    unsure, novel = meta.get(UNSURE), meta.get(NOVEL)
    return Flags(
        None if unsure is None else _read_unsure(unsure, task),
        None if novel is None else _read_novelty(arrays, novel, layers),
    )


def _read_unsure(about: Any, task: str) -> Unsure:
    if task != "classification":
        raise ModelFileError(f"meta 'unsure' must belong to a classification, not to a {task}")
    level, threshold = _share(about, UNSURE, "level"), about.get("threshold")
    if not isinstance(threshold, int | float) or not 0 <= threshold < np.inf:
        raise ModelFileError(f"unsure 'threshold' must be a number from 0 on, not {threshold!r}")
    return Unsure(level, float(threshold))


def _read_novelty(arrays: Arrays, about: Any, layers: tuple[Any, ...]) -> Novelty:
    rate, least = _share(about, NOVEL, "rate"), about.get("least")
    groups, rare = (arrays.get(entry) for entry in NOVELTY)
    count, bits = groups.shape
    if not (1 <= count <= MAX_GROUPS and 1 <= bits <= MAX_GROUP_BITS):
        raise ModelFileError(
            f"entry 'flag_groups' must be 1 to {MAX_GROUPS} groups of 1 to {MAX_GROUP_BITS} nodes, "
            f"not {count} of {bits}"
        )
    hard = [layer for layer in layers if isinstance(layer, Layer)]
    nodes = sum(layer.nodes for layer in hard)
    if not all(layer.hard for layer in hard):
        raise ModelFileError("entry 'flag_groups' must be of nodes that fire, sign or step")
    if groups.min() < -1 or groups.max() >= nodes or (groups[:, 0] < 0).any():
        raise ModelFileError(f"entry 'flag_groups' must be of nodes 0 to {nodes - 1}")
    if (np.diff((groups >= 0).astype(np.int8), axis=1) > 0).any():
        raise ModelFileError("entry 'flag_groups' must have -1 behind the nodes of a group")
    if type(least) is not int or not 1 <= least <= count + 1:
        raise ModelFileError(f"novel 'least' must be in [1, {count + 1}], not {least!r}")
    return Novelty(rate, least, groups, rare)


def _share(about: Any, what: str, key: str) -> float:
    value = about.get(key) if isinstance(about, Mapping) else None
    if not isinstance(value, int | float) or not 0 < value < 1:
        raise ModelFileError(f"{what} {key!r} must be a number between 0 and 1, not {value!r}")
    return float(value)
