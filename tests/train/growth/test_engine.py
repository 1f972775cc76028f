from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from scm_model import Model
from scm_train.chunks import ChunkMap, chunk_map
from scm_train.encode.encoders import fit_encoder
from scm_train.encode.rows import ScaledRows
from scm_train.growth.engine import Part, train
from scm_train.growth.settings import Settings
from scm_train.history import History
from scm_train.search.candidates import CandidateDraw
from scm_train.search.search import SearchSettings

R_VALUES = (0.9, 0.99, 0.999, 0.9999, 0.99999)


def parts(encoder: str = "thermometer:15", noise: float = 0.05, rows: int = 400):
    rng = np.random.default_rng(0)
    x = rng.random((rows, 3))
    y = np.sin(6 * x[:, 0]) + x[:, 1] * x[:, 2] + noise * rng.standard_normal(rows)
    fitted = fit_encoder(encoder, x, input_bits=None if encoder == "none" else 10)
    low, high = np.zeros(3), np.ones(3)
    split = [slice(0, rows * 3 // 4), slice(rows * 3 // 4, rows)]
    return [Part(ScaledRows(x[s], low, high, fitted), y[s, None]) for s in split]


def settings(
    nodes=(20,), activation: str = "sign", criterion: str = "paper", **changes
) -> Settings:
    layers = len(nodes)
    search = SearchSettings((0.5, 5.0, 50.0), R_VALUES, criterion)
    return Settings(nodes, (activation,) * layers, (30,) * layers, search, **changes)


def run(
    chosen: Settings, encoder: str = "thermometer:15", validate: bool = True, seed: int = 1, **k
):
    part, validation = parts(encoder, **k)
    history = History()
    fitted = train(
        part,
        validation if validate else None,
        chosen,
        CandidateDraw(),
        np.random.default_rng(seed),
        history=history,
        chunk_map=ChunkMap(None),
        report=lambda *_: None,
    )
    return fitted, history, part, validation


def machine_of(fitted, part: Part) -> Model:
    rows = part.rows
    return Model(
        task="regression",
        algorithm="SCM",
        encoder=rows.encoder,
        layers=fitted.layers,
        readout=fitted.readout,
        linear=fitted.linear.weights,
        intercept=fitted.linear.intercept,
        input_min=rows.low,
        input_max=rows.high,
        target_min=np.zeros(1),
        target_max=np.ones(1),
        features=("a", "b", "c"),
        targets=("y",),
    )


def rmse(fitted, part: Part) -> float:
    error = machine_of(fitted, part).decision(part.rows.x) - part.targets
    return float(np.sqrt(np.mean(error**2)))


@pytest.mark.parametrize(
    ("encoder", "activation"),
    [("thermometer:15", "sign"), ("gray:4", "step"), ("none", "tanh"), ("none", "brelu")],
)
def test_the_machine_computes_what_training_saw(encoder: str, activation: str) -> None:
    chosen = settings((8, 6), activation, linear=True, alpha=0.01)
    fitted, history, part, validation = run(chosen, encoder)
    assert rmse(fitted, part) == pytest.approx(history.train_rmse[-1], rel=1e-9)
    assert rmse(fitted, validation) == pytest.approx(history.validation_rmse[-1], rel=1e-9)
    assert fitted.train_rmse == pytest.approx(history.train_rmse[-1], rel=1e-9)


def test_readout_is_least_squares_of_all_layers() -> None:
    fitted, _, part, _ = run(settings((8, 6), "sigmoid"), "none")
    hidden = np.concatenate(machine_of(fitted, part).hidden_layers(part.rows.x), axis=1)
    wanted = np.linalg.lstsq(hidden, part.targets, rcond=None)[0]
    np.testing.assert_allclose(hidden @ fitted.readout, hidden @ wanted, atol=1e-9)


def test_training_error_never_grows() -> None:
    _, history, _, _ = run(settings((15, 15)))
    assert (np.diff(history.train_rmse) <= 1e-12).all()
    assert history.layer == [1] * 15 + [2] * 15
    assert history.nodes_per_layer == [15, 15]
    assert history.stops == ["max_nodes", "max_nodes"]


def stopping(step: int, tolerance: float, nodes=(None, None)) -> Settings:
    return settings(nodes, early_stopping=True, stop_step=step, stop_tolerance=tolerance)


@pytest.mark.parametrize(("step", "tolerance"), [(3, 0.0), (5, 0.01), (10, 0.001)])
def test_early_stopping_follows_the_paper(step: int, tolerance: float) -> None:
    _, history, _, validation = run(stopping(step, tolerance), noise=0.3)
    start = float(np.sqrt(np.mean(validation.targets**2)))
    for number, kept in enumerate(history.nodes_per_layer, start=1):
        own = [k for k, layer in enumerate(history.layer) if layer == number]
        errors = [start, *(history.validation_rmse[k] for k in own)]
        gains = -np.diff(errors) / errors[1:]
        for count in range(step + 1, len(own) + 1):
            stalled = (errors[count - step] - errors[count]) / errors[count] <= tolerance
            assert stalled == (count == len(own))
        # Nodes go while the newest of them brought no more than the tolerance.
        removed = [history.removed[k] for k in own]
        assert removed == [False] * kept + [True] * (len(own) - kept)
        assert (gains[kept:] <= tolerance).all()
        assert kept == 0 or gains[kept - 1] > tolerance
        start = errors[kept]
    assert any(history.removed)


def test_fewer_nodes_go_where_less_will_do() -> None:
    chosen = stopping(5, 0.05, (None,))
    _, paper, _, _ = run(chosen, noise=0.3)
    _, history, _, _ = run(replace(chosen, removal_tolerance=0.0), noise=0.3)
    assert history.validation_rmse == paper.validation_rmse
    kept = history.nodes_per_layer[0]
    assert paper.nodes_per_layer[0] < kept < len(history.layer)
    gains = -np.diff(history.validation_rmse)
    assert gains[kept - 2] > 0 >= gains[kept - 1 :].max()


def test_removed_nodes_leave_no_trace() -> None:
    stopped, history, _, _ = run(stopping(5, 0.01, (None,)), noise=0.3)
    kept = history.nodes_per_layer[0]
    assert len(history.layer) > kept
    short, _, _, _ = run(settings((kept,)), noise=0.3)
    np.testing.assert_array_equal(stopped.readout, short.readout)
    np.testing.assert_array_equal(stopped.layers[0].weights, short.layers[0].weights)
    assert stopped.train_rmse == short.train_rmse


def test_a_layer_that_loses_all_its_nodes_is_no_layer() -> None:
    fitted, history, _, _ = run(stopping(2, 1e9, (5, 5)))
    assert fitted.layers == ()
    assert fitted.readout.shape == (0, 1)
    assert history.nodes_per_layer == [0]


def test_tolerance_ends_training() -> None:
    fitted, history, _, _ = run(settings((50, 50), tolerance=0.3))
    assert history.train_rmse[-1] <= 0.3 < history.train_rmse[-2]
    assert history.stops == ["tolerance"]
    assert len(fitted.layers) == 1


def test_no_candidate_ends_a_layer() -> None:
    search = SearchSettings((1.0,), (0.05,))
    chosen = Settings((50,), ("sign",), (5,), search)
    fitted, history, _, _ = run(chosen)
    assert history.stops == ["no candidate"]
    assert fitted.layers == ()


def test_exact_criterion_needs_fewer_nodes() -> None:
    """Summed over seeds, the error after as many nodes is smaller."""
    final = {
        criterion: np.mean(
            [run(settings((25,), criterion=criterion), seed=s)[0].train_rmse for s in range(4)]
        )
        for criterion in ("paper", "exact")
    }
    assert final["exact"] < 0.99 * final["paper"]


def test_ridge_is_chosen_on_validation_rows() -> None:
    chosen = settings((60,), ridge="auto")
    fitted, history, part, _ = run(chosen, noise=0.5)
    plain, _, _, _ = run(settings((60,)), noise=0.5)
    assert history.ridge > 0
    assert fitted.validation_rmse < plain.validation_rmse
    hidden = machine_of(fitted, part).hidden_layers(part.rows.x)[0]
    wanted = np.linalg.solve(
        hidden.T @ hidden + history.ridge * np.eye(60), hidden.T @ part.targets
    )
    np.testing.assert_allclose(fitted.readout, wanted, atol=1e-9)


def test_refit_solves_on_all_rows() -> None:
    fitted, _, part, validation = run(settings((10,), refit=True))
    x = np.concatenate([part.rows.x, validation.rows.x])
    targets = np.concatenate([part.targets, validation.targets])
    hidden = machine_of(fitted, part).hidden_layers(x)[0]
    wanted = np.linalg.lstsq(hidden, targets, rcond=None)[0]
    np.testing.assert_allclose(hidden @ fitted.readout, hidden @ wanted, atol=1e-10)


def test_threads_do_not_change_the_machine() -> None:
    part, _ = parts("none", rows=12_000)

    def readout(mapped: ChunkMap) -> np.ndarray:
        fitted = train(
            part,
            None,
            settings((5,), "sigmoid"),
            CandidateDraw(),
            np.random.default_rng(0),
            history=History(),
            chunk_map=mapped,
            report=lambda *_: None,
        )
        return fitted.readout

    with chunk_map() as several:
        np.testing.assert_array_equal(readout(several), readout(ChunkMap(None)))


def test_reports_every_node() -> None:
    part, validation = parts()
    calls: list[tuple] = []
    train(
        part,
        validation,
        settings((8, 2)),
        CandidateDraw(),
        np.random.default_rng(0),
        history=History(),
        chunk_map=ChunkMap(None),
        report=lambda *call: calls.append(call),
    )
    nodes = [(count, 1) for count in range(1, 9)] + [(9, 2), (10, 2)]
    assert [call[:2] for call in calls] == nodes


def test_a_linear_part_that_misses_the_validation_rows_is_left_out():
    part, validation = parts()
    kept, history, *_ = run(settings(linear=True, early_stopping=True))
    assert history.selected_inputs and kept.linear.weights.any()
    # The same rows, but the targets to be judged by fall where those of training rise.
    turned = Part(validation.rows, -validation.targets)
    history = History()
    fitted = train(
        part,
        turned,
        settings(linear=True, early_stopping=True),
        CandidateDraw(),
        np.random.default_rng(1),
        history=history,
        chunk_map=ChunkMap(None),
        report=lambda *_: None,
    )
    assert not history.selected_inputs and not fitted.linear.weights.any()
    np.testing.assert_allclose(fitted.linear.intercept, part.targets.mean(axis=0))
