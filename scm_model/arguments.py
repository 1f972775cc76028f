"""Mechanisms whose arguments are features: ``f(thickness, temperature)`` gets those columns."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike, NDArray

from scm_model.errors import ParameterError
from scm_model.suggestions import did_you_mean

__all__ = ["ByName", "by_name"]

Function = Callable[..., ArrayLike]

#: A single argument of this name is the matrix of all inputs, whatever the features are called.
MATRIX = "X"
_BY_KEYWORD = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_NAMED = (inspect.Parameter.POSITIONAL_ONLY, *_BY_KEYWORD)


@dataclass(frozen=True)
class ByName:
    """A function of columns as one of rows (n, d); ``columns`` are its arguments' positions."""

    function: Function
    positional: tuple[int, ...]
    keywords: tuple[tuple[str, int], ...]

    @property
    def columns(self) -> tuple[int, ...]:
        return (*self.positional, *(i for _, i in self.keywords))

    def __call__(self, X: NDArray[Any]) -> ArrayLike:
        keywords = {name: X[:, i] for name, i in self.keywords}
        return self.function(*(X[:, i] for i in self.positional), **keywords)


def by_name(function: Function, features: Sequence[str]) -> Function:
    """The function on rows (n, d): itself, or one that hands it the columns that it names.

    A function with one required argument that is no feature takes the rows as they are.
    :class:`ParameterError` for one of several arguments of which some are no features.
    """
    if isinstance(function, ByName) or not callable(function):
        return function
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        # Some functions in C don't say what they take.
        return function
    named = [p for p in parameters if p.kind in _NAMED]
    required = [p.name for p in named if p.default is inspect.Parameter.empty]
    # f(X) takes the rows, and so does a function whose arguments all have defaults.
    if required == [MATRIX] or not required:
        return function
    unknown = [name for name in required if name not in features]
    if len(required) == 1 and unknown:
        return function
    if unknown:
        raise ParameterError(
            f"arguments of a mechanism must be features, not {unknown[0]!r}; "
            f"{did_you_mean(unknown[0], features)}"
        )
    at = {name: i for i, name in enumerate(features)}
    given = [p for p in named if p.name in at]
    return ByName(
        function,
        tuple(at[p.name] for p in given if p.kind is inspect.Parameter.POSITIONAL_ONLY),
        tuple((p.name, at[p.name]) for p in given if p.kind in _BY_KEYWORD),
    )
