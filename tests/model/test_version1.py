"""Files of version 1, written by the code before `scm_model`: read, predicted and written as then.

`version1/*.predictions.npz` has what the trainer of that time said of some rows. Their weights are
multiples of powers of two, so that sums are exact and the same on every processor.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from scm_model import evaluate, model_to_arrays, read_model

FOLDER = Path(__file__).parent / "version1"
NAMES = sorted(path.name.removesuffix(".predictions.npz") for path in FOLDER.glob("*.predictions*"))


def test_every_kind_is_there() -> None:
    kinds = [read_model(FOLDER / f"{name}.npz") for name in NAMES]
    assert {m.encoder.kind for m in kinds} == {"thermometer", "binary", "gray", "none"}
    assert {m.mechanism.kind for m in kinds} == {"none", "external", "polynomial", "table"}
    assert {m.task for m in kinds} == {"regression", "classification"}
    assert {len(m.layers) for m in kinds} >= {0, 1, 2, 3}
    assert any(layer.mask is not None for m in kinds for layer in m.layers)


@pytest.mark.parametrize("name", NAMES)
def test_predictions_are_the_same_bytes(name: str) -> None:
    model = read_model(FOLDER / f"{name}.npz")
    with np.load(FOLDER / f"{name}.predictions.npz") as then:
        rows = then["rows"]
        p0 = then.get("mechanism")
        hidden = np.concatenate([np.empty((len(rows), 0)), *model.hidden_layers(rows)], axis=1)
        predicted = model.predict(rows, p0)
        assert model.decision(rows, p0).tobytes() == then["decision"].tobytes()
        assert hidden.tobytes() == then["hidden"].tobytes()
        np.testing.assert_array_equal(predicted.astype(then["predicted"].dtype), then["predicted"])
        activity = evaluate(model, rows, p0)
        assert activity.output.tobytes() == then["decision"].tobytes()
        assert activity.hidden.tobytes() == then["hidden"].tobytes()


@pytest.mark.parametrize("name", NAMES)
def test_written_again_it_has_the_same_entries(name: str) -> None:
    path = FOLDER / f"{name}.npz"
    again = model_to_arrays(read_model(path))
    with np.load(path, allow_pickle=False) as then:
        assert list(again) == then.files
        for entry, array in again.items():
            assert array.dtype == then[entry].dtype and array.shape == then[entry].shape, entry
            assert array.tobytes() == then[entry].tobytes(), entry
