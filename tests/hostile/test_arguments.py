"""Any arguments at all: an answer or one line, never a traceback."""

from __future__ import annotations

import contextlib
import io
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scm_hw.__main__ import main
from tests.hw.commands import small_model

BOUNDED = settings(
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
# A small model takes a fraction of this, on a busy machine too.
SECONDS = 30.0

NUMBERS = st.one_of(
    st.integers().map(str),
    st.floats().map(str),
    st.sampled_from(
        [
            "0",
            "1",
            "-1",
            "12",
            "100",
            "1e308",
            "1e-308",
            "nan",
            "-inf",
            "0x10",
            "\N{FULLWIDTH DIGIT ONE}",
        ]
    ),
)
TEXTS = st.one_of(
    st.text(max_size=12), st.sampled_from(["", "..", "/", "~", "auto", "none", "\x00"])
)
FOLDS = st.one_of(
    TEXTS,
    st.tuples(st.integers(-1, 9), st.integers(-1, 40)).map(lambda f: f"{f[0]}x{f[1]}"),
    st.sampled_from(["1x1,2x2", "0x0", "99999999999x1", "1x", "x", "1x1,", "1X1"]),
)
OPTIONS = {
    "--board": st.one_of(TEXTS, st.sampled_from(["arty-a7", "nexys-a7", "cmod-a7"])),
    "--part": st.one_of(TEXTS, st.sampled_from(["xc7a35tcpg236-1", "xc7k70tfbg484-2", "xc7-"])),
    "--clock": NUMBERS,
    "--latency": NUMBERS,
    "--frac-bits": NUMBERS,
    "--tolerance": NUMBERS,
    "--fold": FOLDS,
    "--pipeline": st.one_of(TEXTS, st.sampled_from(["balanced", "min-latency", "max-clock"])),
    "--data": st.sampled_from(["none.csv", "good.npz", "/dev/null", ".", "\x00"]),
    "--after": TEXTS,
    "--seed": NUMBERS,
    "--name": TEXTS,
    "--sim": TEXTS,
    "--interface": st.one_of(TEXTS, st.sampled_from(["axis", "axil"])),
    "--out": st.sampled_from(["out", "out/deep", "good.npz", "/proc/none", "\x00", ""]),
}
SWITCHES = ["--json", "--quiet", "--no-synth", "--explain", "--waves", "--gate-sim", "-q"]


@st.composite
def arguments(draw: st.DrawFn) -> list[str]:
    """A command, a model, and options that it may or may not have."""
    chosen = draw(st.lists(st.sampled_from(sorted(OPTIONS)), max_size=3, unique=True))
    pairs = [word for name in chosen for word in (name, draw(OPTIONS[name]))]
    pairs += draw(st.lists(st.sampled_from(SWITCHES), max_size=2))
    model = draw(st.sampled_from(["good.npz", "good.npz", "good.npz", "none.npz", "", "\x00", "."]))
    command = draw(st.sampled_from(["show", "show", "build", "boards"]))
    # Proofs take seconds; what leads to them is what is tried here.
    last = ["--no-sim", "--no-synth"] if command == "build" else []
    return [command, *([model] if command != "boards" else []), *pairs, *last]


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("arguments")
    small_model(folder / "good.npz")
    return folder


def answer(argv: list[str]) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of one command, in process."""
    out, err = io.StringIO(), io.StringIO()
    handler = signal.getsignal(signal.SIGTERM)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(argv)
    finally:
        signal.signal(signal.SIGTERM, handler)
    return code, out.getvalue(), err.getvalue()


@contextlib.contextmanager
def bounded() -> Iterator[None]:
    begin = time.process_time()
    yield
    assert time.process_time() - begin < SECONDS


def check(argv: list[str]) -> None:
    with bounded():
        code, out, err = answer(argv)
    assert "Traceback" not in out + err
    if code == 0:
        assert err == ""
    else:
        assert code in (1, 2)
        assert out == ""
        assert err.startswith("error: ")
        assert err.count("\n") == 1


@settings(BOUNDED, max_examples=60)
@given(argv=arguments())
def test_options_of_any_value(
    argv: list[str], workshop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(workshop)
    check(argv)


@settings(BOUNDED, max_examples=60)
@given(argv=st.lists(st.text(max_size=20).filter(lambda word: word[:1] != "-"), max_size=4))
def test_words_of_any_kind(
    argv: list[str], workshop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(workshop)
    check(argv)
