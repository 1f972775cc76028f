"""Stochastic configuration machines: learners that end in a model file."""

from scm_train.errors import DataError, ModelFileError, ParameterError, ScmTrainError
from scm_train.estimators import (
    DeepSCNClassifier,
    DeepSCNRegressor,
    DIRVFL1Classifier,
    DIRVFL1Regressor,
    DIRVFL2Classifier,
    DIRVFL2Regressor,
    IRVFLClassifier,
    IRVFLRegressor,
    SCMClassifier,
    SCMRegressor,
    SCNClassifier,
    SCNRegressor,
    paper_settings,
)

__all__ = [
    "DIRVFL1Classifier",
    "DIRVFL1Regressor",
    "DIRVFL2Classifier",
    "DIRVFL2Regressor",
    "DataError",
    "DeepSCNClassifier",
    "DeepSCNRegressor",
    "IRVFLClassifier",
    "IRVFLRegressor",
    "ModelFileError",
    "ParameterError",
    "SCMClassifier",
    "SCMRegressor",
    "SCNClassifier",
    "SCNRegressor",
    "ScmTrainError",
    "paper_settings",
]
