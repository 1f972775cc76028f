"""Polynomial mechanism models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations_with_replacement
from math import comb

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scm_model import PolynomialModel
from scm_model.arguments import Function
from scm_model.mechanism import monomials
from scm_model.scaling import Floats
from scm_train.errors import ParameterError
from scm_train.mechanisms.specification import Domain, Specification

MAX_TERMS = 4096


@dataclass(frozen=True)
class Polynomial(Specification):
    """A polynomial P0, given in raw units or fitted to a callable.

    ``Polynomial({(1, 0): 2.0, (0, 2): -0.5})`` is ``2 X_0 - 0.5 X_1**2``: a coefficient (or one
    per target) for each tuple of exponents, one exponent per entry of ``inputs``: numbers or names
    of features (None: of the features that a callable names as its arguments, else of all).
    """

    terms: Mapping[tuple[int, ...], ArrayLike] = field(default_factory=dict)
    inputs: tuple[int | str, ...] | None = None
    function: Function | None = None
    degree: int = 0

    @classmethod
    def approximating(
        cls, function: Function, degree: int = 2, inputs: Sequence[int | str] | None = None
    ) -> Polynomial:
        """Least squares of total ``degree`` in ``inputs``, on training rows, to a callable."""
        if not isinstance(degree, (int, np.integer)) or not 1 <= degree <= 16:
            raise ParameterError(
                f"degree of a polynomial must be a whole number from 1 to 16, not {degree!r}"
            )
        chosen = None if inputs is None else tuple(inputs)
        return cls(inputs=chosen, function=function, degree=int(degree))

    def bind_to(self, domain: Domain) -> PolynomialModel:
        inputs = domain.inputs_of(self.function, self.inputs)
        if self.function is None:
            return self._expanded(domain, inputs)
        return self._fitted(domain, inputs)

    def _expanded(self, domain: Domain, inputs: tuple[int, ...]) -> PolynomialModel:
        """Substitute ``X_i = min_i + span_i x_i`` and collect the terms in x."""
        if not self.terms:
            raise ParameterError("terms of a polynomial must be at least one, not none")
        m, span = len(domain.target_min), domain.target_max - domain.target_min
        # P0 is wanted in normalised units, (P0 - min) / span: the least target comes off the
        # constant.
        collected: dict[tuple[int, ...], Floats] = {(0,) * domain.n_features: -domain.target_min}
        for exponents, coefficient in self.terms.items():
            exponents = _full_exponents(exponents, inputs, domain.n_features)
            scale = _coefficient(coefficient, m)
            for powers, factor in _shifted(exponents, domain).items():
                collected[powers] = collected.get(powers, np.zeros(m)) + scale * factor
        _check_terms(len(collected))
        # In a fixed order, so that equal polynomials are equal files.
        rows = sorted(collected)
        coefficients = np.stack([collected[row] for row in rows]) / span
        return PolynomialModel(np.array(rows, dtype=np.uint8), coefficients)

    def _fitted(self, domain: Domain, inputs: tuple[int, ...]) -> PolynomialModel:
        assert self.function is not None
        exponents = _all_exponents(inputs, self.degree, domain.n_features)
        rows = domain.sample()
        x, wanted = domain.seen(rows), domain.p0(self.function, rows)
        terms = monomials(x, exponents)
        coefficients = np.linalg.lstsq(terms, wanted, rcond=None)[0]
        error = float(np.abs(terms @ coefficients - wanted).max(initial=0.0))
        return PolynomialModel(exponents, coefficients, error)


def _check_terms(count: int) -> None:
    if count > MAX_TERMS:
        raise ParameterError(
            f"terms of a polynomial must be at most {MAX_TERMS}, not {count}; "
            "lower the degree or choose fewer inputs"
        )


def _coefficient(value: ArrayLike, m: int) -> Floats:
    coefficient = np.asarray(value, dtype=np.float64)
    if coefficient.shape not in {(), (1,), (m,)} or not np.isfinite(coefficient).all():
        raise ParameterError(
            f"coefficients of a polynomial must be finite, one or one per target ({m}), "
            f"not {value!r}"
        )
    return np.broadcast_to(coefficient, (m,))


def _full_exponents(
    exponents: tuple[int, ...], inputs: tuple[int, ...], n_features: int
) -> tuple[int, ...]:
    """Spread exponents of the chosen inputs over all features."""
    whole = all(isinstance(e, (int, np.integer)) and 0 <= e <= 255 for e in exponents)
    if len(exponents) != len(inputs) or not whole:
        raise ParameterError(
            f"exponents of a polynomial term must be {len(inputs)} whole numbers from 0 to 255, "
            f"not {exponents!r}"
        )
    full = [0] * n_features
    for i, e in zip(inputs, exponents, strict=True):
        full[i] = int(e)
    return tuple(full)


def _all_exponents(inputs: tuple[int, ...], degree: int, n_features: int) -> NDArray[np.uint8]:
    """Every monomial of total degree up to ``degree`` in the chosen inputs."""
    # Counted before they are made: a high degree of many inputs would fill the memory.
    _check_terms(comb(len(inputs) + degree, degree))
    rows = []
    for total in range(degree + 1):
        for factors in combinations_with_replacement(inputs, total):
            rows.append(np.bincount(factors, minlength=n_features) if factors else [0] * n_features)
    return np.array(rows, dtype=np.uint8)


def _shifted(exponents: tuple[int, ...], domain: Domain) -> dict[tuple[int, ...], float]:
    """Expand ``prod (min_i + span_i x_i)**e_i`` into powers of x."""
    powers: dict[tuple[int, ...], float] = {(): 1.0}
    for low, high, e in zip(domain.input_min, domain.input_max, exponents, strict=True):
        # (low + span x)^e by the binomial theorem, one feature after the other.
        binomial = [comb(e, k) * low ** (e - k) * (high - low) ** k for k in range(e + 1)]
        powers = {
            (*head, k): value * factor
            for head, value in powers.items()
            for k, factor in enumerate(binomial)
            # Where the least input is 0, most terms of the binomial vanish, and need no rows.
            if factor or e == 0
        }
    return powers
