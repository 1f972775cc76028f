"""From an estimator's parameters to the engine's settings; all rules on parameters live here."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from scm_train.activations import HARDWARE_ACTIVATIONS, activation
from scm_train.algorithms import Algorithm
from scm_train.encode.encoders import parse_encoder
from scm_train.errors import ParameterError
from scm_train.growth.settings import Settings
from scm_train.search.candidates import BiasRange, CandidateDraw, is_per_layer
from scm_train.search.search import SearchSettings

__all__ = [
    "DEFAULT_LUTS",
    "DEFAULT_NODES",
    "LAMBDAS",
    "NODE_PARAMETERS",
    "R_VALUES",
    "asked_layers",
    "check_draws",
    "check_readout",
    "draw_of",
    "growth_of",
    "input_bits_of",
    "settings_of",
]

#: The paper's scales, in the order they are tried.
LAMBDAS = (0.5, 1.0, 5.0, 10.0, 30.0, 50.0, 100.0)
#: The paper asks for an increasing sequence below 1 and gives none; this one is common with SCNs.
R_VALUES = (0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999)


#: Most memory that the candidates of one draw may take.
MOST_DRAW_BYTES = 1 << 32
#: What a candidate takes while it is scored; measured are 6.6 KB on 248 bits, 2.4 KB on 8 inputs.
BYTES_PER_CANDIDATE, BYTES_PER_SIGN = 4096, 10
#: Layers of more nodes than these are thought to end before their limit.
MOST_NODES = 1000
MOST_LAYERS = 1000


def settings_of(algorithm: Algorithm, parameters: dict[str, Any], refit: bool) -> Settings:
    """Check the parameters of an estimator and turn them into the engine's settings."""
    p = parameters
    layers = _layer_count(algorithm, asked_layers(p))
    _number("tolerance", p["tolerance"], least=0)
    ridge = p["ridge"]
    if ridge != "auto":
        _number("ridge", ridge, least=0, otherwise=" or 'auto'")
    _whole("stop_step", p["stop_step"])
    _number("stop_tolerance", p["stop_tolerance"])
    least_gain = p["removal_tolerance"]
    if least_gain is not None:
        _number("removal_tolerance", least_gain, otherwise=" or None")
    _number("alpha", p["alpha"], least=0)
    if p["search_rows"] is not None:
        _whole("search_rows", p["search_rows"], otherwise=" or None")
    _number("removal", p["removal"], least=0)
    if p["removal"] and None in _per_layer("max_nodes", p["max_nodes"], layers):
        raise ParameterError(
            f"removal must be 0 for layers without max_nodes, not {p['removal']!r}; "
            "give each layer its most nodes"
        )
    activations = _per_layer("activation", p["activation"], layers)
    for name in activations:
        activation(name)
    if is_per_layer(p["inputs_per_node"]):
        _per_layer("inputs_per_node", p["inputs_per_node"], layers)
    bias_range = _bias_range_of(p)
    if p["readout"] not in ("squares", "logistic"):
        raise ParameterError(f"readout must be 'squares' or 'logistic', not {p['readout']!r}")
    log_odds = p["readout"] == "logistic"
    return Settings(
        max_nodes=tuple(
            None if n is None else _whole("max_nodes", n)
            for n in _per_layer("max_nodes", p["max_nodes"], layers)
        ),
        activations=activations,
        candidates=tuple(
            _whole("candidates", n) for n in _per_layer("candidates", p["candidates"], layers)
        ),
        search=_search_settings(algorithm, p),
        tolerance=float(p["tolerance"]),
        early_stopping=algorithm.early_stopping,
        stop_step=p["stop_step"],
        stop_tolerance=float(p["stop_tolerance"]),
        removal_tolerance=None if least_gain is None else float(least_gain),
        linear=algorithm.linear,
        alpha=NO_INPUTS if log_odds else float(p["alpha"]),
        ridge=ridge if ridge == "auto" else float(ridge),
        refit=refit,
        removal=float(p["removal"]),
        centred=isinstance(bias_range, str) and bias_range == "middle",
        log_odds=log_odds,
    )


def check_draws(settings: Settings, inputs: int) -> None:
    """Refuse draws that would not fit into memory; ``inputs`` is how many the first layer has."""
    if not settings.search.supervised:
        return
    for number, candidates in enumerate(settings.candidates):
        most = MOST_DRAW_BYTES // (BYTES_PER_CANDIDATE + BYTES_PER_SIGN * inputs)
        if candidates > most:
            raise ParameterError(
                f"candidates must be at most {most} per draw for {inputs} inputs, "
                f"not {candidates}; more would take over {MOST_DRAW_BYTES >> 30} GiB of memory"
            )
        # The next layer has as many inputs as this one has nodes, of which there may be fewer than
        # its limit.
        inputs = min(settings.grown(number) or MOST_NODES, MOST_NODES)


#: A LASSO factor that keeps no input.
NO_INPUTS = 1e9


def check_readout(parameters: dict[str, Any], classifier: bool, distributed: bool = False) -> None:
    """Refuse log-odds where there are none to fit."""
    if parameters["readout"] != "logistic":
        return
    reason = "rows on a cluster" if distributed else "" if classifier else "targets"
    if not reason and parameters["mechanism"] is not None:
        reason = "a mechanism"
    if reason:
        raise ParameterError(f"readout must be 'squares' for {reason}, not 'logistic'")


#: What concerns machines that grow by single nodes alone.
NODE_PARAMETERS = (
    "max_nodes",
    "layers",
    "activation",
    "candidates",
    "lambdas",
    "r_values",
    "search",
    "criterion",
    "tolerance",
    "weights",
    "encoder",
    "inputs_per_node",
    "sign_pattern",
    "bias_range",
    "stop_step",
    "stop_tolerance",
    "removal_tolerance",
    "alpha",
    "ridge",
    "readout",
    "removal",
    "search_rows",
)
#: The budget of a machine of families that is given none, and the nodes of one of single nodes.
DEFAULT_LUTS = 3000
DEFAULT_NODES = 60
#: A machine can't be smaller than what surrounds its nodes.
FEWEST_LUTS = 50
#: Powers of two, so that the mean of the members stays on their binary grid.
MEMBERS = (1, 2, 4, 8, 16)


def growth_of(
    algorithm: Algorithm, parameters: dict[str, Any], defaults: dict[str, Any], task: str
) -> str:
    """``"families"`` or ``"nodes"``: how the machine grows.

    ``"auto"`` is by families, unless anything is asked for that concerns growth by nodes. The
    number of nodes alone may go with a budget: it is that of families then.
    """
    growth, luts, members = parameters["growth"], parameters["luts"], parameters["members"]
    if growth not in ("auto", "families", "nodes"):
        raise ParameterError(f"growth must be 'auto', 'families' or 'nodes', not {growth!r}")
    if luts is not None:
        _number("luts", luts, least=FEWEST_LUTS, otherwise=" or None")
    if members not in MEMBERS or isinstance(members, bool):
        raise ParameterError(f"members must be one of {MEMBERS}, not {members!r}")
    by_families = luts is not None or members > 1
    for_nodes = [name for name in NODE_PARAMETERS if not _same(parameters[name], defaults[name])]
    if by_families and "max_nodes" in for_nodes:
        for_nodes.remove("max_nodes")
    reason = _no_families(algorithm, parameters, task)
    if growth == "families" or by_families:
        wanted = "families" if growth == "families" else "luts" if luts is not None else "members"
        if growth == "nodes":
            raise ParameterError(f"{wanted} must be left out for growth='nodes'")
        if for_nodes and growth != "families":
            raise ParameterError(
                f"{wanted} must be left out beside {for_nodes[0]}, which is for growth by nodes; "
                "leave one of them out"
            )
        if reason:
            raise ParameterError(f"growth must be 'nodes' for {reason}, not 'families'")
        return "families"
    return "nodes" if growth == "nodes" or for_nodes or reason else "families"


def _no_families(algorithm: Algorithm, parameters: dict[str, Any], task: str) -> str:
    """What keeps a machine from growing by families; nothing if it may."""
    if algorithm.name != "SCM":
        return algorithm.name
    if parameters["input_bits"] is None:
        return "inputs that are not quantised (input_bits=None)"
    if task == "classification" and parameters["mechanism"] is not None:
        return "a classifier with a mechanism"
    return ""


def _same(value: Any, default: Any) -> bool:
    if isinstance(value, (list, tuple, np.ndarray)):
        return isinstance(default, (list, tuple)) and list(value) == list(default)
    return type(value) is type(default) and value == default


def draw_of(algorithm: Algorithm, parameters: dict[str, Any]) -> CandidateDraw:
    """The candidate draw that the parameters ask for."""
    weights = parameters["weights"]
    if weights == "real" and not algorithm.real_weights:
        raise ParameterError(f"weights must be 'binary' for {algorithm.name}, not {weights!r}")
    return CandidateDraw(
        weights,
        parameters["inputs_per_node"],
        parameters["sign_pattern"],
        _bias_range_of(parameters),
    )


def _bias_range_of(parameters: dict[str, Any]) -> BiasRange:
    """``"auto"`` is ``"middle"`` where nodes that fire or not see the inputs as they are."""
    bias_range: BiasRange = parameters["bias_range"]
    if isinstance(bias_range, str) and bias_range == "auto":
        return "middle" if _fire(parameters) and not _coded(parameters) else bias_range
    return bias_range


def input_bits_of(parameters: dict[str, Any]) -> int | None:
    """``"auto"`` is 12 where the machine is meant for hardware, and no quantisation elsewhere."""
    input_bits = parameters["input_bits"]
    if isinstance(input_bits, str) and input_bits == "auto":
        return 12 if _fire(parameters) or _coded(parameters) else None
    return input_bits


def _fire(parameters: dict[str, Any]) -> bool:
    """Whether all nodes are such as hardware has: they fire, or they don't."""
    names = parameters["activation"]
    return set([names] if isinstance(names, str) else names) <= HARDWARE_ACTIVATIONS


def _coded(parameters: dict[str, Any]) -> bool:
    return parse_encoder(parameters["encoder"])[0] != "none"


def asked_layers(parameters: dict[str, Any]) -> int:
    """The most layers that parameters ask for: as said, or as many as their longest list has."""
    if parameters["layers"] is not None:
        return parameters["layers"]
    values = [parameters[name] for name in ("max_nodes", "activation", "candidates")]
    if is_per_layer(parameters["inputs_per_node"]):
        values.append(parameters["inputs_per_node"])
    return max((len(value) for value in values if _is_list(value)), default=1)


def _is_list(value: Any) -> bool:
    return isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, str)


def _layer_count(algorithm: Algorithm, layers: int) -> int:
    if not algorithm.deep and layers != 1:
        raise ParameterError(
            f"layers must be 1 for {algorithm.name}, not {layers!r}; use a deep learner for more"
        )
    if _whole("layers", layers) > MOST_LAYERS:
        raise ParameterError(f"layers must be at most {MOST_LAYERS}, not {layers!r}")
    return int(layers)


def _search_settings(algorithm: Algorithm, p: dict[str, Any]) -> SearchSettings:
    if not algorithm.supervised:
        return SearchSettings((1.0,), (), supervised=False)
    lambdas = tuple(float(v) for v in np.atleast_1d(p["lambdas"]))
    r_values = tuple(float(v) for v in np.atleast_1d(p["r_values"]))
    if not lambdas or not all(0 < v < np.inf for v in lambdas):
        raise ParameterError(f"lambdas must be positive numbers, not {p['lambdas']!r}")
    if not r_values or not all(0 < v < 1 for v in r_values) or list(r_values) != sorted(r_values):
        raise ParameterError(
            f"r_values must be an increasing sequence between 0 and 1, not {p['r_values']!r}"
        )
    if p["criterion"] not in ("paper", "exact"):
        raise ParameterError(f"criterion must be 'paper' or 'exact', not {p['criterion']!r}")
    return SearchSettings(lambdas, r_values, p["criterion"], pool=_by_pool(p))


def _by_pool(p: dict[str, Any]) -> bool:
    """Whether nodes come from a pool; ``"auto"`` is that wherever a pool will do."""
    search = p["search"]
    if search not in ("auto", "pool", "fresh"):
        raise ParameterError(f"search must be 'auto', 'pool' or 'fresh', not {search!r}")
    reason = "" if _fire(p) else "nodes that are neither sign nor step"
    if p["criterion"] != "exact":
        reason = f"criterion {p['criterion']!r}"
    if search == "pool" and reason:
        raise ParameterError(f"search must be 'fresh' for {reason}, not 'pool'")
    return search != "fresh" and not reason


def _per_layer(name: str, value: Any, layers: int) -> tuple[Any, ...]:
    if not _is_list(value):
        return (value,) * layers
    if len(value) != layers:
        raise ParameterError(
            f"{name} must be one value or one per layer ({layers}), not {value!r}; "
            "give as many as there are layers"
        )
    return tuple(value)


def _whole(name: str, value: Any, otherwise: str = "") -> int:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ParameterError(f"{name} must be a positive whole number{otherwise}, not {value!r}")
    return int(value)


def _number(name: str, value: Any, least: float = -np.inf, otherwise: str = "") -> None:
    real = isinstance(value, Real) and not isinstance(value, bool)
    if not real or not least <= value < np.inf:
        rule = "a number" if least == -np.inf else f"a number of at least {least}"
        raise ParameterError(f"{name} must be {rule}{otherwise}, not {value!r}")
