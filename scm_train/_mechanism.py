"""What mechanism models have in common, and the two simplest: none, and an external callable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scm_train.arguments import ByName, by_name
from scm_train.encoders import Encoder
from scm_train.errors import DataError, ParameterError, ScmTrainError
from scm_train.scaling import Floats, from_unit, to_unit
from scm_train.suggestions import did_you_mean

Function = Callable[..., ArrayLike]

#: At most so many training rows are used to fit or check a mechanism.
CHECKED_ROWS = 20_000


class Mechanism:
    """A bound mechanism model."""

    kind: ClassVar[str]
    #: Largest difference seen to the callable it stands for, in normalised units; None if exact.
    worst_error: float | None = None

    def values(self, X: NDArray, x: Floats, target_min: Floats, target_max: Floats) -> Floats:
        """Return P0 in normalised target units (n, m).

        ``X`` are raw inputs; ``x`` the same rows as the machine sees them, ``x_q`` or ``x_norm``.
        """
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Domain:
    """The training data's view that a specification is bound to."""

    X: NDArray
    input_min: Floats
    input_max: Floats
    target_min: Floats
    target_max: Floats
    encoder: Encoder
    #: Names of the features, where they are known; a function may have them as arguments.
    names: tuple[str, ...] = ()

    @property
    def n_features(self) -> int:
        return len(self.input_min)

    def seen(self, X: NDArray) -> Floats:
        """Raw inputs as the machine sees them."""
        return self.encoder.quantised(to_unit(X, self.input_min, self.input_max))

    def raw(self, x: Floats) -> Floats:
        """Normalised inputs in raw units."""
        return from_unit(x, self.input_min, self.input_max)

    def p0(self, function: Function, X: NDArray) -> Floats:
        """Call ``function`` on raw rows; normalised units, checked (n, m)."""
        function = by_name(function, self.names)
        return call_mechanism(function, X, self.target_min, self.target_max)

    def inputs_of(
        self, function: Function | None, inputs: Sequence[int | str] | None
    ) -> tuple[int, ...]:
        """The numbers of the inputs named; of None, the function's arguments, or all features."""
        if inputs is None and function is not None:
            bound = by_name(function, self.names)
            inputs = bound.columns if isinstance(bound, ByName) else None
        return chosen_inputs(inputs, self.n_features, self.names)

    def sample(self) -> NDArray:
        """At most ``CHECKED_ROWS`` training rows, evenly spread."""
        stride = -(-len(self.X) // CHECKED_ROWS)
        return self.X[::stride]


class Specification:
    """What a user hands over as a mechanism."""

    def bind(
        self,
        X: NDArray,
        input_min: Floats,
        input_max: Floats,
        target_min: Floats,
        target_max: Floats,
        encoder: Encoder,
        names: tuple[str, ...] = (),
    ) -> Mechanism:
        """Fit to training inputs ``X`` (raw), the ranges of inputs and targets, and the names."""
        ranges = (input_min, input_max, target_min, target_max)
        return self.bind_to(Domain(X, *ranges, encoder, names))

    def bind_to(self, domain: Domain) -> Mechanism:
        """What :meth:`bind` does, with its arguments in one."""
        raise NotImplementedError


def call_mechanism(
    function: Function, X: NDArray, target_min: Floats, target_max: Floats
) -> Floats:
    """Call a mechanism on raw rows, check what it returns, and normalise it to (n, m)."""
    try:
        values = np.asarray(function(X), dtype=np.float64)
    except ScmTrainError:
        raise
    # Whatever a user's function raises is told in one line; Python users see its cause too.
    except Exception as error:
        own = function.function if isinstance(function, ByName) else function
        name = getattr(own, "__name__", type(own).__name__)
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise DataError(
            f"can't compute the mechanism {name}: {reason}; correct the function"
        ) from error
    n, m = len(X), len(target_min)
    if values.shape == (n,) and m == 1:
        values = values[:, None]
    if values.shape != (n, m):
        wanted = f"({n},) or ({n}, 1)" if m == 1 else f"({n}, {m})"
        raise DataError(
            f"mechanism values must be of shape {wanted}, not {values.shape!r}; "
            "return one value per row and target"
        )
    if not np.isfinite(values).all():
        raise DataError(
            f"mechanism values must be finite, not {values[~np.isfinite(values)][0]}; "
            "mend the mechanism for the inputs it is asked about"
        )
    return to_unit(values, target_min, target_max)


@dataclass(frozen=True)
class NoMechanism(Mechanism, Specification):
    """P0 = 0 in normalised units. It is its own specification."""

    kind: ClassVar[str] = "none"

    def bind_to(self, domain: Domain) -> NoMechanism:
        return self

    def values(self, X: NDArray, x: Floats, target_min: Floats, target_max: Floats) -> Floats:
        return np.zeros((len(x), len(target_min)))


@dataclass(frozen=True)
class External(Specification):
    """A callable that stays outside of the model file and feeds hardware through a port."""

    function: Function

    def bind_to(self, domain: Domain) -> ExternalModel:
        values = domain.p0(self.function, domain.X)
        own = self.named(domain.names)
        return own.reaching(np.stack([values.min(axis=0), values.max(axis=0)]))

    def named(self, names: Sequence[str]) -> External:
        """The same, where the function's arguments are columns of these names."""
        return External(by_name(self.function, names))

    def reaching(self, span: Floats) -> ExternalModel:
        """The model, of which the least and the greatest values (2, m) on all rows are known."""
        return ExternalModel(_widened(span), self.function)


def _widened(span: Floats) -> Floats:
    """A quarter of the range added at both ends, for rows outside of the training data."""
    # The floor keeps the range of a constant P0 from being empty.
    margin = np.maximum(span[1] - span[0], 1 / 16) / 4
    return np.stack([span[0] - margin, span[1] + margin])


@dataclass(frozen=True, eq=False)
class ExternalModel(Mechanism):
    """P0 from a callable, or, in a model loaded without one, given row by row."""

    kind: ClassVar[str] = "external"
    #: Least and greatest P0, normalised (2, m), that a number format must hold.
    range: Floats
    function: Function | None = None

    def values(self, X: NDArray, x: Floats, target_min: Floats, target_max: Floats) -> Floats:
        if self.function is None:
            raise ParameterError(
                "mechanism_values must be given for a model with an external mechanism, not None; "
                "pass P0 of each row, or load the model with mechanism=<callable>"
            )
        return call_mechanism(self.function, X, target_min, target_max)

    def named(self, names: Sequence[str]) -> ExternalModel:
        """The same model, where the function's arguments are columns of these names."""
        return (
            self if self.function is None else replace(self, function=by_name(self.function, names))
        )

    def covering(self, values: Floats) -> ExternalModel:
        """The same model, its range widened to hold ``values`` (n, m), normalised."""
        low = np.minimum(self.range[0], values.min(axis=0, initial=np.inf))
        high = np.maximum(self.range[1], values.max(axis=0, initial=-np.inf))
        return replace(self, range=np.stack([low, high]))


def as_mechanism(spec: object) -> Specification:
    """Turn what a user may pass (None, a callable, a specification) into a specification."""
    if spec is None:
        return NoMechanism()
    if isinstance(spec, Specification):
        return spec
    if callable(spec):
        return External(spec)
    raise ParameterError(
        "mechanism must be None, a callable on raw inputs, Table, Polynomial or External, "
        f"not {spec!r}"
    )


def chosen_inputs(
    inputs: Sequence[int | str] | None, n_features: int, names: Sequence[str] = ()
) -> tuple[int, ...]:
    """Check feature numbers, or names of features; None means all of them."""
    wanted = tuple(range(n_features)) if inputs is None else tuple(inputs)
    for name in wanted:
        if isinstance(name, str) and name not in names:
            raise ParameterError(
                f"inputs of a mechanism must be features, not {name!r}; {did_you_mean(name, names)}"
            )
    chosen = tuple(list(names).index(i) if isinstance(i, str) else i for i in wanted)
    valid = all(isinstance(i, (int, np.integer)) and 0 <= i < n_features for i in chosen)
    if not chosen or not valid or len(set(chosen)) < len(chosen):
        raise ParameterError(
            f"inputs of a mechanism must be distinct feature numbers from 0 to {n_features - 1}, "
            f"not {inputs!r}"
        )
    return tuple(int(i) for i in chosen)
