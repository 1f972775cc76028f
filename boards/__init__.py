"""Boards by name and parts by number; imported as scm_hw.boards."""

from scm_hw.boards.registry import DEFAULT_CLOCK_MHZ, Board, by_part, get, names

__all__ = ["DEFAULT_CLOCK_MHZ", "Board", "by_part", "get", "names"]
