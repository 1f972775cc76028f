"""What mechanism models have in common, and the two simplest: none, and an external callable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scm_train.encoders import Encoder
from scm_train.errors import DataError, ParameterError
from scm_train.scaling import Floats, from_unit, to_unit

Function = Callable[[NDArray], ArrayLike]

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
        return call_mechanism(function, X, self.target_min, self.target_max)

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
    ) -> Mechanism:
        """Fit to training inputs ``X`` (raw) and the ranges of inputs and targets."""
        return self.bind_to(Domain(X, input_min, input_max, target_min, target_max, encoder))

    def bind_to(self, domain: Domain) -> Mechanism:
        """What :meth:`bind` does, with its arguments in one."""
        raise NotImplementedError


def call_mechanism(
    function: Function, X: NDArray, target_min: Floats, target_max: Floats
) -> Floats:
    """Call a mechanism on raw rows, check what it returns, and normalise it to (n, m)."""
    values = np.asarray(function(X), dtype=np.float64)
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
        return self.reaching(np.stack([values.min(axis=0), values.max(axis=0)]))

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


def chosen_inputs(inputs: Sequence[int] | None, n_features: int) -> tuple[int, ...]:
    """Check feature numbers; None means all of them."""
    chosen = tuple(range(n_features)) if inputs is None else tuple(inputs)
    valid = all(isinstance(i, (int, np.integer)) and 0 <= i < n_features for i in chosen)
    if not chosen or not valid or len(set(chosen)) < len(chosen):
        raise ParameterError(
            f"inputs of a mechanism must be distinct feature numbers from 0 to {n_features - 1}, "
            f"not {inputs!r}"
        )
    return tuple(int(i) for i in chosen)
