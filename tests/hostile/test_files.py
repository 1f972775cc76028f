"""Model files with any content in any place: a model that can be compiled, or one clear refusal."""

from __future__ import annotations

import io
import json
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scm_hw import boards
from scm_hw.design import Options, compile_model
from scm_hw.errors import ModelFileError, ScmError
from scm_hw.load import read_model
from tests.support import meta_array, model_arrays

BOUNDED = settings(
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
SECONDS = 30.0

JSON_VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(max_size=6),
        st.sampled_from([0, -1, 1, 2, 1 << 40, "sign", "none", "table", "polynomial", "binary"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)
NUMBERS = st.one_of(
    st.floats(),
    st.sampled_from([0.0, -0.0, 5e-324, 1e-300, 1e300, -1e300, 0.5, 2.0**60, float("nan")]),
)
KINDS = st.fixed_dictionaries(
    {
        "task": st.sampled_from(["regression", "classification"]),
        "encoder": st.sampled_from(["thermometer", "binary", "gray", "none"]),
        "mechanism": st.sampled_from(["none", "external", "polynomial", "table"]),
        "inputs_per_node": st.sampled_from([None, 1]),
    }
)


def small(kinds: dict[str, Any]) -> dict[str, np.ndarray]:
    options: dict[str, Any] = {"features": 2, "outputs": 2, "layers": (2, 2), "bits": 3, "rows": 4}
    return model_arrays(1, **(options | {"input_bits": 4} | kinds))


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of everything inside a JSON value."""
    found = [path]
    if isinstance(value, list):
        value = dict(enumerate(value))
    for key, item in value.items() if isinstance(value, dict) else ():
        found += places(item, (*path, key))
    return found


def put(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """The value with what is at the path replaced."""
    if not path:
        return new
    copy = value.copy()
    copy[path[0]] = put(value[path[0]], path[1:], new)
    return copy


@st.composite
def altered_meta(draw: st.DrawFn) -> dict[str, np.ndarray]:
    arrays = small(draw(KINDS))
    meta = json.loads(arrays["meta"].tobytes())
    for _ in range(draw(st.integers(1, 2))):
        meta = put(meta, draw(st.sampled_from(places(meta))), draw(JSON_VALUES))
    return arrays | {"meta": meta_array(meta)}


@st.composite
def altered_arrays(draw: st.DrawFn) -> dict[str, np.ndarray]:
    """One entry lost, of another shape or type, or with another number somewhere."""
    arrays = small(draw(KINDS))
    name = draw(st.sampled_from(sorted(arrays.keys() - {"meta"})))
    array = arrays[name].copy()
    change = draw(st.sampled_from(["drop", "shape", "type", "number", "number", "number"]))
    if change == "drop":
        del arrays[name]
        return arrays
    if change == "shape":
        array = np.resize(array, draw(st.lists(st.integers(0, 3), max_size=4)))
    elif change == "type":
        array = array.astype(draw(st.sampled_from(["f4", "f8", "i8", "u1", "?", "c16", "U3"])))
    elif array.dtype.kind == "f":
        array.flat[draw(st.integers(0, array.size - 1))] = draw(NUMBERS)
    else:
        info = np.iinfo(array.dtype)
        array.flat[draw(st.integers(0, array.size - 1))] = draw(st.integers(info.min, info.max))
    return arrays | {name: array}


def compiled_or_refused(path: Path) -> None:
    begin = time.process_time()
    try:
        design = compile_model(read_model(path), boards.get("arty-a7"), Options())
    except ScmError as error:
        assert "\n" not in str(error)
    else:
        assert design.schedule.latency >= 1
    assert time.process_time() - begin < SECONDS


@pytest.mark.filterwarnings("error")
@settings(BOUNDED, max_examples=150)
@given(arrays=altered_meta())
def test_any_description(arrays: dict[str, np.ndarray], tmp_path: Path) -> None:
    np.savez(tmp_path / "m.npz", **arrays)
    compiled_or_refused(tmp_path / "m.npz")


@pytest.mark.filterwarnings("error")
@settings(BOUNDED, max_examples=200)
@given(arrays=altered_arrays())
def test_any_numbers(arrays: dict[str, np.ndarray], tmp_path: Path) -> None:
    np.savez(tmp_path / "m.npz", **arrays)
    compiled_or_refused(tmp_path / "m.npz")


def refusal(path: Path) -> str:
    with pytest.raises(ModelFileError) as caught:
        read_model(path)
    message = str(caught.value)
    assert str(path) in message
    return message


def archive(path: Path, name: str, content: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(name, content)
    return path


def test_archives_in_archives(tmp_path: Path) -> None:
    inner = io.BytesIO()
    np.savez(inner, **model_arrays(1))
    nested = archive(tmp_path / "a.npz", "inner.npz", inner.getvalue())
    assert "entry 'inner.npz' must be a plain .npy array" in refusal(nested)
    disguised = archive(tmp_path / "b.npz", "meta.npy", inner.getvalue())
    assert "entry 'meta' must have a .npy header" in refusal(disguised)


@pytest.mark.parametrize(
    "name", ["../meta.npy", "/etc/passwd", "a/meta.npy", "C:\\meta.npy", ".npy"]
)
def test_path_names_lead_nowhere(tmp_path: Path, name: str) -> None:
    path = archive(tmp_path / "m.npz", name, b"")
    assert "must be a plain .npy array" in refusal(path)
    assert [found.name for found in tmp_path.iterdir()] == ["m.npz"]


def test_links_are_followed_to_their_file_and_no_further(tmp_path: Path) -> None:
    np.savez(tmp_path / "m.npz", **model_arrays(1))
    (tmp_path / "link.npz").symlink_to("m.npz")
    assert read_model(tmp_path / "link.npz").features == read_model(tmp_path / "m.npz").features
    (tmp_path / "nowhere.npz").symlink_to("none.npz")
    assert "does not exist" in refusal(tmp_path / "nowhere.npz")
    # An entry that a zip calls a link is only the text that it holds.
    entry = zipfile.ZipInfo("meta.npy")
    entry.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "z.npz", "w") as file:
        file.writestr(entry, "/etc/passwd")
    assert "entry 'meta' must have a .npy header" in refusal(tmp_path / "z.npz")
