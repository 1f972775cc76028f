"""What the command line says about a machine, for people and as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from scm_model import AnyLayer, FamilyLayer, Model, storage_of
from scm_model.meta import plain
from scm_train.cli.console import printable_json, say
from scm_train.cli.score_lines import score_lines

__all__ = ["described", "print_result"]

#: Characters of the longest bar of a histogram.
BAR = 30
#: What has lines of its own, after the rest or on standard error.
TOLD_APART = ("scores", "ended_early", "clipped", "growth", "outliers")


def described(machine: Model) -> dict[str, Any]:
    """A machine's shape, formats, scores, storage and readiness for hardware."""
    reasons = machine.hardware_reasons
    encoder = machine.encoder
    about: dict[str, Any] = {
        "name": machine.info.get("name"),
        "algorithm": machine.algorithm,
        "task": machine.task,
        "features": list(machine.features),
        "targets": list(machine.targets),
        "classes": None if machine.classes is None else list(machine.classes),
        "encoder": {"kind": encoder.kind, "input_bits": encoder.input_bits, "width": encoder.width},
        "layers": [_layer(layer) for layer in machine.layers],
        "linear_inputs": [machine.features[i] for i in np.flatnonzero(machine.linear.any(axis=1))],
        "mechanism": {"kind": machine.mechanism.kind},
        "scores": machine.info.get("scores", {}),
        "storage": _storage(machine),
        "hardware": {"ready": not reasons, "reasons": reasons},
        "evaluation_rows": 0 if machine.evaluation is None else len(machine.evaluation.inputs),
    }
    if machine.mechanism.worst_error is not None:
        about["mechanism"]["worst_error"] = machine.mechanism.worst_error
    if encoder.spacing is not None:
        about["encoder"]["thresholds"] = encoder.spacing
    about |= {key: machine.info[key] for key in ("seed", "data", "timing") if key in machine.info}
    return about


def _layer(layer: AnyLayer) -> dict[str, Any]:
    about: dict[str, Any] = {
        "nodes": layer.nodes,
        "activation": layer.activation,
        "weights": "binary" if layer.binary else "real",
    }
    if isinstance(layer, FamilyLayer):
        return about | {"families": len(layer.supports)}
    return about | {"selective": layer.mask is not None}


def _storage(machine: Model) -> dict[str, Any]:
    """Bits of the hidden weights, counted as in the paper."""
    count = storage_of(machine)
    about: dict[str, Any] = {"weights": count.weights, "real_bits": count.real_bits}
    if all(layer.binary for layer in machine.layers):
        about |= {
            "binary_bits": count.binary_bits,
            "lambda_bits": count.lambda_bits,
            "reduction": count.reduction,
        }
    return about


def print_result(result: Mapping[str, Any], as_json: bool) -> None:
    """Print a result as JSON, or as lines of name and value."""
    result = plain(result)
    if as_json:
        print(printable_json(json.dumps(result, ensure_ascii=False, indent=2)))
        return
    width = max(map(len, result))
    for key, value in result.items():
        if key == "trials":
            _print_trials(value, width)
        elif value is not None and key not in TOLD_APART:
            say(f"{key.replace('_', ' '):{width}}  {_text(key, value)}")
    for line in score_lines(result):
        say(line)


def _print_trials(trials: Mapping[str, Any], width: int) -> None:
    """Scores of several runs, and a histogram of the nodes of each layer."""
    print(f"{'trials':{width}}  {trials['count']}, of which number {trials['best'] + 1} is kept")
    for name, spread in trials["scores"].items():
        say(f"{'':{width}}  {name.replace('_', ' ')} {spread['mean']:.6g} +- {spread['std']:.2g}")
    for number, histogram in enumerate(trials["nodes_per_layer"], start=1):
        say(f"{'':{width}}  nodes of layer {number}:")
        most = max(histogram.values())
        for nodes, runs in histogram.items():
            bar = "#" * -(-BAR * runs // most)
            say(f"{'':{width}}  {nodes:>6} {bar} {runs}")


def _text(key: str, value: Any) -> str:
    if key == "layers":
        return _layers(value)
    if key == "hardware":
        return "ready" if value["ready"] else "not ready: " + "; ".join(value["reasons"])
    if isinstance(value, Mapping):
        return ", ".join(f"{k} {_text(k, v)}" for k, v in value.items()) or "-"
    if isinstance(value, list):
        shown = [_text(key, item) for item in value[:12]]
        more = [f"and {len(value) - 12} more"] if len(value) > 12 else []
        return ", ".join(shown + more) or "-"
    if isinstance(value, float):
        return f"{value:.2%}" if key == "reduction" else f"{value:.6g}"
    return str(value)


def _layers(layers: list[dict[str, Any]]) -> str:
    return " - ".join(map(_layer_text, layers)) or "-"


def _layer_text(layer: dict[str, Any]) -> str:
    if "families" in layer:
        return f"{layer['families']} families of {layer['nodes']} {layer['activation']} nodes"
    selective = ", selective" if layer["selective"] else ""
    return f"{layer['nodes']} {layer['activation']} ({layer['weights']} weights{selective})"
