"""Training on a cluster: rows in the chunks of Dask arrays, which stay on their workers.

Client and workers exchange candidates, nodes, and sums over rows; what the client holds does not
grow with the rows. Draws are those of training on one machine, and so are the nodes; the readout is
the same but for the order in which sums are added.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scm_train._cluster import Cluster
from scm_train._parameters import Algorithm, draw_of, input_bits_of, settings_of
from scm_train._remote import RemoteGrowth, RemoteSearch
from scm_train._shards import Floats, Frame
from scm_train._training import ENCODER_ROWS, Task, _info, _machine
from scm_train.draws import Draws
from scm_train.encoders import Encoder, fit_encoder, parse_encoder
from scm_train.engine import Fitted, Settings
from scm_train.errors import DataError, ParameterError
from scm_train.history import History
from scm_train.machine import Machine
from scm_train.mechanisms import as_mechanism
from scm_train.progress import progress_bar
from scm_train.scaling import to_unit

__all__ = ["is_distributed", "train_distributed"]


def is_distributed(x: object) -> bool:
    """Whether an array is one of Dask's."""
    return hasattr(x, "__dask_graph__")


def train_distributed(
    algorithm: Algorithm,
    parameters: dict[str, Any],
    x: Any,
    y: Any,
    feature_names: tuple[str, ...],
    classifier: bool,
    random: np.random.RandomState,
) -> tuple[Machine, History]:
    """Train on Dask arrays (n, d) and (n,) or (n, m); see :func:`scm_train._training`."""
    for name in ("mechanism", "search_rows"):
        if parameters.get(name) is not None:
            raise ParameterError(
                f"{name} must be None on Dask arrays, not {parameters[name]!r}; train on arrays "
                "in memory to use it"
            )
    client = _client()
    x, y = _by_rows(x, y)
    seed = int(random.randint(np.iinfo(np.int32).max))
    settings = settings_of(algorithm, parameters, refit=True)
    rng = np.random.default_rng(seed)
    frame = _frame(x, y, parameters, classifier)
    needed = settings.early_stopping or settings.ridge == "auto"
    fraction = parameters["validation_fraction"] if needed else 0
    cluster = Cluster(client, x, y, frame, fraction, rng)
    history = History()
    search = RemoteSearch(settings.search, Draws(draw_of(algorithm, parameters), rng), history)
    limit = None if None in settings.max_nodes else sum(n or 0 for n in settings.max_nodes)
    with progress_bar(parameters["verbose"], limit) as report:
        fitted = _train(cluster, settings, search, history, report)
    info = _info(parameters, seed, fitted, history)
    task = _task(x, y, frame, feature_names)
    span = (frame.low, frame.high)
    none = as_mechanism(None).bind(
        np.empty((0, x.shape[1])), *span, task.target_min, task.target_max, frame.encoder
    )
    return _machine(algorithm, task, fitted, frame.encoder, none, span, info, history), history


def _client() -> Any:
    try:
        from distributed import get_client

        return get_client()
    except ImportError:
        raise ParameterError(
            "Dask arrays must come with distributed, not found; run pip install 'scm-hw[cluster]'"
        ) from None
    except ValueError:
        raise ParameterError(
            "Dask arrays must come with a client of a cluster, not none; make a "
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
    x = x.rechunk({1: -1})
    rows = {0: x.chunks[0]}
    return x, y.rechunk(rows if y.ndim == 1 else rows | {1: -1})


def _frame(x: Any, y: Any, parameters: dict[str, Any], classifier: bool) -> Frame:
    """One pass over the rows for their ranges, and another for quantile thresholds."""
    import dask
    import dask.array as da

    wanted = [x.min(axis=0), x.max(axis=0), da.isfinite(x).all()]
    wanted += [da.unique(y)] if classifier else [y.min(axis=0), y.max(axis=0), da.isfinite(y).all()]
    low, high, finite, *rest = dask.compute(*wanted)
    low, high = low.astype(np.float64), high.astype(np.float64)
    if not finite or not (classifier or rest[2]):
        raise DataError("inputs and targets must be finite, not NaN or infinite; drop those rows")
    encoder = _encoder(parameters, x, low, high)
    if classifier:
        classes = np.asarray(rest[0])
        if len(classes) < 2:
            raise DataError(f"labels must be of at least two classes, not of one {classes[0]!r}")
        return Frame(low, high, np.zeros(len(classes)), np.ones(len(classes)), encoder, classes)
    least, most = (np.atleast_1d(value).astype(np.float64) for value in rest[:2])
    # A constant target has no range to scale by; any will do.
    return Frame(low, high, least, np.where(most > least, most, least + 1), encoder)


def _encoder(parameters: dict[str, Any], x: Any, low: Floats, high: Floats) -> Encoder:
    sample = np.zeros((1, x.shape[1]))
    if parse_encoder(parameters["encoder"])[2] == "quantile":
        sample = to_unit(x[:: -(-len(x) // ENCODER_ROWS)].compute(), low, high)
    return fit_encoder(parameters["encoder"], sample, input_bits=input_bits_of(parameters))


def _task(x: Any, y: Any, frame: Frame, feature_names: tuple[str, ...]) -> Task:
    names = ("y",) if y.ndim == 1 else tuple(f"y{i}" for i in range(y.shape[1]))
    classes = None
    if frame.classes is not None:
        classes = tuple(frame.classes.tolist())
        names = tuple(map(str, classes))
    return Task(x, y, frame.target_min, frame.target_max, feature_names, names, classes)


def _train(
    cluster: Cluster, settings: Settings, search: RemoteSearch, history: History, report: Any
) -> Fitted:
    """As :func:`scm_train.engine.train`."""
    with history.phase("lasso"):
        linear = cluster.linear(settings)
        history.selected_inputs = linear.selected
    growth = RemoteGrowth(cluster, linear, settings, search, history, report)
    for number in range(len(settings.activations)):
        if growth.finished or not growth.add_layer(number):
            break
    with history.phase("readout_update"):
        readout = growth.solve(linear, None)
    train_rmse, validation_rmse = growth.errors(readout)
    return Fitted(growth.layers(), readout, linear, train_rmse, validation_rmse)
