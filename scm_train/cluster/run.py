"""Training on a cluster: rows in the chunks of Dask arrays, which stay on their workers.

Client and workers exchange candidates, nodes, and sums over rows; what the client holds does not
grow with the rows. Draws are those of training on one machine, and so are the nodes; the readout is
the same but for the order in which sums are added. Families are the same to the bit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from scm_model import Encoder, Mechanism, Model
from scm_model.mechanism import call_mechanism
from scm_model.scaling import to_unit
from scm_train.algorithms import Algorithm
from scm_train.cluster.coordinator import Cluster, Division
from scm_train.cluster.families import FamilyCluster, RemoteProblem, problem_of_rows
from scm_train.cluster.remote import RemoteRows, RemoteScoring
from scm_train.cluster.shards import Floats, Frame
from scm_train.encode.encoders import fit_encoder, parse_encoder
from scm_train.encode.resolution import plain_codes
from scm_train.errors import DataError, ParameterError
from scm_train.growth.engine import fit
from scm_train.history import History
from scm_train.mechanisms.specification import CHECKED_ROWS, External, Nothing, as_mechanism
from scm_train.progress import progress_bar
from scm_train.search.search import Search
from scm_train.training.parameters import (
    check_draws,
    check_readout,
    draw_of,
    input_bits_of,
    settings_of,
)
from scm_train.training.run import (
    ENCODER_ROWS,
    TrainingTask,
    check_span,
    machine_of,
    machine_of_families,
    run_info,
)
from scm_train.training.targets import with_range

__all__ = ["as_array", "is_distributed", "train_distributed", "train_families_distributed"]


def is_distributed(x: object) -> bool:
    """Whether an array is one of Dask's."""
    return hasattr(x, "__dask_graph__")


def as_array(x: Any) -> Any:
    """The array of a Dask frame or series; anything else as it is."""
    # With the lengths of its chunks, by which rows have numbers.
    return x.to_dask_array(lengths=True) if hasattr(x, "to_dask_array") else x


def train_distributed(
    algorithm: Algorithm,
    parameters: dict[str, Any],
    x: Any,
    y: Any,
    eval_set: tuple[Any, Any] | None,
    feature_names: tuple[str, ...],
    classifier: bool,
    random: np.random.RandomState,
) -> tuple[Model, History]:
    """Train on Dask arrays (n, d) and (n,) or (n, m); see :func:`scm_train.training.run`.

    ``eval_set`` may be of Dask arrays too, or of arrays in memory.
    """
    client = _client()
    x, y = _by_rows(x, y)
    seed = int(random.randint(np.iinfo(np.int32).max))
    if parameters["search"] == "pool":
        raise ParameterError("search must be 'fresh' for rows on a cluster, not 'pool'")
    check_readout(parameters, classifier, distributed=True)
    settings = settings_of(algorithm, parameters | {"search": "fresh"}, refit=eval_set is None)
    rng = np.random.default_rng(seed)
    frame = _frame(x, y, parameters, classifier, feature_names, _encoder)
    check_draws(settings, frame.encoder.width)
    if eval_set is not None:
        eval_set = _evaluation(eval_set, x, y, frame)
    needed = eval_set is None and (settings.early_stopping or settings.ridge == "auto")
    fraction = parameters["validation_fraction"] if needed else 0
    division = Division(fraction, parameters["search_rows"])
    cluster = Cluster(client, x, y, eval_set, frame, division, rng)
    history = History()
    draw, scoring = draw_of(algorithm, parameters), RemoteScoring(cluster)
    search = Search(settings.search, draw, rng, scoring, history)
    with progress_bar(parameters["verbose"], settings.most_nodes) as report:
        fitted = fit(RemoteRows(cluster), settings, search, history, report)
    info = run_info(parameters, seed, fitted, history)
    task, span = _task(y, frame, feature_names), (frame.low, frame.high)
    machine = machine_of(
        algorithm, task, fitted, frame.encoder, frame.mechanism, span, info, history
    )
    return machine, history


def train_families_distributed(
    algorithm: Algorithm,
    parameters: dict[str, Any],
    x: Any,
    y: Any,
    eval_set: tuple[Any, Any] | None,
    feature_names: tuple[str, ...],
    classifier: bool,
    random: np.random.RandomState,
) -> tuple[Model, History]:
    """Likewise by families. The rows of ``eval_set`` come to the client."""
    client = _client()
    x, y = _by_rows(x, y)
    seed = int(random.randint(np.iinfo(np.int32).max))
    frame = _frame(x, y, parameters, classifier, feature_names, plain_codes)
    unseen = None
    if eval_set is not None:
        rows = [one.compute() for one in _evaluation(eval_set, x, y, frame)]
        unseen = problem_of_rows(*rows, frame)
    # All rows are for training; which of them choose follows from their numbers.
    everything = Division(0.0, None)
    cluster = FamilyCluster(client, x, y, None, frame, everything, np.random.default_rng(seed))
    task, span = _task(y, frame, feature_names), (frame.low, frame.high)
    return machine_of_families(
        RemoteProblem(cluster),
        unseen,
        algorithm,
        parameters,
        task,
        frame.encoder,
        frame.mechanism,
        span,
        seed,
    )


def _client() -> Any:
    try:
        from distributed import get_client

        return get_client()
    except ImportError:
        raise ParameterError(
            "can't train on Dask arrays: distributed is not installed; "
            "run `pip install 'scm-hw[cluster]'`"
        ) from None
    except ValueError:
        raise ParameterError(
            "can't train on Dask arrays: no client is connected to a cluster; create a "
            "distributed.Client first"
        ) from None


def _by_rows(x: Any, y: Any) -> tuple[Any, Any]:
    """Both arrays in the same chunks of whole rows."""
    if not is_distributed(y):
        raise DataError("targets must be a Dask array as the inputs are, not an array in memory")
    if np.isnan(x.shape[0]):
        x.compute_chunk_sizes()
    if np.isnan(y.shape[0]):
        y.compute_chunk_sizes()
    if x.ndim != 2 or y.ndim not in (1, 2) or len(x) != len(y):
        raise DataError(
            f"inputs and targets must have as many rows, not shapes {x.shape} and {y.shape}"
        )
    # A node may see any input, and a chunk must have all of a row.
    x = x.rechunk({1: -1})
    rows = {0: x.chunks[0]}
    return x, y.rechunk(rows if y.ndim == 1 else rows | {1: -1})


def _evaluation(eval_set: tuple[Any, Any], x: Any, y: Any, frame: Frame) -> tuple[Any, Any]:
    """Rows to validate on, as Dask arrays that go with those of training."""
    import dask.array as da

    if not isinstance(eval_set, tuple | list) or len(eval_set) != 2:
        raise ParameterError("eval_set must be a pair of inputs and targets; pass (X, y)")
    own = [one if is_distributed(one) else da.from_array(np.asarray(one)) for one in eval_set]
    held_x, held_y = _by_rows(*own)
    if held_x.shape[1] != x.shape[1] or held_y.shape[1:] != y.shape[1:]:
        raise DataError(
            f"eval_set must have the columns of training, {x.shape[1:]} and {y.shape[1:]}, not "
            f"{held_x.shape[1:]} and {held_y.shape[1:]}"
        )
    if not da.isfinite(held_x).all().compute():
        raise DataError("inputs of eval_set must be finite, not NaN or infinite; drop those rows")
    if frame.classes is None:
        if not da.isfinite(held_y).all().compute():
            raise DataError("targets of eval_set must be finite, not NaN; drop those rows")
        return held_x, held_y
    unknown = set(da.unique(held_y).compute().tolist()) - set(frame.classes.tolist())
    if unknown:
        raise DataError(
            f"labels of eval_set must be among those of training, not {sorted(unknown)[0]!r}"
        )
    return held_x, held_y


def _mechanism(
    parameters: dict[str, Any], x: Any, frame: Frame, names: tuple[str, ...]
) -> Mechanism:
    """The mechanism, fitted to the rows that training in memory would fit it to."""
    import dask

    spec = as_mechanism(parameters["mechanism"])
    span = (frame.target_min, frame.target_max)
    if isinstance(spec, External):
        spec = spec.named(names)
        parts = [
            dask.delayed(_reach)(spec.function, chunk, *span) for chunk in x.to_delayed().ravel()
        ]
        reach = np.array(_computed(parts, spec.function))
        return spec.reaching(np.stack([reach[:, 0].min(axis=0), reach[:, 1].max(axis=0)]))
    rows = np.empty((0, x.shape[1]))
    if not isinstance(spec, Nothing):
        rows = x[:: -(-len(x) // CHECKED_ROWS)].compute()
    return spec.bind(rows, frame.low, frame.high, *span, frame.encoder, names)


def _computed(parts: list[Any], function: Any) -> Any:
    import dask

    try:
        return dask.compute(*parts)
    except RuntimeError as error:
        if "deserializ" not in str(error):
            raise
        raise ParameterError(
            f"mechanism must be a function that the workers can import, not {function!r}; put its "
            "module where scheduler and workers find it"
        ) from None


def _reach(function: Any, x: Any, target_min: Floats, target_max: Floats) -> Floats:
    """The least and the greatest values (2, m) of a mechanism on some rows."""
    values = call_mechanism(function, x, target_min, target_max)
    return np.stack([values.min(axis=0), values.max(axis=0)])


def _frame(
    x: Any,
    y: Any,
    parameters: dict[str, Any],
    classifier: bool,
    names: tuple[str, ...],
    encoder_of: Callable[..., Encoder],
) -> Frame:
    """One pass over the rows for their ranges, and another over some of them for the encoder."""
    import dask
    import dask.array as da

    wanted = [x.min(axis=0), x.max(axis=0), da.isfinite(x).all()]
    wanted += [da.unique(y)] if classifier else [y.min(axis=0), y.max(axis=0), da.isfinite(y).all()]
    low, high, finite, *rest = dask.compute(*wanted)
    low, high = low.astype(np.float64), high.astype(np.float64)
    if not finite or not (classifier or rest[2]):
        raise DataError("inputs and targets must be finite, not NaN or infinite; drop those rows")
    check_span("inputs", low, high, names)
    high = with_range(low, high)
    encoder = encoder_of(parameters, x, low, high)
    if classifier:
        classes = np.asarray(rest[0])
        if len(classes) < 2:
            raise DataError(f"labels must be of at least two classes, not of one {classes[0]!r}")
        ends = (np.zeros(len(classes)), np.ones(len(classes)))
        frame = Frame(low, high, *ends, encoder, classes)
    else:
        least, most = (np.atleast_1d(value).astype(np.float64) for value in rest[:2])
        frame = Frame(low, high, least, with_range(least, most), encoder)
    return replace(frame, mechanism=_mechanism(parameters, x, frame, names))


def _encoder(parameters: dict[str, Any], x: Any, low: Floats, high: Floats) -> Encoder:
    sample = np.zeros((1, x.shape[1]))
    if parse_encoder(parameters["encoder"])[2] == "quantile":
        sample = to_unit(x[:: -(-len(x) // ENCODER_ROWS)].compute(), low, high)
    return fit_encoder(parameters["encoder"], sample, input_bits=input_bits_of(parameters))


def _task(y: Any, frame: Frame, feature_names: tuple[str, ...]) -> TrainingTask:
    """The task, with the ranges in the place of the rows."""
    names = ("y",) if y.ndim == 1 else tuple(f"y{i}" for i in range(y.shape[1]))
    classes = None
    if frame.classes is not None:
        classes = tuple(frame.classes.tolist())
        names = tuple(map(str, classes))
    x, t = np.stack([frame.low, frame.high]), np.stack([frame.target_min, frame.target_max])
    return TrainingTask(x, t, frame.target_min, frame.target_max, feature_names, names, classes)
