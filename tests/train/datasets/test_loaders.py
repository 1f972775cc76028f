"""Loaders on small files in the published formats: good, malformed, missing, and downloaded."""

from __future__ import annotations

import gzip
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import sklearn.datasets

from scm_train import datasets
from scm_train.datasets import store
from scm_train.errors import DataError

ABALONE = """\
sex,length,diameter,height,whole_weight,shucked_weight,viscera_weight,shell_weight,rings
M,0.455,0.365,0.095,0.514,0.2245,0.101,0.15,15
F,0.53,0.42,0.135,0.677,0.2565,0.1415,0.21,9
I,0.33,0.255,0.08,0.205,0.0895,0.0395,0.055,7
"""
CONCRETE = """Cement (component 1)(kg),Blast Furnace Slag (component 2)(kg),Fly Ash (3),Water  (4),\
Superplasticizer (5),Coarse Aggregate  (6),Fine Aggregate (7),Age (day),"Concrete strength(MPa, M) "
540.0,0.0,0.0,162.0,2.5,1040.0,676.0,28,79.98
332.5,142.5,0.0,228.0,0.0,932.0,594.0,270,40.27
"""
CCPP = "AT,V,AP,RH,PE\n14.96,41.76,1024.07,73.17,463.26\n25.18,62.96,1020.04,59.08,444.37\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An SCM_DATA folder of our own, an empty cache beside it, and no network."""

    def unreachable(**_: object) -> None:
        # As scikit-learn does before it tries again.
        warnings.warn("A network error occurred while downloading x. Retrying...", stacklevel=1)
        raise OSError("no network")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", unreachable)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("SCM_DATA", str(tmp_path / "data"))
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


def idx(array: np.ndarray) -> bytes:
    shape = b"".join(int(n).to_bytes(4, "big") for n in array.shape)
    return bytes([0, 0, 8, array.ndim]) + shape + array.astype(np.uint8).tobytes()


def write_images(folder: Path, name: str, part: str, rows: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(rows)
    pixels, labels = rng.integers(0, 256, (rows, 28, 28)), rng.integers(0, 10, rows)
    (folder / name).mkdir(exist_ok=True)
    for what, array in (("images-idx3", pixels), ("labels-idx1", labels)):
        (folder / name / f"{part}-{what}-ubyte.gz").write_bytes(gzip.compress(idx(array)))
    return pixels, labels


def test_abalone_codes_sex_and_keeps_eight_inputs(folder: Path) -> None:
    (folder / "abalone.csv").write_text(ABALONE)
    loaded = datasets.load("abalone")
    np.testing.assert_array_equal(loaded.X[:, 0], [1, 2, 0])
    np.testing.assert_array_equal(loaded.X[1, 1:4], [0.53, 0.42, 0.135])
    np.testing.assert_array_equal(loaded.y, [15, 9, 7])
    assert loaded.feature_names[-1] == "shell_weight"
    assert loaded.target_names == ("rings",)


def test_concrete_gets_short_names(folder: Path) -> None:
    (folder / "concrete.csv").write_text(CONCRETE)
    loaded = datasets.load("concrete")
    assert loaded.feature_names[:3] == ("cement", "slag", "fly_ash")
    np.testing.assert_array_equal(loaded.y, [79.98, 40.27])


def test_year_prediction_has_its_target_first_and_no_split_when_shortened(folder: Path) -> None:
    rows = np.arange(2 * 91, dtype=float).reshape(2, 91)
    np.savetxt(folder / "YearPredictionMSD.txt", rows, delimiter=",")
    loaded = datasets.load("year_prediction")
    np.testing.assert_array_equal(loaded.y, [0, 91])
    np.testing.assert_array_equal(loaded.X, rows[:, 1:])
    assert loaded.train_rows is None


def test_twitter_buzz_from_gzip(folder: Path) -> None:
    rows = np.arange(3 * 78, dtype=float).reshape(3, 78)
    np.savetxt(folder / "Twitter.data.gz", rows, delimiter=",")
    loaded = datasets.load("twitter_buzz")
    np.testing.assert_array_equal(loaded.y, rows[:, -1])
    assert loaded.X.shape == (3, 77)
    assert loaded.feature_names[:8] == (*(f"NCD_{i}" for i in range(7)), "AI_0")


def test_emps_servo_aligns_speeds_with_the_voltage(folder: Path) -> None:
    lines = [f"{k * k * 1e-3},{k * 1e-3},{k * 1e-3},{10 + k}" for k in range(6)]
    (folder / "emps_servo.csv").write_text("\n".join(["qg,qm,t,vir", *lines]))
    loaded = datasets.load("emps_servo")
    np.testing.assert_array_equal(loaded.y, [13, 14, 15])
    # The speed of k^2 between k-1 and k is 2 k - 1.
    np.testing.assert_allclose(loaded.X[:, :3], [[1, 3, 5], [3, 5, 7], [5, 7, 9]])
    np.testing.assert_allclose(loaded.X[:, 3:6], np.ones((3, 3)))
    np.testing.assert_allclose(loaded.X[:, 6], [3e-3, 4e-3, 5e-3])


def test_rolling_force_drops_and_counts_rows_at_rest(folder: Path) -> None:
    rows = np.random.default_rng(0).uniform(90, 110, (20, 11))
    rows[3, 10] = 0.1
    rows[7, 1] = 0.0
    rows[9, 5] = -1.0  # an input that may well be near zero
    np.savetxt(folder / "rolling_force.csv", rows, delimiter=",")
    loaded = datasets.load("rolling_force")
    np.testing.assert_allclose(loaded.X, np.delete(rows, [3, 7], axis=0)[:, :10])
    assert "(2 rows of a mill at rest dropped)" in loaded.description


@pytest.mark.parametrize("name", ["mnist", "fashion_mnist"])
def test_images_of_both_parts(folder: Path, name: str) -> None:
    pixels, labels = write_images(folder, name, "train", 7)
    more_pixels, more_labels = write_images(folder, name, "t10k", 3)
    loaded = datasets.load(name)
    assert (loaded.train_rows, loaded.X.dtype) == (7, np.uint8)
    np.testing.assert_array_equal(loaded.X, np.concatenate([pixels, more_pixels]).reshape(10, 784))
    np.testing.assert_array_equal(loaded.y, np.concatenate([labels, more_labels]))


def test_training_images_alone_have_no_split(folder: Path) -> None:
    write_images(folder, "fashion_mnist", "train", 5)
    loaded = datasets.load("fashion_mnist")
    assert (len(loaded.X), loaded.train_rows) == (5, None)


def test_scm_data_comes_before_the_cache(folder: Path) -> None:
    cache = store.cache_folder()
    cache.mkdir(parents=True)
    (cache / "ccpp.csv").write_text(CCPP)
    assert datasets.load("ccpp").y[0] == 463.26
    (folder / "ccpp.csv").write_text(CCPP.replace("463.26", "1.5"))
    assert datasets.load("ccpp").y[0] == 1.5


@pytest.mark.parametrize("name", [s.name for s in datasets.describe() if s.origin == "file"])
@pytest.mark.filterwarnings("error")
def test_missing_file_says_what_to_do(folder: Path, name: str) -> None:
    with pytest.raises(DataError) as caught:
        datasets.load(name)
    message = str(caught.value)
    assert message.startswith(f"can't find data set '{name}': there is no file ")
    assert str(folder) in message and str(store.cache_folder()) in message
    assert message.endswith("to that folder")
    assert "\n" not in message


def truncated(content: bytes) -> bytes:
    return content[: len(content) // 2]


@pytest.mark.parametrize(
    ("name", "file", "content", "message"),
    [
        ("ccpp", "ccpp.csv", CCPP.replace("62.96", "warm"), "could not convert string 'warm'"),
        ("ccpp", "ccpp.csv", CCPP.replace("62.96", "nan"), r"not .*nan.* \(row 2, column 2\)"),
        ("ccpp", "ccpp.csv", CCPP.replace("62.96,", ""), "can't read a table of numbers"),
        ("ccpp", "ccpp.csv", CCPP.replace("RH", "RX"), "must begin with a line naming AT, V, AP"),
        ("ccpp", "ccpp.csv", CCPP.replace("AT,V,AP,RH,PE\n", ""), "must begin with a line naming"),
        ("ccpp", "ccpp.csv", "AT,V,AP,RH,PE\n", "must have rows of 5 columns, not 0 rows"),
        ("ccpp", "ccpp.csv", "", "must begin with a line naming"),
        ("ccpp", "ccpp.csv", b"AT,V,AP,RH,PE\n\xff\xfe,1,2,3,4\n", "table of numbers"),
        (
            "abalone",
            "abalone.csv",
            ABALONE.replace("\nI", "\nX"),
            "convert string 'X' .* at row 2, column 1",
        ),
        ("rolling_force", "rolling_force.csv", "1,2,3\n4,5,6\n", "rows of 11 columns, not 2 rows"),
        (
            "emps_servo",
            "emps_servo.csv.gz",
            # No time of writing: it would be part of the name of the test.
            truncated(gzip.compress(b"qg,qm,t,vir\n" + b"1,2,3,4\n" * 9, mtime=0)),
            "can't read a table of numbers from ",
        ),
        ("emps_servo", "emps_servo.csv.gz", b"qg,qm,t,vir\n", "can't read .*gzip"),
    ],
)
def test_malformed_table(
    folder: Path, name: str, file: str, content: str | bytes, message: str
) -> None:
    (folder / file).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(DataError, match=message) as caught:
        datasets.load(name)
    assert str(folder / file) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda raw: truncated(gzip.compress(raw)), "can't read .*; download the file again"),
        (lambda raw: raw, "can't read .*; download the file again"),
        (lambda raw: gzip.compress(raw[:-1]), "must hold the 3920 bytes .*, not 3919"),
        (lambda raw: gzip.compress(raw[:10]), "must hold the .* bytes that its header declares"),
        (lambda raw: gzip.compress(b"\0\0\x0d" + raw[3:]), "must be an IDX file of unsigned bytes"),
        (lambda raw: gzip.compress(b""), "must be an IDX file of unsigned bytes"),
        (lambda raw: gzip.compress(idx(np.zeros((5, 27, 28)))), "must hold 28 x 28 images"),
        (lambda raw: gzip.compress(idx(np.zeros((4, 28, 28)))), "one for each label"),
    ],
)
def test_malformed_images(folder: Path, damage: Callable[[bytes], bytes], message: str) -> None:
    pixels, _ = write_images(folder, "mnist", "train", 5)
    (folder / "mnist/train-images-idx3-ubyte.gz").write_bytes(damage(idx(pixels)))
    with pytest.raises(DataError, match=message) as caught:
        datasets.load("mnist")
    assert "\n" not in str(caught.value)


def test_images_without_labels(folder: Path) -> None:
    write_images(folder, "mnist", "train", 5)
    (folder / "mnist/train-labels-idx1-ubyte.gz").unlink()
    with pytest.raises(DataError, match=r"mnist/train-labels-idx1-ubyte\.gz or .* come as a pair"):
        datasets.load("mnist")


@pytest.fixture
def openml(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A stand-in for OpenML with abalone and MNIST; the list fills with what was asked for."""
    asked: list[int] = []
    rows = [line.split(",") for line in ABALONE.splitlines()[1:]]
    abalone = pd.DataFrame([[r[0], *map(float, r[1:])] for r in rows])
    rng = np.random.default_rng(0)
    pixels = pd.DataFrame(rng.integers(0, 256, (60_003, 784), dtype=np.uint8))
    labels = pd.Series(rng.integers(0, 10, 60_003).astype(str))
    answers = {
        183: SimpleNamespace(frame=abalone),
        554: SimpleNamespace(data=pixels, target=labels),
        531: SimpleNamespace(frame=abalone),
    }

    def fetch_openml(data_id: int, **_: object) -> SimpleNamespace:
        asked.append(data_id)
        return answers[data_id]

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch_openml)
    return asked


def test_download_is_cached_in_the_files_own_form(openml: list[int]) -> None:
    first, again = datasets.load("abalone"), datasets.load("abalone")
    assert openml == [183]
    np.testing.assert_array_equal(first.X, again.X)
    np.testing.assert_array_equal(first.y, [15, 9, 7])
    assert [path.name for path in store.cache_folder().iterdir()] == ["abalone.csv"]


def test_downloaded_images_are_cached(openml: list[int]) -> None:
    first = datasets.load("mnist")
    assert (first.X.shape, first.train_rows) == ((60_003, 784), 60_000)
    np.testing.assert_array_equal(datasets.load("mnist").X, first.X)
    assert openml == [554]


@pytest.mark.usefixtures("openml")
def test_download_of_another_shape_is_refused_and_leaves_nothing() -> None:
    with pytest.raises(DataError, match=r"^OpenML's data_id 531 must have 14 columns, not 9;"):
        datasets.load("boston")
    assert not store.cache_folder().exists()


def test_failed_write_leaves_nothing(tmp_path: Path) -> None:
    def write(file: object) -> None:
        file.write(b"half")
        raise KeyboardInterrupt

    target = tmp_path / "new" / "file"
    with pytest.raises(KeyboardInterrupt):
        store.write_atomically(target, write)
    assert list(target.parent.iterdir()) == []


def test_cache_follows_xdg(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert store.cache_folder() == tmp_path / "scm-train"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert store.cache_folder() == tmp_path / ".cache" / "scm-train"
