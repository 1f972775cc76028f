"""Errors that a user can cause. Each message says what is wrong and what to do about it."""

from __future__ import annotations

from scm_model.errors import DataError, ModelFileError, ParameterError
from scm_model.errors import ScmError as ScmTrainError

__all__ = [
    "ClippedWarning",
    "DataError",
    "ModelFileError",
    "OutputError",
    "ParameterError",
    "ScmTrainError",
]


class ClippedWarning(UserWarning):
    """Inputs are outside of the training range, and are clipped to it."""


class OutputError(ScmTrainError, ValueError):
    """A file may not be replaced, or can't be written."""
