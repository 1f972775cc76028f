"""What the estimators share: parameters, and how both tasks make use of a machine."""

from scm_train.learner.base import Learner
from scm_train.learner.classifier import Classifier
from scm_train.learner.parameters import LearnerParameters, paper_settings
from scm_train.learner.regressor import Regressor

__all__ = ["Classifier", "Learner", "LearnerParameters", "Regressor", "paper_settings"]
