"""The schema of ``model_file.md``: the entries of a file, and the limits of what it may hold.

Reader and writer go by the same description of the entries: which attribute of which dataclass
each one holds, of which type and shape. An entry of a later version is a line here.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from scm_model.entries import Entry

FORMAT = "scm-model"
#: The newest version; what an earlier one can say is written as such.
VERSION = 4
#: What machines with memory or columns, but without bits that come back, are written as.
RECORDS_VERSION = 3
MAX_META_BYTES = 4 << 20
MAX_EVALUATION_ROWS = 20_000
MAX_LAYERS = 256
MAX_FEATURES = 1 << 16
# Eight packed weights to a byte, and long runs of them deflate to nothing: a small file may hold
# more than memory does.
MAX_LAYER_WEIGHTS = 1 << 27
#: One LUT6 has that many inputs; a larger family is a memory.
MAX_FAMILY_BITS = 12
MAX_FAMILY_NODES = 1 << 22
MAX_GRID_STEPS = 10
MAX_TABLE_INPUTS = 3
#: Labels of all categories together.
MAX_LABELS = 1 << 16

TASKS = ("regression", "classification")
WEIGHT_KINDS = ("binary", "real")
LAYER_KINDS = ("nodes", "families")
#: Keys of ``meta`` that are notes for people; the model has them as ``info``.
INFO_KEYS = ("name", "seed", "settings", "scores", "timing", "data", "interval")

RANGES = (
    Entry("input_min", np.float64, ("d",)),
    Entry("input_max", np.float64, ("d",)),
    Entry("target_min", np.float64, ("m",)),
    Entry("target_max", np.float64, ("m",)),
)
#: Of a machine with memory the ranges are of its signals; its features are taps of them.
SIGNAL_RANGES = (
    Entry("input_min", np.float64, ("s",)),
    Entry("input_max", np.float64, ("s",)),
)
TARGET_RANGES = RANGES[2:]
MEMORY = (
    Entry("memory_taps", np.int32, ("d", 2), "taps"),
    Entry("memory_rest", np.float64, ("sources",), "rest"),
)
#: Of a machine with columns: which column each feature is of, and what of it.
FEATURE_SOURCES = Entry("feature_sources", np.int32, ("d", 2))
OUTPUT = (
    Entry("readout", np.float64, ("N", "m")),
    Entry("linear", np.float64, ("d", "m")),
    Entry("intercept", np.float64, ("m",)),
)
ENCODER_BITS = Entry("encoder_bits", np.int32, ("d",), "bits")
THRESHOLDS = Entry("thresholds", np.int64, ("coded",), "all_thresholds")
ENCODERS: dict[str, tuple[Entry, ...]] = {
    "thermometer": (ENCODER_BITS, THRESHOLDS),
    "binary": (ENCODER_BITS,),
    "gray": (ENCODER_BITS,),
    "none": (),
}
MECHANISMS: dict[str, tuple[Entry, ...]] = {
    "none": (),
    "external": (Entry("mechanism_range", np.float64, (2, "m"), "range"),),
    "polynomial": (
        Entry("mechanism_exponents", np.uint8, ("terms", "d"), "exponents"),
        Entry("mechanism_coefficients", np.float64, ("terms", "m"), "coefficients"),
    ),
    "table": (
        Entry("mechanism_inputs", np.int32, ("t",), "inputs"),
        Entry("mechanism_grid", np.float64, ("g1", "g2", "g3", "m"), "grid"),
    ),
}
HISTORY = (
    Entry("history_train_rmse", np.float64, ("steps",), "train_rmse", optional=True, finite=False),
    Entry(
        "history_validation_rmse",
        np.float64,
        ("steps",),
        "validation_rmse",
        optional=True,
        finite=False,
    ),
    Entry("history_layer", np.int32, ("steps",), "layer", optional=True),
)


def layer_entries(number: int, *, binary: bool) -> tuple[Entry, ...]:
    """Of a layer of n nodes that sees a inputs in groups."""
    prefix = f"layer{number}_"
    kind: type[np.generic] = np.uint8 if binary else np.float64
    return (
        Entry(f"{prefix}weights", kind, ("n", "a"), "weights", packed=binary),
        Entry(f"{prefix}mask", np.uint8, ("n", "groups"), "mask", packed=True, optional=True),
        Entry(f"{prefix}lambda", np.float64, ("n",), "lambdas"),
        Entry(f"{prefix}bias", np.float64, ("n",), "biases"),
    )


def family_entries(number: int) -> tuple[Entry, ...]:
    """Of a layer of families."""
    return (Entry(f"layer{number}_supports", np.int32, ("families", "bits"), "supports"),)


def record_entries(*, classifier: bool) -> tuple[Entry, ...]:
    """Of r held-out rows of signals, and which of them begin a record."""
    inputs, targets = evaluation_entries(classifier=classifier, external=False)
    first = Entry("eval_first", np.uint8, ("r",), "first")
    return (replace(inputs, shape=("r", "s")), targets, first)


def column_rows(entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
    """The held-out rows of a machine with columns: codes of categories, NaN where missing."""
    return (replace(entries[0], shape=("r", "s"), finite=False), *entries[1:])


def evaluation_entries(*, classifier: bool, external: bool) -> tuple[Entry, ...]:
    """Of r held-out rows."""
    targets = Entry("eval_targets", np.float64, ("r", "m"), "targets")
    if classifier:
        targets = Entry("eval_targets", np.int64, ("r",), "targets")
    rows = (Entry("eval_inputs", np.float64, ("r", "d"), "inputs"), targets)
    return (*rows, Entry("eval_mechanism", np.float64, ("r", "m"), "mechanism"))[: 2 + external]
