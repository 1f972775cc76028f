"""How far a long step has come, told from deep inside to whoever listens, if anybody does."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[float, float], None]
"""Told how much is done, and of how much."""

CLOCK_SECONDS = 0.25

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


def listener() -> Listener:
    """Who listens here and now; other threads have to be handed it."""
    return _listener.get() or _nobody


def advance(done: float, total: float) -> None:
    """So much of the step under way is done."""
    listener()(done, total)


@contextmanager
def heard_by(one: Listener) -> Iterator[None]:
    """Let `one` be told what happens inside."""
    token = _listener.set(one)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def expecting(seconds: float) -> Iterator[None]:
    """Advance a step that reports nothing itself by the time that it is likely to take."""
    report, done, began = listener(), threading.Event(), time.monotonic()
    whole = max(seconds, 1.0)

    def clock() -> None:
        while not done.wait(CLOCK_SECONDS):
            # Where it takes longer, it is nearly done all the time.
            report(min(time.monotonic() - began, 0.95 * whole), whole)

    clock_thread = threading.Thread(target=clock, daemon=True)
    clock_thread.start()
    try:
        yield
    finally:
        done.set()
        clock_thread.join()


def _nobody(done: float, total: float) -> None:
    pass
