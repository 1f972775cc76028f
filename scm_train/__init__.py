"""Stochastic configuration machines: learners that end in a model file."""

from typing import TYPE_CHECKING, Any

from scm_train.errors import (
    ClippedWarning,
    DataError,
    ModelFileError,
    OutputError,
    ParameterError,
    ScmTrainError,
)

if TYPE_CHECKING:
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
    from scm_train.pipelines import save
    from scm_train.sequences import SequenceClassifier, SequenceRegressor

__all__ = [
    "ClippedWarning",
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
    "OutputError",
    "ParameterError",
    "SCMClassifier",
    "SCMRegressor",
    "SCNClassifier",
    "SCNRegressor",
    "ScmTrainError",
    "SequenceClassifier",
    "SequenceRegressor",
    "paper_settings",
    "save",
]


def __getattr__(name: str) -> Any:
    # The learners import scikit-learn, and what only reads a model should not wait for it.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from scm_train import estimators, pipelines, sequences

    homes = (pipelines if name == "save" else estimators, sequences)
    return getattr(homes[name.startswith("Sequence")], name)


def __dir__() -> list[str]:
    return sorted(__all__)
