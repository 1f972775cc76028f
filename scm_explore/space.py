"""What a design can be: every choice that the search makes, and how one choice leads to others."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from scm_train.estimators import SCMRegressor
from scm_train.training.parameters import DEFAULT_LUTS, DEFAULT_NODES

FEWEST_NODES = 4
# Ratio of each number of nodes to the one before, about.
LADDER = 1.4
MOST_LAYERS = 3
# Of machines that grow by families; half of the points drawn are such.
BUDGETS = (150, 300, 600, 1200, 2500, 5000, 10_000)

Choice = Any


@dataclass(frozen=True)
class Point:
    """A design: how its model is trained, and how it is compiled."""

    encoder: str
    input_bits: int
    nodes: tuple[int, ...]
    activation: str
    inputs_per_node: tuple[int, ...] | None
    bias_range: str | tuple[float, float]
    frac_bits: int
    pipeline: str
    fold: str
    tables: str
    mechanism: str = "none"
    #: LUTs up to which it grows by families, without what concerns single nodes. None: by nodes.
    luts: int | None = None

    @property
    def coding(self) -> str:
        """What the first layer sees, in short."""
        return self.encoder if self.luts is None else f"families, {self.luts:,} LUTs"

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Point:
        """The reverse; JSON has no tuples."""
        return cls(**{k: tuple(v) if isinstance(v, list) else v for k, v in record.items()})


@dataclass(frozen=True)
class Space:
    """All points for data of `features` features, with at most `max_nodes` nodes in a layer.

    `mechanisms` are the ways in which hardware may have the mechanism, the default one first.
    """

    features: int
    max_nodes: int
    mechanisms: tuple[str, ...] = ("none",)

    @cached_property
    def choices(self) -> dict[str, tuple[Choice, ...]]:
        """Values of each field; those named twice are drawn twice as often."""
        several = [(1, 2), (1, 2, 3), (2,), (3,), None, (1,)]
        return {
            "encoder": (
                *(f"thermometer:{n}" for n in (7, 15, 31, 63)),
                *(f"thermometer:{n}:quantile" for n in (7, 15, 31)),
                *(f"{kind}:{n}" for kind in ("binary", "gray") for n in (3, 5)),
                "none",
            ),
            "input_bits": (8, 10, 12),
            "activation": ("sign", "step"),
            "inputs_per_node": tuple(
                one for one in several if one is None or max(one) <= self.features
            ),
            # The paper's range is next to nothing on coded bits; wider ones are for nodes of many.
            "bias_range": ("auto", "auto", "paper", (-4.0, 4.0), (-16.0, 16.0)),
            "frac_bits": tuple(range(6, 15)),
            "pipeline": ("balanced", "min-latency", "max-clock"),
            "fold": (*("auto",) * 5, "1x8", "2x16", "4x16", "8x32", "16x64"),
            "tables": ("auto", "auto", "block"),
            "mechanism": self.mechanisms,
            "luts": (*(None,) * len(BUDGETS), *BUDGETS),
        }

    @cached_property
    def ladder(self) -> tuple[int, ...]:
        """Numbers of nodes, in steps of like ratio up to the most."""
        steps, nodes = [], float(min(FEWEST_NODES, self.max_nodes))
        while nodes < self.max_nodes:
            steps.append(round(nodes))
            nodes *= LADDER
        return tuple(dict.fromkeys([*steps, self.max_nodes]))

    def default(self) -> Point:
        """What `fit` and `build` do by default."""
        own = SCMRegressor().get_params(deep=False)
        return Point(
            encoder=own["encoder"],
            # What "auto" is for codes, and for nodes that fire or not.
            input_bits=12,
            nodes=(min(DEFAULT_NODES, self.max_nodes),),
            activation=own["activation"],
            inputs_per_node=own["inputs_per_node"],
            bias_range=own["bias_range"],
            frac_bits=12,
            pipeline="balanced",
            fold="auto",
            tables="auto",
            mechanism=self.mechanisms[0],
            luts=DEFAULT_LUTS,
        )

    @cached_property
    def _open(self) -> list[str]:
        """Fields with anything to choose from."""
        return [name for name in _FIELDS if len(self.choices.get(name, self.ladder)) > 1]

    def random(self, rng: np.random.Generator) -> Point:
        drawn = {name: _one(rng, values) for name, values in self.choices.items()}
        return Point(nodes=self._nodes(rng), **drawn)

    def mutated(self, rng: np.random.Generator, point: Point) -> Point:
        """The point with one or two of its choices made anew."""
        for name in rng.choice(self._open, rng.integers(1, 3), replace=False):
            if name == "nodes":
                point = replace(point, nodes=self._near(rng, point.nodes))
            else:
                point = replace(point, **{str(name): _one(rng, self.choices[str(name)])})
        return point

    def crossed(self, rng: np.random.Generator, one: Point, other: Point) -> Point:
        """Every choice from one of two points."""
        heads = rng.integers(0, 2, len(_FIELDS))
        taken = {
            name: getattr(other if head else one, name)
            for name, head in zip(_FIELDS, heads, strict=True)
        }
        return Point(**taken)

    def _nodes(self, rng: np.random.Generator) -> tuple[int, ...]:
        layers = _one(rng, (1, 1, 1, 2, 2, MOST_LAYERS))
        return tuple(_one(rng, self.ladder) for _ in range(layers))

    def _near(self, rng: np.random.Generator, nodes: tuple[int, ...]) -> tuple[int, ...]:
        """A few nodes more or fewer in one layer; now and then other layers altogether."""
        if rng.random() < 0.25:
            return self._nodes(rng)
        layer = int(rng.integers(len(nodes)))
        at = int(np.searchsorted(self.ladder, nodes[layer]))
        step = int(_one(rng, (-2, -1, 1, 2)))
        moved = self.ladder[min(max(at + step, 0), len(self.ladder) - 1)]
        return (*nodes[:layer], moved, *nodes[layer + 1 :])


_FIELDS = [field.name for field in fields(Point)]


def _one(rng: np.random.Generator, values: tuple[Choice, ...]) -> Choice:
    return values[int(rng.integers(len(values)))]
