"""Errors that a user can cause. Each message says what is wrong and what to do about it."""

from __future__ import annotations


class ScmTrainError(ValueError):
    """Base of all errors that the command line prints as one line."""


class ClippedWarning(UserWarning):
    """Inputs are outside of the training range, and are clipped to it."""


class DataError(ScmTrainError):
    """The training data can't be read, or can't be learnt from."""


class ParameterError(ScmTrainError):
    """A parameter, alone or together with others, breaks a rule."""


class OutputError(ScmTrainError):
    """A file may not be replaced, or can't be written."""


class ModelFileError(ScmTrainError):
    """The model file can't be read or written."""
