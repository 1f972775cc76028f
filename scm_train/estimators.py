"""The paper's learners as scikit-learn estimators, a regressor and a classifier each.

==========  =====  ==============  ============  ======================
learner     deep   early stopping  linear model  supervisory mechanism
==========  =====  ==============  ============  ======================
SCN         no     no              no            yes
DeepSCN     yes    no              no            yes
SCM         yes    yes             yes           yes
IRVFL       no     no              no            no
DIRVFL1     yes    no              no            no
DIRVFL2     yes    yes             yes           no
==========  =====  ==============  ============  ======================

All take the same parameters (see :class:`LearnerParameters`) and train with the same engine. Their
defaults give a model that hardware can take; ``SCMRegressor(**paper_settings())`` is the paper's
own.
"""

from __future__ import annotations

from scm_train.learner import Classifier, Learner, LearnerParameters, Regressor, paper_settings

__all__ = [
    "DIRVFL1Classifier",
    "DIRVFL1Regressor",
    "DIRVFL2Classifier",
    "DIRVFL2Regressor",
    "DeepSCNClassifier",
    "DeepSCNRegressor",
    "IRVFLClassifier",
    "IRVFLRegressor",
    "Learner",
    "LearnerParameters",
    "SCMClassifier",
    "SCMRegressor",
    "SCNClassifier",
    "SCNRegressor",
    "paper_settings",
]


class SCNRegressor(Regressor):
    """Stochastic configuration network, regression.

    Parameters: see :class:`LearnerParameters`.
    """

    _algorithm = "SCN"


class SCNClassifier(Classifier):
    """Stochastic configuration network, classification.

    Parameters: see :class:`LearnerParameters`.
    """

    _algorithm = "SCN"


class DeepSCNRegressor(Regressor):
    """Deep stochastic configuration network, regression.

    Parameters: see :class:`LearnerParameters`.
    """

    _algorithm = "DeepSCN"


class DeepSCNClassifier(Classifier):
    """Deep stochastic configuration network, classification.

    Parameters: see :class:`LearnerParameters`.
    """

    _algorithm = "DeepSCN"


class SCMRegressor(Regressor):
    """Stochastic configuration machine, regression.

    Parameters: see :class:`LearnerParameters`.
    """

    _algorithm = "SCM"


class SCMClassifier(Classifier):
    """Stochastic configuration machine, classification.

    Parameters: see :class:`LearnerParameters`.
    """

    _algorithm = "SCM"


class IRVFLRegressor(Regressor):
    """Incremental random vector functional link, regression.

    Parameters: see :class:`LearnerParameters`.
    """

    _algorithm = "IRVFL"


class IRVFLClassifier(Classifier):
    """Incremental random vector functional link, classification.

    Parameters: see :class:`LearnerParameters`.
    """

    _algorithm = "IRVFL"


class DIRVFL1Regressor(Regressor):
    """Deep IRVFL, regression (the paper's DIRVFL-I).

    Parameters: see :class:`LearnerParameters`.
    """

    _algorithm = "DIRVFL1"


class DIRVFL1Classifier(Classifier):
    """Deep IRVFL, classification (the paper's DIRVFL-I).

    Parameters: see :class:`LearnerParameters`.
    """

    _algorithm = "DIRVFL1"


class DIRVFL2Regressor(Regressor):
    """Deep IRVFL with early stopping and a linear model, regression (DIRVFL-II).

    Parameters: see :class:`LearnerParameters`.
    """

    _algorithm = "DIRVFL2"


class DIRVFL2Classifier(Classifier):
    """Deep IRVFL with early stopping and a linear model, classification (DIRVFL-II).

    Parameters: see :class:`LearnerParameters`.
    """

    _algorithm = "DIRVFL2"
