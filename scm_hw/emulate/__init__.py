"""A board without a board."""

from scm_hw.emulate.emulator import Emulator, compile_emulator, fastest_baud

__all__ = ["Emulator", "compile_emulator", "fastest_baud"]
