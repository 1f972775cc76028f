"""From a table to a core that learns: estimator, interpreter and emulated board agree."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from scm_hw import boards
from scm_hw.__main__ import main
from scm_hw.build import load_design
from scm_hw.design import Design, Options
from scm_hw.emit.identity import describe
from scm_hw.errors import LinkError
from scm_hw.host import Board
from scm_hw.host.emulator import Emulator, compile_emulator, fastest_baud
from scm_hw.host.exchange import Answers
from scm_hw.load.adaptive import Adaptive
from scm_hw.verify.rows import hardware_inputs
from scm_model.adaptation import AdaptSettings, controls_of
from scm_model.errors import UnsupportedModelError
from scm_train import SCMClassifier, SCMRegressor
from scm_train.errors import DataError
from tests.hw.adapting import learns, stream
from tests.support import random_model

BOARD = boards.get("cmod-a7-35")
SETTINGS = AdaptSettings(step=4, most_age=3)


def plant(count: int, seed: int, drift: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Rows of a plant, and what it gives; with a drift it gains more and more."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (count, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + drift * np.linspace(0, 1, count)
    return X, y + rng.normal(0, 0.02, count)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("adapting")


@pytest.fixture(scope="module", params=["families", "nodes"])
def path(request: pytest.FixtureRequest, folder: Path) -> Path:
    own = {"max_nodes": 12, "encoder": "thermometer:7"} if request.param == "nodes" else {}
    if request.param == "families":
        own = {"luts": 150}
    X, y = plant(400, 0)
    learner = SCMRegressor(random_state=0, **own).fit(X[:300], y[:300])
    found = folder / f"{request.param}.npz"
    learner.save(found, X[300:], y[300:])
    return found


def test_the_estimator_gives_the_integers_of_the_core(path: Path) -> None:
    """The formats, too, are those that a build chooses; stream in parts, targets of every age."""
    design = load_design(path, BOARD, Options(adapt=SETTINGS))
    found: Adaptive = design.adaptive
    learner = SCMRegressor.load(path)
    X, y = plant(500, 1, drift=2.0)
    parts = [(slice(0, 200), 0, False), (slice(200, 330), 3, False), (slice(330, 500), 1, True)]
    predicted, rows = [], []
    for place, age, freeze in parts:
        how = {"age": age, "freeze": freeze}
        predicted.append(learner.adapt(X[place], y[place], step=4, delay=3, **how))
        own = learner.adapter_.adaptation
        unit = (y[place, None] - learner.machine_.target_min) / (
            learner.machine_.target_max - learner.machine_.target_min
        )
        controls = controls_of(own, len(unit), own.target_words(unit), **how)
        machine, _ = found.split(hardware_inputs(design, X[place]))
        rows.append(found.join(machine, controls))
    assert own == found.adaptation
    integers = design.interpret(np.concatenate(rows))[:, 0]
    low, high = learner.machine_.target_min[0], learner.machine_.target_max[0]
    expected = low + (high - low) * (integers * 2.0**-own.grid_bits)
    assert_array_equal(np.concatenate(predicted), expected)


def test_a_plant_that_moves_is_followed(path: Path) -> None:
    learner = SCMRegressor.load(path)
    X, y = plant(4000, 2, drift=2.0)
    found = learner.adapt(X, y)
    trained = learner.predict(X)
    last = slice(3000, None)
    frozen, adapted = (float(np.sqrt(np.mean((y - p)[last] ** 2))) for p in (trained, found))
    assert adapted < 0.5 * frozen
    # One that learns nothing says that the plant is another.
    watched = SCMRegressor.load(path)
    watched.adapt(X, y, freeze=True)
    assert watched.adapter_.drift[last].all() and not watched.adapter_.drift[:100].any()
    assert_array_equal(watched.adapt(X[:9], restart=True), watched.adapt(X[:9]))


def test_categories_are_learned_from_as_well(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.uniform(size=300), "c": rng.choice(["u", "v", "w"], 300)})
    y = frame["a"].to_numpy() + (frame["c"] == "u").to_numpy()
    learner = SCMRegressor(luts=60, random_state=0, categories=("c",)).fit(frame, y)
    learner.save(tmp_path / "model.npz", frame[:50], y[:50])
    learner = SCMRegressor.load(tmp_path / "model.npz")
    found = learner.adapt(frame, y + 0.5)
    assert np.abs(found - y - 0.5)[-50:].mean() < np.abs(found - y - 0.5)[:50].mean()
    design = load_design(tmp_path / "model.npz", BOARD, Options(adapt=AdaptSettings()))
    own, machine = learner.adapter_.adaptation, learner.machine_
    span = machine.target_max - machine.target_min
    words = own.target_words((y[:, None] + 0.5 - machine.target_min) / span)
    rows = hardware_inputs(design, frame.to_numpy(dtype=object))
    rows = design.adaptive.join(design.adaptive.split(rows)[0], controls_of(own, 300, words))
    integers = design.interpret(rows)[:, 0]
    assert_array_equal(found, machine.target_min[0] + span[0] * (integers * 2.0**-own.grid_bits))


def test_what_the_estimator_refuses(path: Path) -> None:
    learner = SCMRegressor.load(path)
    X, y = plant(20, 3)
    with pytest.raises(DataError, match="targets must be 20 rows of 1 finite numbers"):
        learner.adapt(X, np.column_stack([y, y]))
    with pytest.raises(DataError, match=r"age must be in \[0, 0\], not 2; raise delay"):
        learner.adapt(X, y, age=2)
    assert not hasattr(SCMClassifier(), "adapt")
    bounds = SCMRegressor(interval=0.8, random_state=0, luts=60).fit(*plant(200, 4))
    with pytest.raises(UnsupportedModelError, match="predictions alone, not bounds"):
        bounds.adapt(X, y)


@pytest.fixture(scope="module")
def design(path: Path) -> Design:
    options = Options(adapt=SETTINGS, baud=fastest_baud(BOARD))
    return load_design(path, BOARD, options)


@pytest.mark.parametrize("path", ["families"], indirect=True)
def test_an_emulated_board_learns(
    path: Path, design: Design, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = compile_emulator(design, folder, "small")
    with Emulator(program).running() as emulator:
        with Board(emulator.port) as board:
            rows = stream(design, 300)
            found, _ = board.predict_integers(rows)
            assert_array_equal(found, design.interpret(rows))
            learner, (X, y) = SCMRegressor.load(path), plant(300, 5, drift=2.0)
            adapted = board.adapt(X, y, restart=True)
            assert_array_equal(adapted.predictions[:, 0], learner.adapt(X, y, step=4, delay=3))
            assert_array_equal(adapted.drift, learner.adapter_.drift)
            assert_array_equal(adapted.error, learner.adapter_.error)
        # It forgets what it has learned, and learns the test rows as the interpreter does.
        assert main(["run", "--port", emulator.port, "--model", str(path), "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        assert (told["mismatches"], told["rows"]) == (0, 100)
        assert told["rmse_board"] == pytest.approx(told["rmse_pc"], rel=1e-3)


def test_a_line_that_loses_packets_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request that is sent again may be learned from twice."""
    design = learns(random_model(3, rows=20))
    board = object.__new__(Board)
    board._description = describe(design, "demo")
    rows = stream(design, 4)
    rows[:, -3] = 1
    answers = Answers((0,) * 4, 1, 2)
    monkeypatch.setattr(Board, "predict_words", lambda *_: answers)
    with pytest.raises(LinkError, match="line must lose nothing while the board learns, not 2"):
        board.predict_integers(rows)
    rows[:, -3] = 0
    board.predict_integers(rows)
    monkeypatch.setattr(Board, "predict_words", lambda *_: replace(answers, repeated=0))
    rows[:, -3] = 1
    board.predict_integers(rows)


def test_the_command_builds_and_refuses(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fast = ["--no-sim", "--no-synth", "--quiet"]
    made = ["build", str(path), "--out", str(tmp_path / "out"), *fast]
    assert main([*made, "--adapt", "--adapt-step", "6", "--adapt-delay", "2"]) == 0
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["adaptation"]["step"] == 1 / 64
    capsys.readouterr()
    for more, line in (
        (["--adapt-step", "6"], "adapt step, leak and delay must be left out without --adapt"),
        (["--adapt", "--adapt-step", "2"], "adapt step must be a whole number in [4, 12], not 2"),
        (["--adapt", "--handshake", "none"], "handshake must be global or skid with --adapt"),
        (["--adapt", "--target", "c"], "target must be verilog for a readout that learns"),
    ):
        assert main([*made, *more])
        assert line in capsys.readouterr().err
    flagged = tmp_path / "flags.npz"
    X, y = plant(400, 0)
    SCMRegressor(random_state=0, luts=60, flags=0.02).fit(X, y).save(flagged)
    build = ["build", str(flagged), "--out", str(tmp_path / "flags"), *fast, "--adapt"]
    assert (
        main(build) and "adapt must be left out for a model with flags" in capsys.readouterr().err
    )
    assert main([*build, "--no-flags"]) == 0
