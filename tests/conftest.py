"""For all tests."""

from __future__ import annotations

import signal

# A shell starts what runs in its background with interrupts ignored, and so would be all that the
# tests start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)
