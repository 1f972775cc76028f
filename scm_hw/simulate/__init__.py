"""Checks of the emitted design against the interpreter."""
