"""Emulated boards in mid-stream: one is given another readout, one learns; both are exact."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.living import Case, trained
from scm_hw import boards
from scm_hw.build import load_design
from scm_hw.design import Design, Options
from scm_hw.host import Board
from scm_hw.host.emulator import Emulator, compile_emulator, fastest_baud
from scm_hw.host.loading import upload_of
from scm_hw.ir.interp import interpret
from scm_model.adaptation import AdaptSettings
from scm_train import SCMRegressor

BOARD = "cmod-a7-35"
#: A small machine: an emulated board answers some hundred rows a second.
ROWS, LUTS = 2000, 150


def on_boards(case: Case) -> dict[str, Any]:
    X, y = next(iter(case.periods.values()))
    X, y = X[:ROWS], y[:ROWS]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        machine = trained(*case.first, LUTS)
        machine.save(folder / "machine.npz", X[:50], y[:50])
        return {
            "reload in mid-stream": reloaded(folder, X, y),
            "learning": learning(folder, X, y),
        }


def built(folder: Path, **options: Any) -> Design:
    board = boards.get(BOARD)
    return load_design(folder / "machine.npz", board, Options(baud=fastest_baud(board), **options))


def emulated(design: Design, folder: Path) -> Path:
    folder.mkdir()
    return compile_emulator(design, folder, "living")


def reloaded(folder: Path, X: NDArray, y: NDArray) -> dict[str, int]:
    """Rows between all parts of an upload: each is answered once, by the old model or by the new.

    The new one answers from the row after the last part on.
    """
    design = built(folder, reload="readout")
    program = emulated(design, folder / "reload")
    later = SCMRegressor.load(folder / "machine.npz").refit(X, y).machine_
    with Emulator(program).running() as emulator, Board(emulator.port) as board:
        rows = board.description.inputs(X)
        upload = upload_of(board.description, later)
        found: list[NDArray] = []
        size = max(1, len(rows) // 100)

        def answer(_: int = 0) -> None:
            done = sum(map(len, found))
            found.append(board.predict_integers(rows[done : done + size])[0])

        for _ in range(10):
            answer()
        board.send_upload(upload.data, answer)
        # The last part has been answered, and rows besides it.
        swap = sum(map(len, found[:-1]))
        while sum(map(len, found)) < len(rows):
            answer()
    answers = np.concatenate(found)
    old, new = interpret(design.meaning, rows), interpret(upload.meaning, rows)
    expected = np.where(np.arange(len(rows))[:, None] < swap, old, new)
    return {
        "rows": len(rows),
        "answers": len(answers),
        "rows before the swap": swap,
        "bytes of the upload": len(upload.data),
        "mismatches": int((answers != expected).any(axis=1).sum()),
        "rows that the models differ on": int((old != new).any(axis=1).sum()),
    }


def learning(folder: Path, X: NDArray, y: NDArray) -> dict[str, Any]:
    """A stream that is learned from, beside the estimator's own `adapt`."""
    design = built(folder, adapt=AdaptSettings())
    program = emulated(design, folder / "adapt")
    wanted = SCMRegressor.load(folder / "machine.npz").adapt(X, y)
    began = time.monotonic()
    with Emulator(program).running() as emulator, Board(emulator.port) as board:
        found = board.adapt(X, y)
    return {
        "rows": len(X),
        "mismatches": int((found.predictions[:, 0] != wanted).sum()),
        "seconds": round(time.monotonic() - began, 1),
    }
