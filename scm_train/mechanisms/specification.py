"""What specifications of mechanisms have in common, and the simplest: none, and a callable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scm_model import Encoder, ExternalModel, Mechanism, NoMechanism
from scm_model.arguments import ByName, Function, by_name
from scm_model.mechanism import call_mechanism
from scm_model.scaling import Floats, from_unit, to_unit
from scm_model.suggestions import did_you_mean
from scm_train.errors import ParameterError

#: At most this many training rows are used to fit or check a mechanism.
CHECKED_ROWS = 20_000


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
        # Rounded up, so that no more rows are taken than that.
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


@dataclass(frozen=True)
class Nothing(Specification):
    """P0 = 0 in normalised units."""

    def bind_to(self, domain: Domain) -> NoMechanism:
        return NoMechanism()


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


def as_mechanism(spec: object) -> Specification:
    """Turn what a user may pass (None, a callable, a specification) into a specification."""
    if spec is None or isinstance(spec, NoMechanism):
        return Nothing()
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
