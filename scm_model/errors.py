"""Errors that a user can cause. Each message says what is wrong and what to do about it."""

from __future__ import annotations


class ScmError(Exception):
    """Base of all errors that the command lines print as one line."""


class ModelFileError(ScmError, ValueError):
    """The model file can't be read or written, or breaks a rule of its schema."""


class DataError(ScmError, ValueError):
    """Data can't be read, learnt from, or fed to a model."""


class ParameterError(ScmError, ValueError):
    """A parameter, alone or together with others, breaks a rule."""


class UnsupportedModelError(ScmError):
    """The model is valid, but hardware can't take it."""


class OptionError(ScmError):
    """An option, alone or together with others, can't be met."""
