"""Machines with memory: which past values they see, and how they learn from records."""

from scm_train.sequences.estimators import SequenceClassifier, SequenceRegressor

__all__ = ["SequenceClassifier", "SequenceRegressor"]
