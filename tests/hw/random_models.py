"""Models over the whole of the schema: any shape, any odd case that it allows, any units."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

from scm_hw.load import Model, for_hardware, model_from_arrays, parse_input_formats
from tests.support import meta_array, model_arrays

Arrays = dict[str, np.ndarray]
Random = np.random.Generator

MECHANISMS = ("none", "external", "polynomial", "table")
# Beyond every sum of a node, the last of them only just a number.
FAR = (1e3, 2.0**62, 1e300, 1.7e308)
LAMBDAS = (5e-324, 1e-300, 1.0, 1e300, 1.7e308)
RANGES = (
    (0.0, 5e-324),
    (-1e-310, 1e-310),
    (3.0, float(np.nextafter(3.0, 4.0))),
    (1e15, 1e15 + 1),
    (-1e300, 1e300),
    (-8e307, 8e307),
)


def meta_of(arrays: Arrays) -> dict[str, Any]:
    return json.loads(arrays["meta"].tobytes())


def _layers(arrays: Arrays) -> list[int]:
    return [layer["nodes"] for layer in meta_of(arrays)["layers"]]


def _widths(arrays: Arrays) -> list[tuple[int, int]]:
    """Inputs of each layer, and the groups that its masks choose among."""
    features = len(arrays["input_min"])
    coded = int(arrays["encoder_bits"].sum()) if "encoder_bits" in arrays else features
    nodes = _layers(arrays)
    return [(coded, features), *((n, n) for n in nodes)][: len(nodes)]


def _pack(bits: np.ndarray) -> np.ndarray:
    return np.packbits(bits.astype(np.uint8), axis=1, bitorder="little")


# What may be odd about a model, by name


def _equal_weights(arrays: Arrays, rng: Random) -> None:
    sign = rng.integers(0, 2)
    for k, (nodes, (inputs, _)) in enumerate(zip(_layers(arrays), _widths(arrays), strict=True)):
        arrays[f"layer{k + 1}_weights"] = _pack(np.full((nodes, inputs), sign))


def _equal_nodes(arrays: Arrays, _: Random) -> None:
    """And so an output for which half of the hidden bits are copies."""
    for k, nodes in enumerate(_layers(arrays), start=1):
        for name in ("weights", "mask", "bias"):
            if (array := arrays.get(f"layer{k}_{name}")) is not None:
                array[: (nodes + 1) // 2] = array[0]


def _ties(arrays: Arrays, rng: Random) -> None:
    """Sums that are 0 for some inputs: biases on the grid of the sums."""
    meta = meta_of(arrays)
    real = meta["encoder"]["kind"] == "none"
    for k, (nodes, (inputs, _)) in enumerate(zip(_layers(arrays), _widths(arrays), strict=True)):
        step = 0.5 / 2 ** meta["input_bits"] if real and k == 0 else 1.0
        most = round(inputs / step)
        arrays[f"layer{k + 1}_bias"] = step * rng.integers(-most, most, nodes, endpoint=True)


def _never_switching(arrays: Arrays, rng: Random) -> None:
    for k, nodes in enumerate(_layers(arrays), start=1):
        far = rng.choice(FAR, nodes) * rng.choice([-1, 1], nodes)
        arrays[f"layer{k}_bias"] = np.where(rng.random(nodes) < 0.6, far, arrays[f"layer{k}_bias"])


def _lambdas(arrays: Arrays, rng: Random) -> None:
    for k, nodes in enumerate(_layers(arrays), start=1):
        arrays[f"layer{k}_lambda"] = rng.choice(LAMBDAS, nodes)


def _masks(arrays: Arrays, rng: Random) -> None:
    """Of any subset in any layer, in some layers none."""
    for k, (nodes, (_, groups)) in enumerate(zip(_layers(arrays), _widths(arrays), strict=True)):
        arrays.pop(f"layer{k + 1}_mask", None)
        if rng.random() < 0.7:
            mask = rng.random((nodes, groups)) < rng.choice([0.1, 0.5, 0.9])
            mask[np.arange(nodes), rng.integers(0, groups, nodes)] = True
            arrays[f"layer{k + 1}_mask"] = _pack(mask)


def _zero_readout(arrays: Arrays, rng: Random) -> None:
    """Of all nodes, of some, or for one output; or all that there is."""
    readout = arrays["readout"]
    kind = rng.integers(0, 4)
    if kind == 1:
        readout[rng.random(len(readout)) < 0.5] = 0
    elif kind == 2:
        readout[:, 0] = 0
    else:
        readout[:] = 0
    if kind == 3:
        arrays["linear"][:] = 0
        arrays["intercept"][:] = 0


def _magnitudes(arrays: Arrays, rng: Random) -> None:
    """From what rounds to nothing to what fills most of a word."""
    arrays["readout"] *= 10.0 ** rng.integers(-12, 5, (len(arrays["readout"]), 1))
    arrays["linear"] *= 10.0 ** rng.integers(-12, 5, (len(arrays["linear"]), 1))
    arrays["intercept"] *= -(10.0 ** rng.integers(-12, 5))


def _equal_outputs(arrays: Arrays, _: Random) -> None:
    """All classes have one score, and the first is the class."""
    names = ("readout", "linear", "intercept", "mechanism_coefficients", "mechanism_grid")
    for name in names:
        if name in arrays:
            arrays[name][...] = arrays[name][..., :1]


def _thresholds_at_the_ends(arrays: Arrays, _: Random) -> None:
    """The first and the last code that a threshold can be."""
    if "thresholds" not in arrays:
        return
    ends = np.cumsum(arrays["encoder_bits"])
    arrays["thresholds"][ends - 1] = (1 << meta_of(arrays)["input_bits"]) - 1
    several = arrays["encoder_bits"] > 1
    arrays["thresholds"][(ends - arrays["encoder_bits"])[several]] = 1


def _input_ranges(arrays: Arrays, rng: Random) -> None:
    """As narrow and as wide as numbers are; rows on their very ends too."""
    for i in range(len(arrays["input_min"])):
        low, high = RANGES[rng.integers(len(RANGES))] if rng.random() < 0.7 else (2.0, 3.0)
        arrays["input_min"][i], arrays["input_max"][i] = low, high
        inside = low + (high - low) * rng.random(len(arrays["eval_inputs"]))
        ends = rng.choice([low, high], len(inside))
        arrays["eval_inputs"][:, i] = np.where(rng.random(len(inside)) < 0.3, ends, inside)


def _target_ranges(arrays: Arrays, rng: Random) -> None:
    chosen = rng.integers(0, len(RANGES), len(arrays["target_min"]))
    low, high = np.array(RANGES)[chosen].T
    arrays["target_min"], arrays["target_max"] = low, high
    if meta_of(arrays)["task"] == "regression":
        arrays["eval_targets"] = low + (high - low) * rng.random(arrays["eval_targets"].shape)
    if "eval_mechanism" in arrays:
        arrays["eval_mechanism"] = low + (high - low) * rng.random(arrays["eval_mechanism"].shape)


def _far_rows(arrays: Arrays, rng: Random) -> None:
    """Rows that no sensor gives: all codes are at one of their ends."""
    low, span = arrays["input_min"], arrays["input_max"] - arrays["input_min"]
    far = rng.choice([-1e9, -3.0, 4.0, 1e9], arrays["eval_inputs"].shape)
    with np.errstate(over="ignore"):
        rows = low + far * span
        arrays["eval_inputs"] = np.where(np.isfinite(rows - low), rows, low)


def _mechanism_shapes(arrays: Arrays, rng: Random) -> None:
    """Polynomials of any degree and of no term, tables of any side, words of one value."""
    features, outputs = len(arrays["input_min"]), len(arrays["intercept"])
    if "mechanism_exponents" in arrays:
        terms = rng.integers(0, 5)
        arrays["mechanism_exponents"] = rng.integers(0, 4, (terms, features), dtype=np.uint8)
        arrays["mechanism_coefficients"] = rng.normal(0, 0.3, (terms, outputs))
    if "mechanism_grid" in arrays:
        count = int(rng.integers(1, min(features, 3) + 1))
        steps = rng.integers(1, min(meta_of(arrays)["input_bits"], 5 // count + 1) + 1, count)
        arrays["mechanism_inputs"] = rng.permutation(features)[:count].astype(np.int32)
        arrays["mechanism_grid"] = rng.normal(0, 0.3, (*((1 << steps) + 1), outputs))
    if "mechanism_range" in arrays:
        ends = ((0.0, 0.0), (0.25, 0.25), (-100.0, 3.0), (1e-9, 2e-9))
        arrays["mechanism_range"] = np.array(ends)[rng.integers(0, 4, outputs)].T.copy()


ODD: dict[str, Callable[[Arrays, Random], None]] = {
    "equal weights": _equal_weights,
    "equal nodes": _equal_nodes,
    "ties": _ties,
    "never switching": _never_switching,
    "lambdas": _lambdas,
    "masks": _masks,
    "zero readout": _zero_readout,
    "magnitudes": _magnitudes,
    "equal outputs": _equal_outputs,
    "thresholds at the ends": _thresholds_at_the_ends,
    "input ranges": _input_ranges,
    "target ranges": _target_ranges,
    "far rows": _far_rows,
    "mechanism shapes": _mechanism_shapes,
}


@st.composite
def model_options(
    draw: st.DrawFn,
    *,
    features: int = 6,
    layers: int = 3,
    width: int = 6,
    bits: int = 24,
    mechanisms: tuple[str, ...] = MECHANISMS,
) -> dict[str, Any]:
    """The options of a random model, any combination that the schema allows.

    At most so many features of so many bits, and layers of so many nodes. `odd` names what is odd
    about it, and `sensors` and `output_units` the units of its hardware.
    """
    encoder = draw(st.sampled_from(["thermometer", "binary", "gray", "none"]))
    input_bits = draw(st.integers(1, bits))
    most = min((1 << input_bits) - 1, 7) if encoder == "thermometer" else min(input_bits, 9)
    count = draw(st.integers(1, features))
    nodes = draw(st.lists(st.integers(1, width), max_size=layers))
    task = draw(st.sampled_from(["regression", "classification"]))
    return {
        "seed": draw(st.integers(0, 2**31)),
        "features": count,
        "outputs": draw(st.integers(1 if task == "regression" else 2, 4)),
        "layers": tuple(nodes),
        "activation": tuple(draw(st.sampled_from(["sign", "step"])) for _ in nodes),
        "encoder": encoder,
        "bits": tuple(draw(st.integers(1, most)) for _ in range(count)),
        "spacing": draw(st.sampled_from(["uniform", "quantile"])),
        "input_bits": input_bits,
        "inputs_per_node": draw(st.sampled_from([None, None, 1, 2])),
        "linear": draw(st.booleans()),
        "mechanism": draw(st.sampled_from(mechanisms)),
        "task": task,
        "rows": 15,
        "odd": draw(st.lists(st.sampled_from(sorted(ODD)), max_size=4, unique=True)),
        "sensors": draw(_sensors(count)) if encoder != "none" else {},
        "output_units": task == "regression" and draw(st.booleans()),
    }


def _sensors(features: int) -> st.SearchStrategy[dict[int, tuple[int, float, float]]]:
    """Bits of a converter, and how far in training ranges it reaches beyond either end."""
    reach = st.sampled_from([-0.25, 0.0, 0.3, 20.0])
    some = st.dictionaries(
        st.integers(0, features - 1),
        st.tuples(st.integers(1, 12), reach, reach),
        min_size=1,
        max_size=3,
    )
    return st.one_of(st.just({}), some)


def _beyond_the_ranges(arrays: Arrays, rng: Random) -> None:
    """Every other row far enough outside for a sensor to tell."""
    low, span = arrays["input_min"], arrays["input_max"] - arrays["input_min"]
    some = arrays["eval_inputs"][::2]
    arrays["eval_inputs"][::2] = low + span * rng.uniform(-1, 2, some.shape)


def odd_arrays(options: dict[str, Any]) -> Arrays:
    """The entries of the model file."""
    units = ("odd", "sensors", "output_units")
    arrays = model_arrays(**{k: v for k, v in options.items() if k not in units})
    rng = np.random.default_rng(options["seed"])
    _beyond_the_ranges(arrays, rng)
    for name in options["odd"]:
        ODD[name](arrays, rng)
    return arrays


def drawn_model(options: dict[str, Any]) -> Model:
    """The model in the units of its hardware; refused where those don't suit it."""
    model = model_from_arrays(odd_arrays(options))
    texts = []
    for i, (bits, below, above) in options["sensors"].items():
        low, high = float(model.input_min[i]), float(model.input_max[i])
        with np.errstate(over="ignore"):
            span = high - low or 1.0
            ends = low - below * span, high + above * span
        texts.append(f"{model.features[i]}=adc:{bits}:{ends[0]!r}:{ends[1]!r}")
    formats = parse_input_formats(texts, model.features)
    return for_hardware(model, formats, output_units=options["output_units"])


# Layers and inputs that hardware can't have.
UNFIT = ("sigmoid", "tanh", "brelu", "real", "unquantised")


def unfit_arrays(options: dict[str, Any], fault: str, layer: int) -> Arrays:
    """The same with a layer of another kind, or inputs as they come."""
    arrays = odd_arrays(options)
    meta = meta_of(arrays)
    if fault == "unquantised":
        meta |= {"input_bits": None}
    elif fault == "real":
        meta["layers"][layer]["weights"] = "real"
        inputs = _widths(arrays)[layer][0]
        shape = (meta["layers"][layer]["nodes"], inputs)
        arrays[f"layer{layer + 1}_weights"] = np.random.default_rng(0).normal(size=shape)
    else:
        meta["layers"][layer]["activation"] = fault
    return arrays | {"meta": meta_array(meta)}
