"""Mechanism models as tables with linear interpolation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from scm_model import TableModel
from scm_model.arguments import Function
from scm_model.mechanism import interpolate
from scm_model.scaling import Floats
from scm_model.schema import MAX_GRID_STEPS, MAX_TABLE_INPUTS
from scm_train.errors import ParameterError
from scm_train.mechanisms.specification import Domain, Specification

MAX_TABLE_POINTS = 2**20
#: Random points at which a table is compared with its callable, beside training rows.
CHECKED_POINTS = 4_096


@dataclass(frozen=True)
class Table(Specification):
    """A callable sampled on a grid over one to three inputs; the others stay at mid-range.

    ``inputs`` are numbers or names of features; None for those that the callable names as its
    arguments.

    ``points`` per input (one number, or one per input) must be ``2**s + 1``, s from 1 to the
    smaller of ``input_bits`` and 10, so that hardware finds its cell in the top bits of the code.
    """

    function: Function
    inputs: Sequence[int | str] | None = None
    points: int | Sequence[int] = 33

    def bind_to(self, domain: Domain) -> TableModel:
        inputs = domain.inputs_of(self.function, self.inputs)
        if len(inputs) > MAX_TABLE_INPUTS:
            raise ParameterError(
                f"inputs of a table must be at most {MAX_TABLE_INPUTS}, not {len(inputs)}; "
                "choose the most important ones, or use a polynomial"
            )
        points = _grid_points(self.points, len(inputs), domain.encoder.input_bits)
        axes = np.meshgrid(*(np.linspace(0, 1, g) for g in points), indexing="ij")
        at = self._rows_at(domain, inputs, np.stack([a.ravel() for a in axes], axis=1))
        grid = domain.p0(self.function, at).reshape(*points, -1)
        table = TableModel(np.array(inputs, dtype=np.int32), grid)
        return replace(table, worst_error=self._worst_error(domain, inputs, table))

    def _rows_at(self, domain: Domain, inputs: tuple[int, ...], x: Floats) -> Floats:
        """Raw rows with the table's inputs at ``x`` and all others at mid-range."""
        full = np.full((len(x), domain.n_features), 0.5)
        full[:, list(inputs)] = x
        return domain.raw(full)

    def _worst_error(self, domain: Domain, inputs: tuple[int, ...], table: TableModel) -> float:
        """Compare with the callable on training rows and at random points of the table."""
        # A fixed seed: the check is part of the model, and equal training gives equal files.
        points = np.random.default_rng(0).random((CHECKED_POINTS, len(inputs)))
        worst = 0.0
        for rows in (domain.sample(), self._rows_at(domain, inputs, points)):
            found = interpolate(table.grid, domain.seen(rows)[:, list(inputs)])
            worst = max(worst, np.abs(found - domain.p0(self.function, rows)).max(initial=0.0))
        return float(worst)


def _grid_points(points: int | Sequence[int], count: int, input_bits: int | None) -> list[int]:
    each = [points] * count if isinstance(points, (int, np.integer)) else list(points)
    finest = min(MAX_GRID_STEPS, input_bits or MAX_GRID_STEPS)
    allowed = {2**s + 1 for s in range(1, finest + 1)}
    if len(each) != count or not set(each) <= allowed:
        raise ParameterError(
            f"points of a table must be one or {count} of {', '.join(map(str, sorted(allowed)))}, "
            f"not {points!r}"
        )
    if np.prod(each) > MAX_TABLE_POINTS:
        raise ParameterError(
            f"points of a table must be at most {MAX_TABLE_POINTS} in all, "
            f"not {np.prod(each)}; take fewer per input"
        )
    return [int(g) for g in each]
