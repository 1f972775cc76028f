"""The parameters of the estimators, their defaults, and the paper's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import signature
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from scm_train.search.candidates import BiasRange, InputsPerNode, SignPattern
from scm_train.training.parameters import LAMBDAS, R_VALUES


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


class LearnerParameters(BaseEstimator):
    """The parameters of all estimators.

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
        Rows on which nodes are configured, their validation included: this many at random, if there
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
    loss : "squared_error" or "huber"
        Of a regressor: with ``"huber"`` rows whose targets lie far off count less, by reweighted
        least squares with weights from the scale of the residuals. ``history_.outliers`` has
        their numbers.
    unsure : float or None
        Of a classifier: the share of rows that may be answered wrongly without being flagged, such
        as 0.05. The machine has its margin and the flag ``unsure`` as further outputs. A fifth of
        the training rows is held back to calibrate it.
    flags : float or None
        The share of false alarms, such as 0.01, of the flag ``novel``: a further output that is
        set for rows whose hidden bits are unlike those of training. The same rows are held back.
    verbose : bool
        Show a progress bar, on a terminal.
    """

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
        loss: str = "squared_error",
        unsure: float | None = None,
        flags: float | None = None,
        verbose: bool | int = False,
    ):
        # Values are stored as they were given and checked in fit, as scikit-learn's clone asks for.
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
        self.loss = loss
        self.unsure = unsure
        self.flags = flags
        self.verbose = verbose


def defaults() -> dict[str, Any]:
    """The parameters of an estimator that is given none."""
    return {k: p.default for k, p in signature(LearnerParameters).parameters.items()}
