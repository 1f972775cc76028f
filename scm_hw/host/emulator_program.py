"""The C++ around the simulated board: its clock, and the far end of its serial line."""

from __future__ import annotations

from scm_hw.common.templates import render

MAIN = "emulator.cpp"


def main_program(
    *, clk: str, rx: str, tx: str, inactive: dict[str, int], bit_cycles: float, idle_cycles: int
) -> str:
    """The main program for a top with these ports; `inactive` are inputs and their level at rest.

    It is given a file descriptor, that of a pseudo-terminal's master, the share of bytes to spoil
    in each direction, and a seed. It stands still while there is nothing to do.
    """
    rest = "\n  ".join(f"top->{_member(name)} = {level};" for name, level in inactive.items())
    return render(
        __package__,
        MAIN,
        clk=_member(clk),
        rx=_member(rx),
        tx=_member(tx),
        rest=rest,
        bit_cycles=f"{bit_cycles!r}",
        idle_cycles=idle_cycles,
    )


def _member(port: str) -> str:
    """A port's name in Verilator's C++, where two underscores have a meaning of their own."""
    return port.replace("__", "___05F")
