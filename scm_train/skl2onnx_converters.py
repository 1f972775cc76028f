"""The learners in skl2onnx's registry, so that its ``to_onnx`` takes them, also within pipelines.

    from scm_train.skl2onnx_converters import register
    register()
    proto = skl2onnx.to_onnx(pipeline, X[:1].astype("float32"))

Inside, all numbers are double precision: the graphs are those of :mod:`scm_train.onnx_export`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scm_model import Model
from scm_train import estimators
from scm_train.errors import ParameterError
from scm_train.learner.base import Learner
from scm_train.learner.classifier import Classifier
from scm_train.onnx_export import OPSET, Graph, check_exportable, decision, winner

try:
    import skl2onnx
    from onnx import TensorProto, helper, numpy_helper
    from skl2onnx.common.data_types import (
        DoubleTensorType,
        FloatTensorType,
        Int64TensorType,
        StringTensorType,
    )
except ImportError as error:
    raise ParameterError(
        "can't register converters: skl2onnx is not installed; run `pip install 'scm-hw[skl2onnx]'`"
    ) from error

__all__ = ["register"]

_CLASSIFIER_OPTIONS: dict[str, list[Any]] = {
    "nocl": [True, False],
    "zipmap": [True, False, "columns"],
    "output_class_labels": [False, True],
    "raw_scores": [True, False],
}


def register() -> None:
    """Register the converters of all regressors and classifiers; again changes nothing."""
    for name in estimators.__all__:
        learner = getattr(estimators, name)
        if isinstance(learner, type) and issubclass(learner, Learner):
            classifies = issubclass(learner, Classifier)
            skl2onnx.update_registered_converter(
                learner,
                f"Scm{name}",
                _classifier_shapes if classifies else _regressor_shapes,
                _convert_classifier if classifies else _convert_regressor,
                options=_CLASSIFIER_OPTIONS if classifies else None,
            )


def _tensor(operator: Any, columns: int) -> Any:
    """Double where the rows are, else single precision, as skl2onnx has it."""
    double = isinstance(operator.inputs[0].type, DoubleTensorType)
    return (DoubleTensorType if double else FloatTensorType)([None, columns])


def _regressor_shapes(operator: Any) -> None:
    operator.outputs[0].type = _tensor(operator, operator.raw_operator.machine_.outputs)


def _classifier_shapes(operator: Any) -> None:
    learner = operator.raw_operator
    numbers = learner.classes_.dtype.kind in "iubf"
    operator.outputs[0].type = (Int64TensorType if numbers else StringTensorType)([None])
    operator.outputs[1].type = _tensor(operator, len(learner.classes_))


def _convert_regressor(scope: Any, operator: Any, container: Any) -> None:
    model = _exportable(operator, container)
    graph = Graph()
    span = model.target_max - model.target_min
    points = graph("Add", graph("Mul", decision(graph, model), span), model.target_min)
    _place(graph, scope, operator, container, {points: (0, _kind(operator, 0))})


def _convert_classifier(scope: Any, operator: Any, container: Any) -> None:
    model = _exportable(operator, container)
    graph = Graph()
    scores = graph("Identity", decision(graph, model), name="scores")
    raw = container.get_options(operator.raw_operator, {"raw_scores": False})["raw_scores"]
    found = _raw(graph, model, scores) if raw else _probabilities(graph, operator, scores)
    labels = model.labels
    # Numbers of classes are whole: scikit-learn refuses others.
    labels = labels if labels.dtype.kind == "U" else labels.astype(np.int64)
    label = graph("Gather", labels, winner(graph, model), axis=0)
    _place(graph, scope, operator, container, {label: (0, None), found: (1, _kind(operator, 1))})


def _probabilities(graph: Graph, operator: Any, scores: str) -> str:
    """The steps of ``predict_proba``."""
    sloped = graph("Mul", scores, operator.raw_operator.probability_slope)
    if not operator.raw_operator.machine_.decides_by_sign:
        return graph("Softmax", sloped, axis=1)
    second = graph("Sigmoid", sloped)
    return graph("Concat", graph("Sub", 1.0, second), second, axis=1)


def _raw(graph: Graph, model: Model, scores: str) -> str:
    """The scores of all classes; of two, what speaks for the second, and its negative before."""
    if model.outputs > 2:
        return scores
    if not model.decides_by_sign:
        first, second = (graph("Gather", scores, np.array([i]), axis=1) for i in (0, 1))
        scores = graph("Sub", second, first)
    return graph("Concat", graph("Neg", scores), scores, axis=1)


def _exportable(operator: Any, container: Any) -> Model:
    model: Model = operator.raw_operator.machine_
    check_exportable(model)
    if container.target_opset < OPSET:
        raise ParameterError(
            f"target opset must be at least {OPSET}, not {container.target_opset}; raise "
            "target_opset"
        )
    return model


def _kind(operator: Any, place: int) -> int:
    """ONNX's number of the type of an output."""
    double = isinstance(operator.outputs[place].type, DoubleTensorType)
    return int(TensorProto.DOUBLE if double else TensorProto.FLOAT)


def _place(
    graph: Graph,
    scope: Any,
    operator: Any,
    container: Any,
    outputs: dict[str, tuple[int, int | None]],
) -> None:
    """A graph in skl2onnx's, under names of its scope; `outputs` are cast on the way out."""
    names: dict[str, str] = {"X": _rows(scope, operator, container)}
    for constant in graph.constants:
        names[constant.name] = scope.get_unique_variable_name(constant.name)
        values = numpy_helper.to_array(constant)
        container.add_initializer(
            names[constant.name], constant.data_type, list(values.shape), values.ravel().tolist()
        )
    for node in graph.nodes:
        (result,) = node.output
        names[result] = scope.get_unique_variable_name(result)
        attributes = {one.name: helper.get_attribute_value(one) for one in node.attribute}
        container.add_node(
            node.op_type,
            [names[name] for name in node.input],
            [names[result]],
            op_version=OPSET,
            name=scope.get_unique_operator_name(node.op_type),
            **attributes,
        )
    for value, (place, kind) in outputs.items():
        step = ("Identity", {}) if kind is None else ("Cast", {"to": kind})
        container.add_node(
            step[0],
            [names[value]],
            [operator.outputs[place].full_name],
            op_version=OPSET,
            name=scope.get_unique_operator_name(step[0]),
            **step[1],
        )


def _rows(scope: Any, operator: Any, container: Any) -> str:
    """The rows in double precision; columns that come one by one are put side by side."""
    columns = [variable.full_name for variable in operator.inputs]
    if len(columns) > 1:
        whole = scope.get_unique_variable_name("rows")
        container.add_node("Concat", columns, [whole], op_version=OPSET, axis=1)
        columns = [whole]
    double = scope.get_unique_variable_name("double")
    container.add_node("Cast", columns, [double], op_version=OPSET, to=TensorProto.DOUBLE)
    return double
