"""What lies at the ends of a core, and has a part in its time and cost."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Ends:
    """How samples come to a core and results leave it.

    `handshake` is one of `rtl.ports.HANDSHAKES`. With `input_register` samples are registered
    before anything else, a cycle more. `arrival` is the time, at scale 1, that a wrapper's logic
    takes of the first cycle: from its register to the core's input.
    """

    handshake: str = "global"
    input_register: bool = False
    arrival: float = 0.0
