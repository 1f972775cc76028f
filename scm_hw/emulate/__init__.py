"""A board without a board."""

from scm_hw.emulate.emulator import LINK, Emulator, compile_emulator, fastest_baud

__all__ = ["LINK", "Emulator", "compile_emulator", "fastest_baud"]
