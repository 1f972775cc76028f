"""Mistakes that many make: one line, with what is wrong and what to do."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from scm_explore.journal import open_journal
from scm_hw.__main__ import main as hw
from scm_hw.errors import LinkError, OptionError
from scm_hw.host import Board
from scm_model import ModelFileError
from scm_model.reader import model_from_arrays
from scm_train import SCMClassifier, SCMRegressor
from scm_train.__main__ import main as train
from scm_train.errors import ScmTrainError
from tests.hw.commands import small_model
from tests.support import meta_array, model_arrays

PLANT = "a,b,y\n" + "".join(f"0.{i},{i % 3},{i}.5\n" for i in range(12))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(capsys: pytest.CaptureFixture[str]) -> str:
    (line,) = capsys.readouterr().err.splitlines()
    return line.removeprefix("error: ")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (PLANT.replace(",", ";").encode(), "column 'x0' must be in rows.csv; known are: a, b, y"),
        (
            b'x0,x1,y0\n"0,25",1,2\n',
            "'0,25' as in row 1 of rows.csv, as it was in training; give --decimal ,",
        ),
        (b"x0,x1,y0\nhot,1,2\n", "'x0' must be a number in every row, not 'hot' as in row 1 of"),
        (b"x0,x1,y0\n\0\0\0,1,2\n", "it is no text; check the file, or give its --encoding"),
        (b"x0,x1,y0\n", "rows of rows.csv must be at least one, not none; check the file"),
    ],
)
def test_rows_to_compare_on(content: bytes, message: str, capsys) -> None:
    small_model(Path("m.npz"))
    Path("rows.csv").write_bytes(content)
    assert hw(["build", "m.npz", "--data", "rows.csv", "--no-sim", "--no-synth", "-q"]) == 2
    line = said(capsys)
    assert "rows.csv" in line and message in line
    assert sorted(p.name for p in Path().iterdir()) == ["m.npz", "rows.csv"]


@pytest.mark.parametrize(
    ("run", "words", "message"),
    [
        (
            train,
            "fit plant.csv --target -y --out m.npz",
            "argument --target: expected one argument",
        ),
        (hw, "design plant.csv --target -y", "argument --target: expected one argument"),
    ],
)
def test_names_that_begin_with_a_dash(run, words: str, message: str, capsys) -> None:
    assert run(words.split()) == 2
    line = said(capsys)
    assert line.startswith(
        f"{message}; give a value that begins with '-' as in --target=-y, or see "
    )


@pytest.mark.parametrize("run", [train, hw])
def test_files_that_begin_with_a_dash(run, capsys) -> None:
    Path("-m.csv").write_text(PLANT)
    words = {train: "fit -m.csv --target y --out m.npz", hw: "explore -m.csv --target y"}
    assert run(words[run].split()) == 2
    line = said(capsys)
    assert line.endswith("; give a file whose name begins with '-' as ./-m.csv")
    # What is no file is a mistyped option.
    assert run(words[run].replace("-m.csv", "-n.csv").split()) == 2
    assert "; see " in said(capsys)


@pytest.mark.parametrize(
    ("run", "words", "message"),
    [
        (hw, "biuld m.npz", "did you mean 'build'?"),
        (hw, "build m.npz --bord arty-a7", "arguments: --bord arty-a7; did you mean --board?"),
        (hw, "design a.csv --zzzz red", "; see "),
        (train, "fti a.csv", "did you mean 'fit'?"),
        (train, "fit a.csv --taget y --out m.npz", "--taget y; did you mean --target?"),
    ],
)
def test_mistyped_commands_and_options(run, words: str, message: str, capsys) -> None:
    assert run(words.split()) == 2
    assert message in said(capsys)


@pytest.mark.parametrize("version", [0, -1, "2", None])
def test_a_version_that_there_never_was(version: object) -> None:
    arrays = model_arrays(0)
    meta = json.loads(arrays["meta"].tobytes()) | {"version": version}
    with pytest.raises(ModelFileError) as caught:
        model_from_arrays(arrays | {"meta": meta_array(meta)})
    assert str(caught.value) == (
        f"meta 'version' must be from 1 to 4, not {version!r}; the file is damaged or was written "
        "by another program, write it again"
    )


def rows(count: int = 30) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(0).uniform(size=(count, 2))
    return X, X[:, 0]


@pytest.mark.parametrize("kind", [SCMRegressor, SCMClassifier])
@pytest.mark.parametrize(
    ("made", "what"),
    [
        (lambda X, y: [(X, y)], "a list of one"),
        (lambda X, y: [(X, y), (X, y)], "a list of 2"),
        (lambda X, y: (X, y, y), "3 things"),
        (lambda X, y: (X,), "1 things"),
        (lambda X, y: X, "a ndarray"),
    ],
)
def test_a_list_of_validation_sets(kind, made, what: str) -> None:
    X, y = rows()
    y = y > 0.5 if kind is SCMClassifier else y
    with pytest.raises(ScmTrainError) as caught:
        kind(luts=50).fit(X, y, eval_set=made(X, y))
    assert str(caught.value) == (
        f"eval_set must be one pair of rows and targets, not {what}; give eval_set=(X, y)"
    )


def test_no_rows_to_predict(capsys) -> None:
    Path("plant.csv").write_text(PLANT)
    assert train(["fit", "plant.csv", "--target", "y", "--out", "m.npz", "-q", "--luts", "50"]) == 0
    Path("none.csv").write_text("a,b\n")
    capsys.readouterr()
    assert train(["predict", "m.npz", "none.csv"]) == 2
    assert said(capsys) == (
        "can't predict for none.csv: it has a header and no rows; check that the file is whole"
    )
    learner = SCMRegressor(luts=50).fit(*rows())
    with pytest.raises(ScmTrainError, match="rows to predict must be at least one, not none; "):
        learner.predict(np.empty((0, 2)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"seed": 2, "rows_sha256": "b"},
            "with --seed 2: it began with 1; give that, or another folder with --out",
        ),
        (
            {"rows_sha256": "b"},
            ": the rows of the table or its split are not those of its start; give the same table",
        ),
        ({"board": "nexys-a7"}, "with --board nexys-a7: it began with arty-a7; give that"),
        ({"score": "accuracy"}, "with score accuracy: it began with rmse; give that"),
    ],
)
def test_a_search_is_resumed_with_something_else(folder: Path, change, message: str) -> None:
    about = {"rows_sha256": "a", "score": "rmse", "board": "arty-a7", "seed": 1}
    open_journal(folder / "out", about, resume=False).close()
    with pytest.raises(OptionError) as caught:
        open_journal(folder / "out", about | change, resume=True)
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"can't resume the search in {folder / 'out'}")


@contextmanager
def talking(noise: bytes) -> Iterator[str]:
    """A port on which a device of another kind talks all the time."""
    master, slave = os.openpty()
    over = threading.Event()

    def talk() -> None:
        while not over.wait(0.02):
            os.write(master, noise)

    thread = threading.Thread(target=talk)
    thread.start()
    try:
        yield os.ttyname(slave)
    finally:
        over.set()
        thread.join()
        os.close(slave)
        os.close(master)


def test_a_port_that_answers_garbage() -> None:
    with talking(b"GPS,4807.038,N\r\n\x00") as port, pytest.raises(LinkError) as caught:
        Board(port, tries=1)
    text = str(caught.value)
    assert text.startswith(f"port {port} must answer a hello with a packet of ours, not with ")
    assert "bytes of something else" in text and "not another device's" in text
    with talking(b"") as port, pytest.raises(LinkError, match=r"doesn.t answer at"):
        Board(port, tries=1)
