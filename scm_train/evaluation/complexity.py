"""Model complexity of the paper's Definition 3.1, MC(F) = Z(grad S) * integral of sum |dS/dX_i|.

`Z` is the number of local extrema of `S` inside the box; extrema that exist only because the box
ends there do not count, so a monotone function has complexity 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import ndimage, optimize
from scipy.integrate import trapezoid
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist
from scipy.stats import qmc

from scm_train.errors import ParameterError

__all__ = ["Complexity", "HiddenLayer", "LayerSum", "complexity_of_layers", "model_complexity"]

Floats = NDArray[np.float64]
Method = Literal["auto", "grid", "sampling"]

GRID_POINTS = {1: 20_001, 2: 401, 3: 81}
"""Default number of grid points per dimension."""

FLAT = 1e-10
"""Differences below this share of the range are rounding, not slope."""


@dataclass(frozen=True)
class Complexity:
    """`value = extrema * variation`, and how the two were found."""

    extrema: int
    variation: float
    method: Literal["grid", "sampling"]

    @property
    def value(self) -> float:
        return self.extrema * self.variation


class HiddenLayer(Protocol):
    """What `complexity_of_layers` needs of a layer: `phi(lambda * (W h + b))`, node by node.

    `mask` is None, or (N, a) and false where a connection is absent.
    """

    weights: NDArray
    mask: NDArray | None
    lambdas: NDArray
    biases: NDArray
    activation: str


def model_complexity(
    function: Callable[[Floats], Floats],
    gradient: Callable[[Floats], Floats],
    bounds: ArrayLike,
    *,
    method: Method = "auto",
    points: int | None = None,
    samples: int = 2**14,
    starts: int = 128,
    seed: int = 0,
) -> Complexity:
    """Complexity of `function` over the box `bounds`, rows of (lower, upper), one per input.

    `function` maps (n, d) to (n,), `gradient` (n, d) to (n, d). `"grid"` (d of 1 to 3) evaluates
    both on `points` per dimension, and sees no extremum narrower than a grid step. `"sampling"`
    takes the integral over a Sobol sequence of `samples` points, and counts the distinct interior
    ends of `starts` ascents and `starts` descents: a lower bound on `Z`. `"auto"` is a grid up to
    three inputs and sampling beyond.
    """
    box = _checked_bounds(bounds)
    dimensions = len(box)
    if method not in ("auto", "grid", "sampling"):
        raise ParameterError(
            f"method must be 'auto', 'grid' or 'sampling', not {method!r}; leave it out if in doubt"
        )
    if method == "grid" and dimensions > max(GRID_POINTS):
        raise ParameterError(
            f"method must be 'sampling' for {dimensions} inputs, not 'grid'; "
            f"grids go up to {max(GRID_POINTS)} inputs"
        )
    if method == "sampling" or dimensions > max(GRID_POINTS):
        _check_least("samples", samples, 2)
        _check_least("starts", starts, 1)
        return _by_sampling(function, gradient, box, samples, starts, seed)
    points = GRID_POINTS[dimensions] if points is None else points
    _check_least("points", points, 3)
    if dimensions == 1:
        return _on_line(gradient, box[0], points)
    return _on_grid(function, gradient, box, points)


def complexity_of_layers(
    layers: Sequence[HiddenLayer],
    readout: ArrayLike,
    bounds: ArrayLike,
    *,
    method: Method = "auto",
    points: int | None = None,
    samples: int = 2**14,
    starts: int = 128,
    seed: int = 0,
) -> Complexity:
    """Complexity of `S`, the readout of all layers, over the box of inputs of the first layer.

    `readout` holds one weight per node, first layer first. `sign` and `step` have no gradient, and
    are refused. The options are those of `model_complexity`.
    """
    machine = LayerSum(layers, readout)
    return model_complexity(
        machine,
        machine.gradient,
        bounds,
        method=method,
        points=points,
        samples=samples,
        starts=starts,
        seed=seed,
    )


class LayerSum:
    """`S(x) = readout . [H_1(x), ..., H_M(x)]` and its exact gradient by the chain rule."""

    def __init__(self, layers: Sequence[HiddenLayer], readout: ArrayLike) -> None:
        for number, layer in enumerate(layers, start=1):
            _check_differentiable(number, layer.activation)
        self.layers = list(layers)
        self.readout = np.asarray(readout, dtype=np.float64)
        self._weights = [_masked(layer) for layer in layers]
        sizes = [len(weights) for weights in self._weights]
        if not sizes or self.readout.shape != (sum(sizes),):
            raise ParameterError(
                f"readout must be one weight for each of {sum(sizes)} nodes, "
                f"not of shape {self.readout.shape}; give one output at a time"
            )
        self._readouts = np.split(self.readout, np.cumsum(sizes)[:-1])

    def __call__(self, X: Floats) -> Floats:
        outputs, _ = self._forward(X)
        return sum(h @ beta for h, beta in zip(outputs, self._readouts, strict=True))

    def gradient(self, X: Floats) -> Floats:
        """(n, d): where `brelu` has a corner, the slope outside of [0, 1], which is 0."""
        _, slopes = self._forward(X)
        upstream: Floats | float = 0.0
        for weights, beta, slope in zip(
            reversed(self._weights), reversed(self._readouts), reversed(slopes), strict=True
        ):
            # dS/dh of a layer: by its own readout, and by what the layers after it do with its
            # outputs.
            upstream = ((upstream + beta) * slope) @ weights
        return upstream

    def _forward(self, X: Floats) -> tuple[list[Floats], list[Floats]]:
        outputs, slopes = [], []
        h = np.asarray(X, dtype=np.float64)
        for layer, weights in zip(self.layers, self._weights, strict=True):
            z = layer.lambdas * (h @ weights.T + layer.biases)
            h, slope = _ACTIVATIONS[layer.activation](z)
            outputs.append(h)
            slopes.append(slope * layer.lambdas)
        return outputs, slopes


def _sigmoid(z: Floats) -> tuple[Floats, Floats]:
    # tanh form: no overflow at either end.
    h = 0.5 * (1.0 + np.tanh(0.5 * z))
    return h, h * (1.0 - h)


def _tanh(z: Floats) -> tuple[Floats, Floats]:
    h = np.tanh(z)
    return h, 1.0 - h * h


def _brelu(z: Floats) -> tuple[Floats, Floats]:
    return np.clip(z, 0.0, 1.0), ((z > 0.0) & (z < 1.0)).astype(np.float64)


_ACTIVATIONS: dict[str, Callable[[Floats], tuple[Floats, Floats]]] = {
    "sigmoid": _sigmoid,
    "tanh": _tanh,
    "brelu": _brelu,
}


def _check_differentiable(number: int, activation: str) -> None:
    if activation not in _ACTIVATIONS:
        raise ParameterError(
            f"activation of layer {number} must be sigmoid, tanh or brelu for model complexity, "
            f"not {activation!r}; it has no gradient, so train a differentiable layer to compare"
        )


def _masked(layer: HiddenLayer) -> Floats:
    weights = np.asarray(layer.weights, dtype=np.float64)
    return weights if layer.mask is None else weights * np.asarray(layer.mask, dtype=bool)


def _on_line(gradient: Callable[[Floats], Floats], ends: Floats, points: int) -> Complexity:
    x = np.linspace(ends[0], ends[1], points)
    slope = gradient(x[:, None])[:, 0]
    size = np.abs(slope)
    # Slopes of rounding alone have any sign, and would count as turns.
    rising = np.sign(slope[size > FLAT * size.max()])
    # An extremum inside is where the slope changes its sign.
    turns = sum(a != b for a, b in pairwise(rising))
    return Complexity(turns, float(trapezoid(size, x)), "grid")


def _on_grid(
    function: Callable[[Floats], Floats],
    gradient: Callable[[Floats], Floats],
    box: Floats,
    points: int,
) -> Complexity:
    axes = [np.linspace(low, high, points) for low, high in box]
    shape = (points,) * len(axes)
    values, density = np.empty(shape), np.empty(shape)
    rest = np.stack(np.meshgrid(*axes[1:], indexing="ij"), axis=-1).reshape(-1, len(axes) - 1)
    for row, first in enumerate(axes[0]):  # a slice at a time keeps memory small
        X = np.column_stack([np.full(len(rest), first), rest])
        values[row] = function(X).reshape(shape[1:])
        density[row] = np.abs(gradient(X)).sum(axis=1).reshape(shape[1:])
    variation = density
    # The integral, one axis at a time, the last first.
    for axis in reversed(axes):
        variation = trapezoid(variation, axis, axis=-1)
    values = _without_rounding(values)
    extrema = _regional_maxima(values) + _regional_maxima(-values)
    return Complexity(extrema, float(variation), "grid")


def _without_rounding(values: Floats) -> Floats:
    low, high = values.min(), values.max()
    return np.round((values - low) / (FLAT * (high - low))) if high > low else np.zeros_like(values)


def _regional_maxima(values: Floats) -> int:
    """Plateaus (one point or more) with no higher neighbour, clear of the grid's border.

    Comparing with >= and joining neighbours counts a peak that falls between two equal points once.
    """
    # Diagonal neighbours too: on a slanted ridge no other one is as high.
    everywhere = np.ones((3,) * values.ndim, dtype=bool)
    top = values >= ndimage.maximum_filter(values, footprint=everywhere, mode="nearest")
    labels, count = ndimage.label(top, structure=everywhere)
    # Label 0 is all that is no plateau.
    refused = np.zeros(count + 1, dtype=bool)
    refused[0] = True
    for axis in range(values.ndim):
        for end in (0, -1):
            refused[np.unique(labels.take(end, axis=axis))] = True
    refused[_terraces(values, labels)] = True
    return int(np.count_nonzero(~refused))


def _terraces(values: Floats, labels: NDArray[np.integer]) -> NDArray[np.integer]:
    """Labels of plateaus that go on, at the same height, to a point with a higher neighbour."""
    found, shape = [], values.shape
    for shift in product((-1, 0, 1), repeat=len(shape)):
        here = tuple(slice(max(-s, 0), n - max(s, 0)) for s, n in zip(shift, shape, strict=True))
        there = tuple(slice(max(s, 0), n - max(-s, 0)) for s, n in zip(shift, shape, strict=True))
        same = values[here] == values[there]
        # An equal neighbour without a label has a higher one of its own, or it would be a top too.
        found.append(np.unique(labels[here][same & (labels[there] == 0)]))
    return np.concatenate(found)


def _by_sampling(
    function: Callable[[Floats], Floats],
    gradient: Callable[[Floats], Floats],
    box: Floats,
    samples: int,
    starts: int,
    seed: int,
) -> Complexity:
    low, width = box[:, 0], box[:, 1] - box[:, 0]
    # A Sobol sequence is balanced only at powers of two: rounded up to one.
    sequence = qmc.Sobol(len(box), scramble=False).random_base2((samples - 1).bit_length())
    # A random shift keeps the sequence even, and lets seeds differ.
    unit = (sequence + np.random.default_rng(seed).random(len(box))) % 1.0
    size = np.abs(gradient(low + width * unit)).sum(axis=1)
    # Coordinates in [0, 1] and slopes of order 1, so that one tolerance fits all machines.
    scale = float(size.max() * width.max()) or 1.0

    def height(u: Floats) -> float:
        return function((low + width * u)[None])[0] / scale

    def slope(u: Floats) -> Floats:
        return width * gradient((low + width * u)[None])[0] / scale

    minima = _count_minima(height, slope, unit[:starts])
    maxima = _count_minima(lambda u: -height(u), lambda u: -slope(u), unit[:starts])
    return Complexity(minima + maxima, float(size.mean() * width.prod()), "sampling")


def _count_minima(
    function: Callable[[Floats], float], gradient: Callable[[Floats], Floats], starts: Floats
) -> int:
    """Distinct interior minima that descents from `starts` reach; ends close by are one."""
    ends = [_descend(function, gradient, start) for start in starts]
    points = np.array([end for end in ends if end is not None])
    if not len(points):
        return 0
    # Descents to one minimum end a little apart.
    near = cdist(points, points, "chebyshev") < 1e-2
    return int(connected_components(near, directed=False, return_labels=False))


def _descend(
    function: Callable[[Floats], float], gradient: Callable[[Floats], Floats], start: Floats
) -> Floats | None:
    """Where a descent of `function` from `start` comes to rest, or None if not at an extremum.

    A start that is flat already tells nothing, and an end on the box's faces is no extremum of `S`.
    """
    if np.abs(gradient(start)).max() < 1e-7:
        return None
    found = optimize.minimize(
        function,
        start,
        jac=gradient,
        method="L-BFGS-B",
        bounds=[(0.0, 1.0)] * len(start),
        # By the slope alone: the flat bottom of a valley is no end yet.
        options={"ftol": 0.0, "gtol": 1e-9, "maxiter": 500},
    )
    inside = np.all((found.x > 1e-6) & (found.x < 1.0 - 1e-6))
    return found.x if inside and np.abs(gradient(found.x)).max() < 1e-5 else None


def _checked_bounds(bounds: ArrayLike) -> Floats:
    box = np.asarray(bounds, dtype=np.float64)
    if box.ndim != 2 or box.shape[1:] != (2,) or not len(box):
        raise ParameterError(
            f"bounds must be rows of (lower, upper), not of shape {box.shape}; give one per input"
        )
    for lower, upper in box:
        if not (np.isfinite([lower, upper]).all() and lower < upper):
            raise ParameterError(
                f"bounds must be finite with lower below upper, not ({lower!r}, {upper!r}); "
                "leave constant inputs out"
            )
    return box


def _check_least(name: str, value: int, least: int) -> None:
    if value < least:
        raise ParameterError(f"{name} must be at least {least}, not {value!r}; raise it")
