"""Training in memory and on a cluster take the same steps: a fault in one of them is in both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from scm_train.chunks import ChunkMap
from scm_train.cluster.remote import RemoteRows, RemoteScoring
from scm_train.cluster.shards import HELD, REST, TRAINING, Frame, Shard
from scm_train.encode.encoders import fit_encoder
from scm_train.encode.rows import ScaledRows
from scm_train.growth import engine
from scm_train.growth.engine import Fitted, Part, fit, train
from scm_train.growth.rows import LocalRows
from scm_train.growth.settings import Settings
from scm_train.history import History
from scm_train.search.candidates import CandidateDraw
from scm_train.search.moments import Moments
from scm_train.search.search import Search, SearchSettings
from scm_train.solve.basis import LocalBasis
from scm_train.solve.further_rows import RestOfRows

SERIAL = ChunkMap(None)
DRAW = CandidateDraw(inputs_per_node=2)
SETTINGS = Settings(
    max_nodes=(6, 4),
    activations=("sign", "step"),
    candidates=(25, 25),
    search=SearchSettings((1.0, 5.0), (0.9, 0.99, 0.9999), "exact"),
    linear=True,
    alpha=0.3,
    ridge="auto",
    refit=True,
    removal=0.5,
    centred=True,
)


class Shards:
    """Shards in this process, in the place of a cluster's."""

    def __init__(self, shards: list[Shard], frame: Frame):
        self.shards, self.asked = shards, set()
        counts = np.array(self.ask("counts"))
        self.rows, self.held, self.rest = map(int, counts.sum(axis=0))
        self.starts = np.concatenate([[0], np.cumsum(counts[:, TRAINING])])
        self.features, self.outputs = len(frame.low), len(frame.target_min)
        self.groups, self.unit = frame.encoder.groups, frame.encoder.unit

    def ask(self, method: str, *arguments: Any) -> list[Any]:
        self.asked.add(method)
        return [getattr(shard, method)(*arguments) for shard in self.shards]

    def sums(self, method: str, *arguments: Any) -> list[Any]:
        parts = zip(*self.ask(method, *arguments), strict=True)
        return [np.sum(part, axis=0) for part in parts]

    def take(self, indices: np.ndarray) -> np.ndarray:
        owners = np.searchsorted(self.starts, indices, side="right") - 1
        places = zip(owners, indices - self.starts[owners], strict=True)
        return np.concatenate([self.shards[k].take(np.array([at])) for k, at in places])


def rows() -> tuple[np.ndarray, np.ndarray, np.ndarray, Frame]:
    rng = np.random.default_rng(0)
    x = rng.random((420, 3))
    y = np.column_stack([np.sin(6 * x[:, 0]) + x[:, 1], x[:, 1] * x[:, 2]])
    roles = rng.choice([TRAINING, HELD, REST], len(x), p=[0.6, 0.2, 0.2]).astype(np.uint8)
    # The shard of this row alone has none to train on.
    roles[150] = REST
    encoder = fit_encoder("thermometer:7", x, input_bits=8)
    frame = Frame(x.min(axis=0), x.max(axis=0), y.min(axis=0), y.max(axis=0), encoder)
    return x, y, roles, frame


def here() -> Fitted:
    x, y, roles, frame = rows()

    def part(role: int) -> Part:
        own = ScaledRows(x[roles == role], frame.low, frame.high, frame.encoder)
        return Part(own, frame.targets(own, y[roles == role]))

    training, held, rest = map(part, (TRAINING, HELD, REST))
    more = {"history": History(), "chunk_map": SERIAL, "report": lambda *_: None}
    further = RestOfRows(rest.rows, rest.targets)
    return train(training, held, SETTINGS, DRAW, np.random.default_rng(1), rest=further, **more)


def there() -> tuple[Fitted, Shards]:
    x, y, roles, frame = rows()
    parts = [slice(0, 150), slice(150, 151), slice(151, 420)]
    shards = [Shard(x[own], y[own], roles[own], TRAINING, frame) for own in parts]
    cluster, history = Shards(shards, frame), History()
    search = Search(
        SETTINGS.search, DRAW, np.random.default_rng(1), RemoteScoring(cluster), history
    )
    return fit(RemoteRows(cluster), SETTINGS, search, history, lambda *_: None), cluster


def assert_same(one: Fitted, other: Fitted) -> None:
    for a, b in zip(one.layers, other.layers, strict=True):
        assert_array_equal(a.weights, b.weights)
        assert_array_equal(a.biases, b.biases)
        assert_array_equal(a.lambdas, b.lambdas)
    assert_allclose(one.readout, other.readout, rtol=1e-7, atol=1e-9)
    assert_allclose(one.linear.weights, other.linear.weights, atol=1e-9)
    assert_allclose(one.train_rmse, other.train_rmse, rtol=1e-9)
    assert_allclose(one.validation_rmse, other.validation_rmse, rtol=1e-9)


def differ(one: Fitted, other: Fitted) -> bool:
    try:
        assert_same(one, other)
    except AssertionError:
        return True
    return False


def altered(function: Callable, change: Callable[[Any], Any]) -> Callable:
    return lambda *arguments, **named: change(function(*arguments, **named))


#: A step, where it is found, and what the fault makes of its result.
FAULTS = {
    "linear part": (
        engine,
        "fit_linear",
        lambda part: type(part)(part.weights / 2, part.intercept),
    ),
    "inequality": (Moments, "inequality", lambda xi: np.where(np.isfinite(xi), 1.0, xi)),
    "gap": (LocalRows, "gap", lambda gap: (gap[0] - 0.25, gap[1])),
    "projection": (LocalBasis, "project", lambda step: 0.0 * step),
    "readout": (LocalBasis, "scale", lambda c: 0.5 * c),
    "removal": (engine, "without_least_useful", lambda stay: stay[:-1] + [max(stay) - 1]),
    "ridge": (engine, "ridge_path", lambda path: path[::-1]),
    "further rows": (LocalRows, "further_system", lambda system: (system[0], 2 * system[1])),
    "errors": (LocalRows, "square_errors", lambda squares: 2 * squares),
}


def test_the_same_machine() -> None:
    fitted, cluster = there()
    assert_same(here(), fitted)
    # What there is to ask a shard has been asked.
    steps = {name for name in vars(Shard) if not name.startswith("_")}
    assert steps - cluster.asked == {"catch_up", "close_layer", "pop", "take"}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_a_step_is_in_both(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sound = here()
    where, step, change = FAULTS[fault]
    monkeypatch.setattr(where, step, altered(getattr(where, step), change))
    one, (other, _) = here(), there()
    assert differ(sound, one)
    assert_same(one, other)
