"""Data sets by name: public files, generated functions, and simulated plants named as such."""

from __future__ import annotations

from scm_train.datasets.dataset import Dataset
from scm_train.datasets.registry import Summary, describe, load, names

__all__ = ["Dataset", "Summary", "describe", "load", "names"]
