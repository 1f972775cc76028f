from __future__ import annotations

import numpy as np
import pytest

from scm_train.activations import activate
from scm_train.chunks import ChunkMap
from scm_train.encode.encoders import fit_encoder
from scm_train.encode.rows import ScaledRows
from scm_train.history import History
from scm_train.search.aim import LocalScoring
from scm_train.search.candidates import CandidateDraw
from scm_train.search.layer_inputs import NodeInputs, first_inputs
from scm_train.search.node_store import NodeStore
from scm_train.search.search import Search, SearchSettings
from scm_train.solve.readout import Readout

SERIAL = ChunkMap(None)
ROWS = 700


def problem(encoder: str):
    rng = np.random.default_rng(0)
    x = rng.random((ROWS, 4))
    targets = np.stack([np.sin(5 * x[:, 0]) * x[:, 1], np.cos(4 * x[:, 2])], axis=1)
    bits = None if encoder == "none" else 10
    fitted = fit_encoder(encoder.removesuffix(", quantised"), x, input_bits=bits)
    return first_inputs(ScaledRows(x, np.zeros(4), np.ones(4), fitted)), targets - targets.mean(
        axis=0
    )


def reference(inputs, activation, readout, draw, settings, rng, count):
    """The search one candidate at a time, in float64 throughout."""
    rows = len(readout.residual)
    h0 = inputs.take(np.arange(rows))
    basis = np.concatenate([*readout.basis(slice(0, rows)), np.empty((0, rows))])
    for lambda_ in settings.lambdas:
        for r in settings.r_values:
            batch = draw(rng, inputs, rows, count)
            best, best_score = None, -np.inf
            for k, (w, b) in enumerate(zip(batch.weights, batch.biases, strict=True)):
                h = activate(activation, lambda_ * (h0 @ w.astype(float) + b))
                part = h - basis.T @ (basis @ h) if settings.criterion == "exact" else h
                if part @ part <= 1e-6 * (h @ h) or h @ h <= 1e-20:
                    continue
                gain = (readout.residual.T @ h) ** 2 / (part @ part)
                xi = gain - (1 - r) * np.square(readout.residual).sum(axis=0)
                if xi.min() > 0 and xi.sum() > best_score:
                    best, best_score = (batch.pick(k), lambda_, r, h), xi.sum()
            if best is not None:
                return best
    return None


CASES = [
    ("none", "sigmoid", "binary"),
    ("none", "tanh", "real"),
    ("none", "brelu", "binary"),
    ("none", "sign", "real"),
    ("none, quantised", "sign", "binary"),
    ("none, quantised", "step", "binary"),
    ("thermometer:15", "sign", "binary"),
    ("thermometer:15", "step", "binary"),
    ("gray:4", "sign", "real"),
    ("binary:4", "sigmoid", "binary"),
]


@pytest.mark.parametrize("lambdas", [(0.5, 5.0), (100.0,), (0.1,)])
@pytest.mark.parametrize("criterion", ["paper", "exact"])
@pytest.mark.parametrize(("encoder", "activation", "weights"), CASES)
def test_finds_the_nodes_that_a_float64_search_finds(
    encoder: str, activation: str, weights: str, criterion: str, lambdas: tuple[float, ...]
) -> None:
    # Flat candidates depend on those before but for shares that float32 can't tell from nothing.
    inputs, targets = problem(encoder)
    settings = SearchSettings(lambdas, (0.9, 0.99, 0.999, 0.99999), criterion)
    draw = CandidateDraw(weights)
    search = Search(settings, draw, np.random.default_rng(5), LocalScoring(SERIAL), History())
    rng = np.random.default_rng(5)
    readout = Readout(targets, SERIAL)
    for _ in range(12):
        wanted = reference(inputs, activation, readout, draw, settings, rng, 20)
        found = search.find(inputs, activation, readout, 20)
        assert (found is None) == (wanted is None)
        if found is None:
            break
        node, lambda_, r, h = wanted
        np.testing.assert_array_equal(found.node.weights, node.weights)
        np.testing.assert_array_equal(found.node.biases, node.biases)
        assert (found.lambda_, found.r) == (lambda_, r)
        np.testing.assert_allclose(found.h, h, atol=1e-13)
        readout.add(found.h)


def test_candidates_next_to_zero_keep_their_precision() -> None:
    inputs, targets = problem("none")
    settings = SearchSettings((5.0,), (0.99999,))
    draw = CandidateDraw(bias_range=(-5, -2))
    search = Search(settings, draw, np.random.default_rng(8), LocalScoring(SERIAL), History())
    rng = np.random.default_rng(8)
    readout = Readout(targets[:, :1], SERIAL)
    for _ in range(10):
        node, _, _, _ = reference(inputs, "sigmoid", readout, draw, settings, rng, 40)
        found = search.find(inputs, "sigmoid", readout, 40)
        assert found.node.biases[0] == node.biases[0]
        readout.add(found.h)


def test_deeper_layers_see_the_nodes_before() -> None:
    inputs, targets = problem("thermometer:15")
    draw = CandidateDraw()
    store = NodeStore(ROWS, "sign")
    search = Search(
        SearchSettings((1.0,), (0.9999,)),
        draw,
        np.random.default_rng(2),
        LocalScoring(SERIAL),
        History(),
    )
    readout = Readout(targets, SERIAL)
    for _ in range(6):
        found = search.find(inputs, "sign", readout, 20)
        readout.add(found.h)
        store.append(found.h)
    deeper = NodeInputs(store)
    found = search.find(deeper, "sign", readout, 50)
    assert found.node.weights.shape == (1, 6)
    h0 = deeper.take(np.arange(ROWS))
    assert set(np.unique(h0)) == {-1.0, 1.0}
    np.testing.assert_array_equal(
        found.h, activate("sign", h0 @ found.node.weights[0] + found.node.biases)
    )


@pytest.mark.parametrize("chunk", [64, 1 << 20])
def test_chunks_do_not_change_the_choice(monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    inputs, targets = problem("none")

    def nodes():
        search = Search(
            SearchSettings((1.0, 5.0), (0.99, 0.9999), "exact"),
            CandidateDraw(),
            np.random.default_rng(4),
            LocalScoring(SERIAL),
            History(),
        )
        readout = Readout(targets, SERIAL)
        for _ in range(8):
            found = search.find(inputs, "sigmoid", readout, 30)
            readout.add(found.h)
            yield float(found.node.biases[0])

    wanted = list(nodes())
    for module in ("aim", "choice", "search"):
        monkeypatch.setattr(f"scm_train.search.{module}.CHUNK_NUMBERS", 30 * chunk)
    monkeypatch.setattr("scm_train.search.responses.CHUNK_ROWS", chunk)
    assert list(nodes()) == wanted


def test_without_supervision_takes_the_first_node_unscaled() -> None:
    inputs, targets = problem("none")
    settings = SearchSettings((0.5,), (0.9,), supervised=False)
    search = Search(
        settings, CandidateDraw(), np.random.default_rng(6), LocalScoring(SERIAL), History()
    )
    found = search.find(inputs, "tanh", Readout(targets, SERIAL), 50)
    first = CandidateDraw()(np.random.default_rng(6), inputs, ROWS, 1)
    np.testing.assert_array_equal(found.node.weights, first.weights)
    assert found.lambda_ == 1.0


def test_finds_nothing_where_nothing_can_pass() -> None:
    inputs, _ = problem("none")
    noise = np.random.default_rng(7).standard_normal((ROWS, 1))
    search = Search(
        SearchSettings((1.0,), (0.1, 0.2)),
        CandidateDraw(),
        np.random.default_rng(7),
        LocalScoring(SERIAL),
        History(),
    )
    assert search.find(inputs, "sigmoid", Readout(noise, SERIAL), 20) is None
    assert search.history.seconds["candidate_search"] > 0
    assert search.history.seconds["inequality"] > 0


def test_draws_that_were_scored_too_early_come_again() -> None:
    """A node that takes several draws lets the next one score as many at once."""
    inputs, targets = problem("thermometer:15")
    noise = np.random.default_rng(9).standard_normal((ROWS, 1))
    settings = SearchSettings((1.0,), (0.98, 0.999, 0.9999, 0.99999))
    draw = CandidateDraw()
    search = Search(settings, draw, np.random.default_rng(9), LocalScoring(SERIAL), History())
    rng = np.random.default_rng(9)
    taken = []
    for aim in (noise, targets[:, :1], noise, targets[:, 1:], targets[:, :1]):
        readout = Readout(aim, SERIAL)
        node, _, r, _ = reference(inputs, "sign", readout, draw, settings, rng, 20)
        found = search.find(inputs, "sign", readout, 20)
        np.testing.assert_array_equal(found.node.weights, node.weights)
        assert found.r == r
        taken.append(r)
    # Two draws for noise, and the first of two for what follows.
    assert taken[:2] == [0.999, 0.98]
