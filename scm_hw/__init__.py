"""From a model file to a bit-exact FPGA design."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scm_hw.component import Core

__all__ = ["Core"]


def __getattr__(name: str) -> Any:
    """`Core` is imported when it is asked for: the compiler takes a second, and errors don't."""
    if name != "Core":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from scm_hw.component import Core

    return Core
