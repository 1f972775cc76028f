"""Boards by name; imported as scm_hw.boards."""
