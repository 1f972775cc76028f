"""Errors that a user can cause. Each message says what is wrong and what to do about it."""

from __future__ import annotations

from scm_model.errors import ModelFileError, OptionError, ScmError, UnsupportedModelError

__all__ = [
    "CompilerError",
    "FitError",
    "LinkError",
    "MismatchError",
    "ModelFileError",
    "OptionError",
    "RangeWarning",
    "ScmError",
    "TableWarning",
    "ToolError",
    "UnsupportedModelError",
]


class FitError(ScmError):
    """The design doesn't fit the device."""


class ToolError(ScmError):
    """An external tool is missing, failed, or hung."""


class MismatchError(ScmError):
    """A simulation gave other integers, or other cycles, than the interpreter."""


class CompilerError(ScmError):
    """A pass changed what a program computes: a fault of the compiler, and nothing is built."""


class LinkError(ScmError):
    """A board can't be reached, doesn't answer as it should, or is another one."""


class TableWarning(UserWarning):
    """What was guessed of how a table is written."""


class RangeWarning(UserWarning):
    """Values of the user's rows lie outside the range of their column, and are limited to it."""
