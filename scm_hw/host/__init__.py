"""The PC's side of a board's serial port."""

from scm_hw.host.board import Board

__all__ = ["Board"]
