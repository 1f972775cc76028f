"""Mechanism models P0: what is known of the plant before any learning.

A user hands over a *specification*; ``bind`` fits it to the ranges of the training data and gives
the :class:`Mechanism` that training takes off the target, that prediction adds again, and that the
model file holds:

====================  ==========================================  ===================
specification         what the machine computes                   bound form
====================  ==========================================  ===================
``None``              nothing                                     ``NoMechanism``
a callable,           the callable itself; the model file holds   ``ExternalModel``
``External``          no code, so values must come from outside
``Polynomial``        a polynomial of the normalised inputs       ``PolynomialModel``
``Table``             a grid over one to three inputs, linear     ``TableModel``
                      in between
====================  ==========================================  ===================

A callable takes raw inputs (n, d), or has features as its arguments, ``f(speed, load)``, and gets
their columns (n,) by name. It returns P0 in target units, (n,) or (n, m). It may be
physics, a simulation, or an expert system such as :class:`scm_train.mechanisms.fuzzy.FuzzySystem`.
"""

from __future__ import annotations

from scm_model import ExternalModel, Mechanism, NoMechanism, PolynomialModel, TableModel
from scm_model.mechanism import interpolate
from scm_train.mechanisms.polynomial import Polynomial
from scm_train.mechanisms.specification import Domain, External, Specification, as_mechanism
from scm_train.mechanisms.table import Table

__all__ = [
    "Domain",
    "External",
    "ExternalModel",
    "Mechanism",
    "NoMechanism",
    "Polynomial",
    "PolynomialModel",
    "Specification",
    "Table",
    "TableModel",
    "as_mechanism",
    "interpolate",
]
