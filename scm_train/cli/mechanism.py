"""Mechanism models on the command line: callables by name, and how a model is to hold them."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Callable, Sequence
from typing import Any

from scm_model.arguments import ByName, by_name
from scm_model.suggestions import did_you_mean
from scm_train.data.files import split_names
from scm_train.errors import ParameterError
from scm_train.mechanisms import External, Polynomial, Table

__all__ = ["fit_mechanism", "import_callable", "mechanism_file"]


def fit_mechanism(
    args: argparse.Namespace, feature_names: Sequence[str], own: Callable | None
) -> Any:
    """The specification that the flags of `fit` ask for; ``own`` is the data set's mechanism."""
    if args.mechanism is None:
        return None
    if args.mechanism == "dataset":
        if own is None:
            raise ParameterError(
                "--mechanism dataset must be used with a --dataset that has a mechanism"
            )
        function = own
    else:
        function = import_callable(args.mechanism)
    function = by_name(function, feature_names)
    inputs = _positions(args.mechanism_inputs, feature_names)
    if args.mechanism_kind == "external":
        return External(function)
    if args.mechanism_kind == "polynomial":
        return Polynomial.approximating(function, args.mechanism_degree, inputs)
    # A table is of at most three inputs, and a function of all rows does not say which.
    if inputs is None and not isinstance(function, ByName):
        raise ParameterError(
            "--mechanism-inputs must name one to three features for a table; "
            "name those that the mechanism depends on, or have them as its arguments"
        )
    return Table(function, inputs, args.mechanism_points)


def import_callable(name: str) -> Callable:
    """Import ``module:function``, also from the current folder."""
    module_name, _, attribute = name.partition(":")
    if not module_name or not attribute:
        raise ParameterError(f"--mechanism must be module:function, not {name!r}")
    # A console script doesn't look for modules where the user stands; `python -m` does.
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        module = importlib.import_module(module_name)
    # A module of the user's own may raise anything while it is imported.
    except Exception as error:
        reason = " ".join(str(error).split())
        remedy = "check its name, and run the command in its folder"
        if module_name.endswith(".py"):
            remedy = f"a module has no suffix, give {module_name.removesuffix('.py')}:{attribute}"
        raise ParameterError(
            f"can't import the module {module_name!r} of --mechanism: {reason}; {remedy}"
        ) from error
    function = getattr(module, attribute, None)
    if not callable(function):
        known = [n for n, value in vars(module).items() if callable(value)]
        raise ParameterError(
            f"--mechanism must name a callable of {module_name}, not {attribute!r}; "
            f"{did_you_mean(attribute, known)}"
        )
    return function


def mechanism_file(name: str | None) -> str | None:
    """The file that ``module:function`` is imported from, where there is one."""
    if name is None or name == "dataset":
        return None
    import_callable(name)
    return getattr(sys.modules[name.partition(":")[0]], "__file__", None)


def _positions(wanted: list[str] | None, feature_names: Sequence[str]) -> list[int] | None:
    if wanted is None:
        return None
    names = split_names(wanted, feature_names)
    for name in names:
        if name not in feature_names:
            raise ParameterError(
                f"--mechanism-inputs must be features, not {name!r}; "
                f"{did_you_mean(name, feature_names)}"
            )
    return [list(feature_names).index(name) for name in names]
