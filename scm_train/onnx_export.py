"""The float model as an ONNX graph, for runtimes that know neither NumPy nor scikit-learn.

All numbers inside are double precision, so that codes, thresholds and hard nodes decide as
:mod:`scm_model.reference` does. ``X`` (n, d) has raw rows of finite numbers; ``y`` (n, m) has the
targets in raw units, or ``label`` (n,) the classes and ``scores`` (n, m) the decision of each row.
"""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scm_model import (
    Encoder,
    ExternalModel,
    FamilyLayer,
    Layer,
    Mechanism,
    Model,
    NoMechanism,
    PolynomialModel,
    TableModel,
)
from scm_train.errors import ParameterError
from scm_train.output_files import write_output

try:
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError as error:
    raise ParameterError(
        "can't export: onnx is not installed; run `pip install 'scm-hw[onnx]'`"
    ) from error

__all__ = ["OPSET", "Graph", "check_exportable", "decision", "onnx_model", "save_onnx", "winner"]

#: Those of ONNX 1.12, for runtimes from 2022 on.
OPSET, IR_VERSION = 17, 8
_LABEL_TYPES = {"U": TensorProto.STRING, "i": TensorProto.INT64, "b": TensorProto.BOOL}
_LABEL_TYPES |= {"f": TensorProto.DOUBLE}


def save_onnx(model: Model, path: Path) -> list[str]:
    """Write a model as ONNX, whole or not at all; the names of its outputs."""
    proto = onnx_model(model)
    write_output(path, lambda file: file.write(proto.SerializeToString(deterministic=True)))
    return [output.name for output in proto.graph.output]


def onnx_model(model: Model) -> onnx.ModelProto:
    """The model as ONNX; a :class:`ParameterError` where it has what a graph can't hold."""
    check_exportable(model)
    graph = Graph()
    scores = decision(graph, model)
    if model.classes is None:
        span = model.target_max - model.target_min
        graph("Add", graph("Mul", scores, span), model.target_min, name="y")
        outputs = [_value("y", TensorProto.DOUBLE, model.outputs)]
    else:
        graph("Identity", scores, name="scores")
        graph("Gather", model.labels, winner(graph, model), name="label", axis=0)
        kind = _LABEL_TYPES[model.labels.dtype.kind]
        outputs = [_value("label", kind), _value("scores", TensorProto.DOUBLE, model.outputs)]
    proto = helper.make_model(
        helper.make_graph(
            graph.nodes,
            model.name or "scm",
            [_value("X", TensorProto.DOUBLE, len(model.features))],
            outputs,
            graph.constants,
        ),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="scm-hw",
        producer_version=version("scm-hw"),
    )
    about = {"features": json.dumps(model.features), "targets": json.dumps(model.targets)}
    helper.set_model_props(proto, about)
    onnx.checker.check_model(proto, full_check=True)
    return proto


class Graph:
    """Nodes and constants as they are added; a value is its name."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def __call__(
        self, operation: str, *inputs: str | ArrayLike, name: str | None = None, **attributes: Any
    ) -> str:
        """The result of an operation on values and arrays."""
        name = name or f"{operation.lower()}_{len(self.nodes)}"
        names = [one if isinstance(one, str) else self._constant(one) for one in inputs]
        self.nodes.append(helper.make_node(operation, names, [name], **attributes))
        return name

    def double(self, value: str) -> str:
        return self("Cast", value, to=TensorProto.DOUBLE)

    def int64(self, value: str) -> str:
        return self("Cast", value, to=TensorProto.INT64)

    def _constant(self, value: ArrayLike) -> str:
        array = np.asarray(value)
        if array.dtype.kind == "U":
            array = array.astype(object)
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(array, name))
        return name


def _value(name: str, kind: int, columns: int | None = None) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, ["n"] if columns is None else ["n", columns])


def check_exportable(model: Model) -> None:
    """Raise :class:`ParameterError` for what a graph can't hold."""
    if model.memory is not None:
        reason = "the model has memory; use `python -m scm_hw build`"
    elif model.columns is not None:
        reason = "the model has categories or missing values; fit on columns of numbers"
    elif isinstance(model.mechanism, ExternalModel):
        reason = "the mechanism is external; fit with --mechanism-kind table or polynomial"
    elif model.classes is not None and model.labels.dtype.kind not in _LABEL_TYPES:
        reason = f"the classes {list(model.classes)!r} are of several types; make all of them text"
    else:
        return
    raise ParameterError(f"can't export to ONNX: {reason}")


def winner(graph: Graph, model: Model) -> str:
    """The place (n,) of the class that wins."""
    if model.decides_by_sign:
        positive = graph.int64(graph("Greater", "scores", 0.0))
        return graph("Squeeze", positive, np.array([1]))
    return graph("ArgMax", "scores", axis=1, keepdims=0)


def decision(graph: Graph, model: Model) -> str:
    """Outputs in normalised units; the steps are those of ``scm_model.reference``."""
    x, h = _seen(graph, model)
    total = graph("Add", graph("MatMul", x, model.linear), model.intercept)
    p0 = _mechanism(graph, model.mechanism, x)
    if p0 is not None:
        total = graph("Add", total, p0)
    start, groups = 0, model.encoder.groups
    for layer in model.layers:
        readout = model.readout[start : start + layer.nodes]
        if isinstance(layer, FamilyLayer):
            added = _families(graph, layer, h, readout)
        else:
            h = _layer(graph, layer, h, groups)
            groups = np.arange(layer.nodes, dtype=np.int32)
            added = graph("MatMul", h, readout)
        total = graph("Add", total, added)
        start += layer.nodes
    return total


def _seen(graph: Graph, model: Model) -> tuple[str, str]:
    """The inputs of linear part and mechanism, and those of the first layer."""
    span = model.input_max - model.input_min
    x = graph("Div", graph("Sub", "X", model.input_min), np.where(span == 0, 1.0, span))
    if (span == 0).any():
        x = graph("Mul", x, np.where(span == 0, 0.0, 1.0))
    if model.input_bits is None:
        return x, x
    levels = 2.0**model.input_bits
    code = graph("Max", graph("Min", graph("Floor", graph("Mul", x, levels)), levels - 1), 0.0)
    x = graph("Div", graph("Add", code, 0.5), levels)
    return x, _encoded(graph, model.encoder, code) if model.encoder.coded else x


def _encoded(graph: Graph, encoder: Encoder, code: str) -> str:
    """``H_0`` (n, width) of codes: the bits as -1 and +1."""
    if encoder.kind == "thermometer":
        bits = graph.double(_reached(graph, encoder, code))
    else:
        place = np.concatenate([np.arange(bits) for bits in encoder.bits])
        # Bit j of n is floor(n / 2**j) mod 2; of n's Gray code, floor((n + 2**j) / 2**(j + 1)).
        offset = np.ldexp(1.0, place) if encoder.kind == "gray" else np.zeros(len(place))
        divisor = np.ldexp(1.0, place + (encoder.kind == "gray"))
        level = graph("Gather", _level(graph, encoder, code), encoder.groups, axis=1)
        whole = graph("Floor", graph("Div", graph("Add", level, offset), divisor))
        even = graph("Mul", graph("Floor", graph("Mul", whole, 0.5)), 2.0)
        bits = graph("Sub", whole, even)
    return graph("Sub", graph("Mul", bits, 2.0), 1.0)


def _reached(graph: Graph, encoder: Encoder, code: str) -> str:
    """Which of all features' thresholds the codes have reached."""
    features = np.repeat(np.arange(encoder.n_features), [len(t) for t in encoder.thresholds])
    repeated = graph("Gather", code, features, axis=1)
    assert encoder.all_thresholds is not None
    return graph("GreaterOrEqual", repeated, encoder.all_thresholds.astype(np.float64))


def _level(graph: Graph, encoder: Encoder, code: str) -> str:
    """The level (n, d) of each feature: its code's top bits, with a fraction that is rounded off
    later, or how many thresholds it reached."""
    assert encoder.input_bits is not None
    top = np.ldexp(1.0, encoder.input_bits - np.array(encoder.bits))
    level = graph("Div", code, top)
    counts = np.array([len(thresholds) for thresholds in encoder.thresholds], int)
    if not counts.any():
        return level
    owner = np.repeat(np.eye(encoder.n_features), counts, axis=0)
    counted = graph("MatMul", graph.double(_reached(graph, encoder, code)), owner)
    return graph("Where", counts > 0, counted, level)


def _layer(graph: Graph, layer: Layer, h: str, groups: NDArray[np.int32]) -> str:
    weights = layer.effective_weights(groups).T.astype(np.float64)
    z = graph("Add", graph("MatMul", h, weights), layer.biases)
    if layer.activation == "sign":
        return graph("Where", graph("Greater", z, 0.0), 1.0, -1.0)
    if layer.activation == "step":
        return graph("Where", graph("GreaterOrEqual", z, 0.0), 1.0, 0.0)
    z = graph("Mul", z, layer.lambdas)
    if layer.activation == "brelu":
        return graph("Min", graph("Max", z, 0.0), 1.0)
    return graph({"sigmoid": "Sigmoid", "tanh": "Tanh"}[layer.activation], z)


def _families(graph: Graph, layer: FamilyLayer, h: str, readout: NDArray[np.float64]) -> str:
    """The sum of the readouts of the nodes that fire; their places are sums of address bits."""
    family, place = np.nonzero(layer.supports >= 0)
    address = np.zeros((int(layer.supports.max()) + 1, len(layer.supports)))
    # An address is a sum of powers of two, exact in double precision, and so a matrix product.
    np.add.at(address, (layer.supports[family, place], family), np.ldexp(1.0, place))
    below = graph("Gather", h, np.arange(len(address)), axis=1)
    bits = graph.double(graph("Greater", below, 0.0))
    firing = graph("Add", graph("MatMul", bits, address), layer.starts.astype(np.float64))
    found = graph("Gather", readout, graph.int64(firing), axis=0)
    return graph("ReduceSum", found, np.array([1]), keepdims=0)


def _mechanism(graph: Graph, mechanism: Mechanism, x: str) -> str | ArrayLike | None:
    """P0 in normalised units; None for 0."""
    if isinstance(mechanism, PolynomialModel):
        return _polynomial(graph, mechanism, x)
    if isinstance(mechanism, TableModel):
        return _table(graph, mechanism, x)
    assert isinstance(mechanism, NoMechanism)
    return None


def _polynomial(graph: Graph, mechanism: PolynomialModel, x: str) -> str | ArrayLike:
    product = None
    for feature in np.flatnonzero(mechanism.exponents.any(axis=0)):
        column = graph("Gather", x, np.array([feature]), axis=1)
        powers = graph("Pow", column, mechanism.exponents[:, feature].astype(np.float64))
        product = powers if product is None else graph("Mul", product, powers)
    if product is None:
        return mechanism.coefficients.sum(axis=0)
    return graph("MatMul", product, mechanism.coefficients)


def _table(graph: Graph, mechanism: TableModel, x: str) -> str:
    """The corners of the cell around x, weighted by how near they are."""
    shape = np.array(mechanism.grid.shape[:-1])
    rows = mechanism.grid.reshape(-1, mechanism.grid.shape[-1])
    # Strides of the grid in C order: a cell's place in `rows` is a product with them.
    steps = np.append(np.cumprod(shape[:0:-1])[::-1], 1).astype(np.float64)[:, None]
    inside = graph("Min", graph("Max", graph("Gather", x, mechanism.inputs, axis=1), 0.0), 1.0)
    position = graph("Mul", inside, shape - 1.0)
    cell = graph("Min", graph("Floor", position), shape - 2.0)
    fraction = graph("Sub", position, cell)
    parts = []
    for corner in np.ndindex(*(2,) * len(shape)):
        # |fraction - 1| is the share of the cell's lower end.
        ends = np.array(corner, dtype=np.float64)
        shares = graph("Abs", graph("Sub", fraction, 1.0 - ends))
        weight = graph("Gather", shares, np.array([0]), axis=1)
        for place in range(1, len(shape)):
            weight = graph("Mul", weight, graph("Gather", shares, np.array([place]), axis=1))
        address = graph("MatMul", graph("Add", cell, ends), steps)
        flat = graph("Squeeze", graph.int64(address), np.array([1]))
        parts.append(graph("Mul", weight, graph("Gather", rows, flat, axis=0)))
    return graph("Sum", *parts)
