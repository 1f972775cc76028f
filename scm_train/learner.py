"""What the estimators share: parameters, and how both tasks make use of a machine."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from scm_model import Model, classes_of
from scm_model.columns import column_names, has_default_names, in_memory, in_order
from scm_train import model_file
from scm_train.algorithms import ALGORITHMS
from scm_train.cluster.run import (
    as_array,
    is_distributed,
    train_distributed,
    train_families_distributed,
)
from scm_train.data.clipping import clipped_columns, clipping_lines
from scm_train.data.eval_set import check_pair
from scm_train.data.fit_columns import ColumnRules
from scm_train.errors import ClippedWarning, DataError, ModelFileError, ParameterError
from scm_train.estimator_rows import (
    TrainingRows,
    further_rows,
    target_names,
    training_rows,
    with_test_rows,
)
from scm_train.evaluation.scores import class_indices
from scm_train.families.losses import probabilities
from scm_train.search.candidates import BiasRange, InputsPerNode, SignPattern
from scm_train.training.intervals import interval_trainer
from scm_train.training.parameters import DEFAULT_NODES, LAMBDAS, R_VALUES, growth_of, input_bits_of
from scm_train.training.refit import REFIT_RIDGE, refit
from scm_train.training.run import TrainingTask, train_by_families, train_machine

__all__ = ["Classifier", "Learner", "Regressor", "paper_settings"]

#: Log-odds for each unit of an output that was fitted to indicators.
INDICATOR_SLOPE = 4.0
_FLOATS = [np.float64, np.float32]


def paper_settings(**overrides: Any) -> dict[str, Any]:
    """Parameters for the paper's algorithm to the letter, on plain normalised inputs.

    The paper's validation rows are its test rows; to follow it there too, pass them to ``fit`` as
    ``eval_set``.
    """
    paper = {
        "activation": "sigmoid",
        "encoder": "none",
        "input_bits": None,
        "inputs_per_node": None,
        "sign_pattern": "free",
        "bias_range": "paper",
        "search": "fresh",
        "criterion": "paper",
        "stop_step": 10,
        "ridge": 0.0,
    }
    return paper | overrides


class Learner(BaseEstimator):
    """What the estimators have in common.

    The signature is the one source of defaults: ``scm_train fit`` and ``scm_hw explore`` take them
    from here.

    Parameters
    ----------
    luts : float or None
        Budget of LUTs for a machine that grows by families; None: 3000.
    growth : "auto", "families" or "nodes"
        Whether all nodes on a few bits join at once, as a table (of SCM alone; see
        :mod:`scm_train.families`), or one node after the other, as in the paper. ``"auto"`` is by
        families, unless one of the parameters below down to ``search_rows`` is given that concerns
        single nodes: all but ``input_bits``, ``mechanism`` and ``validation_fraction``, and beside
        ``luts`` but ``max_nodes``, which is the most families then.
    members : 1, 2, 4, 8 or 16
        Machines of families that are averaged; they share the budget.
    max_nodes : "auto", int, None or one per layer
        Most nodes of a layer, L_max; None for no limit. ``"auto"``: 60, or as many families as the
        budget allows.
    layers : int or None
        Most hidden layers, 1 for learners that are not deep. None: as many as the longest list of
        values per layer has, or 1.
    activation : str or one per layer
        ``"sign"``, ``"step"``, ``"sigmoid"``, ``"brelu"`` or ``"tanh"``.
    candidates : int or one per layer
        Candidates per draw, T_max. Like ``lambdas``, ``r_values`` and ``criterion`` it concerns the
        learners with a supervisory mechanism; the others take every node as it falls, unscaled.
    lambdas, r_values : sequences of float
        Scales of the weights, and the increasing sequence r of the supervisory inequality.
    search : "auto", "pool" or "fresh"
        Where the candidates for a node come from: a pool of ten times ``candidates``, of which the
        worst ``candidates`` are drawn anew for the next node, or as in the paper from fresh draws,
        one after the other until one offers a node. A pool is for sign and step nodes by the exact
        criterion, and what ``"auto"`` takes there.
    criterion : "exact" or "paper"
        What a candidate is scored by: the error that adding it really removes, from its part
        orthogonal to the nodes already there, or the paper's bound from all of it.
    tolerance : float
        Training RMSE (normalised) at which training ends.
    weights : "binary" or "real"
        Signs, or reals in [-1, 1]; SCM and DIRVFL2 are binary only.
    encoder : str
        ``"thermometer:31:quantile"``, ``"thermometer:31"``, ``"binary:5"``, ``"gray:5"`` or
        ``"none"``, with any number of bits.
    input_bits : int, None or "auto"
        Bits of an input's code. ``"auto"``: 12 where the encoder codes bits or every activation is
        sign or step, else None, no quantisation; families take more, up to 24, where a few rows
        reach so far that 12 bits can't tell the others apart.
    inputs_per_node : None, int, sequence or mapping, or a list of these with one per layer
        Features (in deeper layers, nodes of the layer before) that a candidate sees: all, a number,
        one of several at random, or of ``{number: share}``. In hardware a node of up to six nodes
        of the layer before is one LUT: ``[(1, 2), (2, 3, 4, 5, 6)]``.
    sign_pattern : "free", "monotone" or float
        Whether a feature's coded bits have a sign each or one in common; or the share of candidates
        for which they have one in common.
    bias_range : "auto", "data", "middle", "paper" or (low, high)
        Range of the bias draw; see :class:`scm_train.search.candidates.CandidateDraw`. With
        ``"middle"`` a sign or step node that joins has its threshold moved halfway between the
        training rows' sums next to it, which pays where inputs are finer than the rows are dense:
        ``"auto"`` is that for sign and step nodes on inputs without encoder.
    stop_step, stop_tolerance : int, float
        Early stopping, L_step and tau, of SCM and DIRVFL2.
    removal_tolerance : float or None
        As early stopping ends a layer, its newest nodes go until one of them has lowered the error
        by more than this share. None is the paper's: ``stop_tolerance``. With 0 as many stay as
        lower the error at all.
    alpha : float
        LASSO factor of the linear model of SCM and DIRVFL2, in the paper's scaling.
    ridge : float or "auto"
        Penalty on the squared readout; 0 is the paper's, ``"auto"`` is chosen on validation rows.
    readout : "squares" or "logistic"
        Of a classifier that grows by nodes: least squares on indicators, as in the paper, or
        log-odds fitted for the decision, without linear part. Their coefficients are sparse and of
        few bits, as far as validation rows allow; a coefficient of 0 costs nothing in gates.
    mechanism : None, callable or specification
        P0; see :mod:`scm_train.mechanisms`.
    validation_fraction : float
        Share of the rows held back where early stopping or ridge needs them and ``fit`` is given no
        ``eval_set``. The final readout is solved on all rows again. Families hold back twice as
        many, half of the rows at most, to choose size and linear part; then they grow anew on all.
    removal : float
        Backward removal: a layer grows by this share beyond ``max_nodes`` and then loses, one after
        the other, the nodes without which the readout's error rises least. 0 for none.
    search_rows : int or None
        Rows on which nodes are configured, their validation included: so many at random, if there
        are more. The linear part and the final readout are fitted on all rows. None: all.
    random_state : int, RandomState or None
    class_weight : None, "balanced" or mapping
        Of a classifier that grows by families: what a row of each class counts. ``"balanced"`` has
        all classes count the same together.
    categories : None or sequence of column names or numbers
        Columns of numbers that are categories. Columns of text, of truth values and of a category
        type are, without being named. A category has one bit for each value, or, of more than eight
        values, codes in the order of the target; rare values and those never seen are one.
    missing : "code" or "median"
        What a number becomes that is missing: a code of its own, above all others, or the median
        beside a flag. Only columns with missing values in training pay for it.
    interval : float or None
        Of a regressor: the level of an interval, such as 0.9. The machine has a lower and an upper
        bound for each target as further outputs, which hold this share of rows that are drawn as
        the training rows were. A part of the training rows is held back for it.
    verbose : bool
        Show a progress bar, on a terminal.

    Attributes
    ----------
    machine_ : Model
        The trained machine.
    history_ : History
        Errors after every node, time per phase, nodes per layer, selected inputs.
    """

    _algorithm: ClassVar[str]
    _task: ClassVar[str]
    #: Ranges of features that don't follow from the rows, as those of taps.
    _input_range: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None

    def __init__(
        self,
        *,
        luts: float | None = None,
        growth: str = "auto",
        members: int = 1,
        max_nodes: int | str | Sequence[int | None] | None = "auto",
        layers: int | None = None,
        activation: str | Sequence[str] = "sign",
        candidates: int | Sequence[int] = 100,
        lambdas: Sequence[float] = LAMBDAS,
        r_values: Sequence[float] = R_VALUES,
        search: str = "auto",
        criterion: str = "exact",
        tolerance: float = 0.0,
        weights: str = "binary",
        encoder: str = "thermometer:31",
        input_bits: int | str | None = "auto",
        inputs_per_node: InputsPerNode = (1, 2, 3),
        sign_pattern: SignPattern = 0.5,
        bias_range: BiasRange = "auto",
        stop_step: int = 20,
        stop_tolerance: float = 0.001,
        removal_tolerance: float | None = None,
        alpha: float = 0.001,
        ridge: float | str = "auto",
        readout: str = "squares",
        mechanism: object = None,
        validation_fraction: float = 0.1,
        removal: float = 0.0,
        search_rows: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        class_weight: str | Mapping[Any, float] | None = None,
        categories: Sequence[str | int] | None = None,
        missing: str = "code",
        interval: float | None = None,
        verbose: bool | int = False,
    ):
        self.luts = luts
        self.growth = growth
        self.members = members
        self.max_nodes = max_nodes
        self.layers = layers
        self.activation = activation
        self.candidates = candidates
        self.lambdas = lambdas
        self.r_values = r_values
        self.search = search
        self.criterion = criterion
        self.tolerance = tolerance
        self.weights = weights
        self.encoder = encoder
        self.input_bits = input_bits
        self.inputs_per_node = inputs_per_node
        self.sign_pattern = sign_pattern
        self.bias_range = bias_range
        self.stop_step = stop_step
        self.stop_tolerance = stop_tolerance
        self.removal_tolerance = removal_tolerance
        self.alpha = alpha
        self.ridge = ridge
        self.readout = readout
        self.mechanism = mechanism
        self.validation_fraction = validation_fraction
        self.removal = removal
        self.search_rows = search_rows
        self.random_state = random_state
        self.class_weight = class_weight
        self.categories = categories
        self.missing = missing
        self.interval = interval
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags

    def save(
        self,
        path: str | Path,
        X_test: ArrayLike | None = None,
        y_test: ArrayLike | None = None,
    ) -> None:
        """Write the trained machine to a model file.

        ``X_test`` and ``y_test`` are test rows that travel along, on which a build compares
        hardware with the model. A pipeline is saved whole by :func:`scm_train.save`.
        """
        check_is_fitted(self)
        model_file.save(with_test_rows(self.machine_, X_test, y_test), path)

    @classmethod
    def load(
        cls, path: str | Path, mechanism: Callable[[NDArray], ArrayLike] | None = None
    ) -> Self:
        """A trained estimator from a model file that this learner wrote."""
        machine = model_file.load(path, mechanism)
        if (machine.algorithm, machine.task) != (cls._algorithm, cls._task):
            raise ModelFileError(
                f"model file must hold a {cls._task} model of {cls._algorithm}, "
                f"not a {machine.task} model of {machine.algorithm}; "
                "load it with scm_train.model_file.load"
            )
        settings = machine.info.get("settings", {})
        own = {k: _untupled(v) for k, v in settings.items() if k in cls._get_param_names()}
        estimator = cls(**own)
        estimator._adopt(machine)
        return estimator

    def _adopt(self, machine: Model) -> None:
        self.machine_ = machine
        self.history_ = machine.history
        self.n_features_in_ = len(machine.signals)
        # Frames are matched with the names of training after loading too.
        self._keep_names(None if has_default_names(machine) else machine.signals)

    def _keep_names(self, names: Sequence[str] | None) -> None:
        """Keep the names of the columns, or forget those of an earlier fit."""
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _fit(self, task: TrainingTask, eval_set: tuple[NDArray, NDArray] | None) -> Self:
        parameters, train = self.get_params(deep=False), train_machine
        families = self._growth() == "families"
        if task.weights is not None and not families:
            raise ParameterError(
                "weights of rows and classes must be left out for growth by nodes; "
                "leave out what is asked for of single nodes, and it grows by families"
            )
        if families:
            train = train_by_families
        elif parameters["max_nodes"] == "auto":
            parameters["max_nodes"] = DEFAULT_NODES
        algorithm, random = ALGORITHMS[self._algorithm], check_random_state(self.random_state)
        if self.interval is not None:
            train = interval_trainer(train)
        self.machine_, self.history_ = train(algorithm, parameters, task, eval_set, random)
        return self

    def _training_rows(self, X: Any, y: ArrayLike, **how: Any) -> TrainingRows:
        rules = ColumnRules(() if self.categories is None else self.categories, self.missing)
        rows = training_rows(self, X, y, rules, self._code_bits(), **how)
        if self._input_range is not None:
            rows = replace(rows, input_range=self._input_range)
        return rows

    def _code_bits(self) -> int | str | None:
        if self._growth() == "families":
            return self.input_bits
        return input_bits_of(self.get_params(deep=False))

    def _growth(self) -> str:
        parameters = self.get_params(deep=False)
        return growth_of(ALGORITHMS[self._algorithm], parameters, _defaults(), self._task)

    def _fit_distributed(self, X: Any, y: Any, eval_set: object) -> Self:
        """Train on Dask arrays or frames, whose rows stay on the workers of their cluster."""
        names, targets = column_names(X), column_names(y)
        if eval_set is not None and isinstance(eval_set, tuple | list) and len(eval_set) == 2:
            eval_set = tuple(
                as_array(in_order(one, own))
                for one, own in zip(eval_set, (names, targets), strict=True)
            )
        if self.interval is not None:
            raise ParameterError("interval must be None for rows on a cluster")
        X, y = as_array(X), as_array(y)
        self._keep_names(names)
        self.n_features_in_ = X.shape[1]
        parameters, train = self.get_params(deep=False), train_distributed
        if self._growth() == "families":
            train = train_families_distributed
        elif parameters["max_nodes"] == "auto":
            parameters["max_nodes"] = DEFAULT_NODES
        self.machine_, self.history_ = train(
            ALGORITHMS[self._algorithm],
            parameters,
            X,
            y,
            eval_set,
            self._feature_names(),
            self._task == "classification",
            check_random_state(self.random_state),
        )
        return self

    def _decision(self, X: ArrayLike, depth: int = 0) -> NDArray[np.float64]:
        check_is_fitted(self)
        rows = in_memory(X)
        # Whatever else an array-like is asked for, scikit-learn's checks may refuse.
        if getattr(rows, "shape", (1,))[:1] == (0,) or (isinstance(rows, list) and not rows):
            raise DataError("rows to predict must be at least one, not none; check what chose them")
        if self.machine_.columns is None:
            rows = validate_data(self, rows, reset=False, dtype=_FLOATS)
        if clipped := clipped_columns(self.machine_, rows):
            # The level of whoever called `predict`, so many calls further out.
            warnings.warn("; ".join(clipping_lines(clipped)), ClippedWarning, stacklevel=3 + depth)
        return self.machine_.decision(rows)

    def _feature_names(self) -> tuple[str, ...]:
        named = getattr(self, "feature_names_in_", None)
        if named is not None:
            return tuple(map(str, named))
        return tuple(f"x{i}" for i in range(self.n_features_in_))


class Regressor(RegressorMixin, Learner):
    """Learns one real target or several."""

    _task = "regression"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        eval_set: tuple[ArrayLike, ArrayLike] | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Train on ``X`` (n, d) and ``y`` (n,) or (n, m).

        ``eval_set``: rows to validate on, ``(X, y)``, instead of some of the training rows.
        ``sample_weight``: what each row counts, for growth by families.
        """
        check_pair(eval_set)
        if self.class_weight is not None:
            raise ParameterError(
                f"class_weight must be None for targets, not {self.class_weight!r}"
            )
        if is_distributed(X):
            _check_no_weights(sample_weight)
            self._single = y.ndim == 1
            return self._fit_distributed(X, y, eval_set)
        if eval_set is not None:
            eval_set = (eval_set[0], in_order(eval_set[1], column_names(y)))
        given, rows = y, self._training_rows(X, y, multi_output=True, y_numeric=True)
        X, y = rows.x, rows.y
        self._single = y.ndim == 1
        targets = y.reshape(len(y), -1)
        low, high = targets.min(axis=0).astype(float), targets.max(axis=0).astype(float)
        task = TrainingTask(
            x=X,
            y=targets,
            target_min=low,
            # A constant target has no range to scale by; any will do.
            target_max=np.where(high > low, high, low + np.maximum(1.0, np.spacing(np.abs(low)))),
            feature_names=rows.names or self._feature_names(),
            target_names=target_names(given, len(low)),
            weights=_row_weights(X, sample_weight),
            columns=rows.columns,
            input_range=rows.input_range,
            input_bits=rows.bits,
        )
        return self._fit(task, self._evaluation(eval_set, rows, targets.shape[1]))

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Targets in their own units, (n,) or (n, m) as in training."""
        y = self._raw(X)[:, : self.machine_.points]
        return y[:, 0] if self._single else y

    def predict_interval(self, X: ArrayLike) -> NDArray[np.float64]:
        """Lower and upper bounds, (n, 2) or (n, m, 2); for a regressor that has an ``interval``."""
        check_is_fitted(self)
        if self.machine_.level is None:
            raise ParameterError("interval must be set before fit for bounds, such as interval=0.9")
        found = self._raw(X)[:, self.machine_.points :]
        return found if self._single else found.reshape(len(found), -1, 2)

    def _raw(self, X: ArrayLike) -> NDArray[np.float64]:
        """All outputs in the units of the targets."""
        machine_units = self._decision(X, depth=1)
        span = self.machine_.target_max - self.machine_.target_min
        return np.asarray(self.machine_.target_min + span * machine_units)

    def _evaluation(
        self, eval_set: tuple[ArrayLike, ArrayLike] | None, rows: TrainingRows, outputs: int
    ) -> tuple[NDArray, NDArray] | None:
        if eval_set is None:
            return None
        X, y = further_rows(self, *eval_set, rows, multi_output=True, y_numeric=True)
        targets = y.reshape(len(y), -1)
        if targets.shape[1] != outputs:
            raise DataError(
                f"targets of eval_set must be {outputs} per row as in training, "
                f"not {targets.shape[1]}"
            )
        return X, targets

    def refit(self, X: ArrayLike, y: ArrayLike, ridge: float = REFIT_RIDGE) -> Self:
        """Fit the readout again on other rows, (n, d) and (n,) or (n, m); the nodes stay.

        ``ridge`` holds it to the one that is there, for each row.
        """
        check_is_fitted(self)
        targets = np.asarray(y, dtype=np.float64).reshape(len(X), -1)
        self.machine_ = refit(self.machine_, X, targets, ridge)
        return self

    def _adopt(self, machine: Model) -> None:
        super()._adopt(machine)
        self._single = machine.points == 1


class Classifier(ClassifierMixin, Learner):
    """Learns one target per class, 1 for its rows and 0 for others; the largest output wins."""

    _task = "classification"

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        eval_set: tuple[ArrayLike, ArrayLike] | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Train on ``X`` (n, d) and labels ``y`` (n,) of any type.

        ``eval_set``: rows to validate on, ``(X, y)``, instead of some of the training rows.
        ``sample_weight``: what each row counts, for growth by families.
        """
        check_pair(eval_set)
        if self.interval is not None:
            raise ParameterError(
                f"interval must be None for classes, not {self.interval!r}; it is for targets"
            )
        if is_distributed(X):
            _check_no_weights(sample_weight, self.class_weight)
            self._fit_distributed(X, y, eval_set)
            self.classes_ = self.machine_.labels
            return self
        rows = self._training_rows(X, y, labels=True)
        X, y = rows.x, rows.y
        check_classification_targets(y)
        self.classes_, indices = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise DataError(
                f"labels must be of at least two classes, not of one class {self.classes_[0]!r}"
            )
        count = len(self.classes_)
        task = TrainingTask(
            x=X,
            y=_indicators(indices, count),
            target_min=np.zeros(count),
            target_max=np.ones(count),
            feature_names=rows.names or self._feature_names(),
            target_names=tuple(map(str, self.classes_.tolist())),
            classes=tuple(self.classes_.tolist()),
            weights=_row_weights(X, sample_weight, self._class_weights(indices)),
            columns=rows.columns,
            input_range=rows.input_range,
            input_bits=rows.bits,
        )
        return self._fit(task, self._evaluation(eval_set, rows))

    def _class_weights(self, indices: NDArray) -> NDArray[np.float64] | None:
        """What each row counts for its class."""
        if self.class_weight is None:
            return None
        weights = compute_sample_weight(self.class_weight, self.classes_[indices])
        return np.asarray(weights, dtype=np.float64)

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Outputs (n, classes); for two classes the second less the first, (n,)."""
        outputs = self._decision(X)
        if outputs.shape[1] == 1:
            return outputs[:, 0]
        return outputs[:, 1] - outputs[:, 0] if outputs.shape[1] == 2 else outputs

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Probabilities (n, classes).

        Families are fitted to logarithmic loss, and their outputs are log-odds. Single nodes are
        fitted to indicators, 1 for the class and 0 for the others, unless ``readout`` is
        "logistic": what a slope makes of these is in the order of the outputs, and no more.
        """
        outputs = self._decision(X)
        settings = self.machine_.info.get("settings", {})
        log_odds = self.machine_.families is not None or settings.get("readout") == "logistic"
        slope = 1.0 if log_odds else INDICATOR_SLOPE
        return probabilities(slope * outputs.T).T

    def predict(self, X: ArrayLike) -> NDArray:
        """Labels (n,)."""
        winners = classes_of(self._decision(X))
        return self.classes_[winners]

    def _evaluation(
        self, eval_set: tuple[ArrayLike, ArrayLike] | None, rows: TrainingRows
    ) -> tuple[NDArray, NDArray] | None:
        if eval_set is None:
            return None
        X, y = further_rows(self, *eval_set, rows)
        unknown = set(np.unique(y)) - set(self.classes_)
        if unknown:
            raise DataError(
                f"labels of eval_set must be among those of training, not {sorted(unknown)[0]!r}"
            )
        return X, _indicators(np.searchsorted(self.classes_, y), len(self.classes_))

    def refit(self, X: ArrayLike, y: ArrayLike, ridge: float = REFIT_RIDGE) -> Self:
        """Fit the readout again on other rows and labels of the classes there are; the nodes stay.

        ``ridge`` holds it to the one that is there, for each row.
        """
        check_is_fitted(self)
        self.machine_ = refit(self.machine_, X, class_indices(self.machine_, np.asarray(y)), ridge)
        return self

    def _adopt(self, machine: Model) -> None:
        super()._adopt(machine)
        self.classes_ = machine.labels


def _row_weights(
    X: NDArray, given: ArrayLike | None, of_classes: NDArray[np.float64] | None = None
) -> NDArray[np.float64] | None:
    """What each row counts; None where all count the same."""
    if given is None:
        return of_classes
    weights = _check_sample_weight(given, X, dtype=np.float64, ensure_non_negative=True)
    if not weights.any():
        raise DataError("sample_weight must be positive for some row, not 0 for all")
    if of_classes is not None:
        return weights * of_classes
    return None if (weights == weights[0]).all() else weights


def _check_no_weights(*weights: object) -> None:
    if any(one is not None for one in weights):
        raise ParameterError("weights of rows and classes must be None for rows on a cluster")


def _defaults() -> dict[str, Any]:
    """The parameters of an estimator that is given none."""
    return {k: p.default for k, p in signature(Learner).parameters.items()}


def _indicators(indices: NDArray, count: int) -> NDArray[np.float64]:
    indicators = np.zeros((len(indices), count))
    indicators[np.arange(len(indices)), indices] = 1.0
    return indicators


def _untupled(value: Any) -> Any:
    """Undo what JSON does to tuples and to a mapping's whole-number keys."""
    if isinstance(value, list):
        return tuple(map(_untupled, value))
    if isinstance(value, Mapping):
        return {int(k): v for k, v in value.items()}
    return value
