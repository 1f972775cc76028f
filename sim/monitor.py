"""The rules that a stream's producer keeps, watched at the core's output."""

from __future__ import annotations


class Monitor:
    """Checks that an offered word stays, unchanged, until it is taken."""

    def __init__(self) -> None:
        self.violations: list[str] = []
        self._stalled: int | None = None

    def observe(self, cycle: int, valid: bool, ready: bool, data: int | None) -> bool:
        """Whether a word was taken in this cycle; `data` is None where a bit is undefined."""
        if self._stalled is not None:
            if not valid:
                self._violate(cycle, "out_valid fell before the word was taken")
            elif data != self._stalled:
                self._violate(cycle, "out_data changed while it waited for out_ready")
        if valid and data is None:
            self._violate(cycle, "out_data is undefined while out_valid is high")
        self._stalled = data if valid and not ready else None
        return valid and ready

    def reset(self) -> None:
        """Forget the word on offer: reset may withdraw it."""
        self._stalled = None

    def _violate(self, cycle: int, rule: str) -> None:
        self.violations.append(f"cycle {cycle}: {rule}")
