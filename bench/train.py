"""How fast the trainer is, as ratios taken within one run.

    python -m bench.train [--quick] [--json FILE]

Against the textbook way of training (``bench.textbook``) on abalone, and against CatBoost with its
defaults on the simulated servo, 5,145,084 training rows or, with ``--quick``, a tenth of them. All
ratios are above 1 where this trainer is the better one.

``speedup_vs_textbook`` is taken with sign nodes on the estimators' default encoder, scales and
sequence of r; every node sees all inputs and is chosen by the paper's criterion, as the textbook
has it. ``speedup_vs_textbook_sigmoid`` is the paper's own setting, sigmoid nodes on real inputs:
there the textbook's loop is as good as vectorised, its time goes into exponentials over all rows,
and these are what both ways share. Both are ratios of processor times, each way on one thread, in
turns, the least of several runs as the least disturbed. ``same_nodes_as_textbook`` is true if both
settings chose the textbook's nodes, all of them. With the extra ``fast`` the innermost loop is
compiled, before the clock starts; ``speedup_vs_textbook_numpy`` is the first figure without it.

``pool`` is growth by single nodes from a pool on made-up rows, 13,500 x 26 without those held back:
the processor time of 200 nodes relative to histogram boosting's (``boosting_time_ratio``, here
below 2 where ours is fast enough) and to that of fresh draws, test errors relative to both, the
time of twice as many nodes relative to that of 200, and the seconds of 2 x 1,000 nodes. All of it
is on one thread.

``catboost_time_ratio`` and ``catboost_rmse_ratio`` are of the setting of SCM that
``compared_with_catboost`` names; those of the others are with their figures. It is the one with the
least error on validation rows, which it splits off its training rows itself; test rows decide
nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter, process_time
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

from bench.textbook import TextbookNode, textbook_scn
from scm_model import Layer
from scm_model.scaling import to_unit
from scm_train import SCMRegressor, SCNRegressor, datasets, paper_settings
from scm_train.chunks import ChunkMap
from scm_train.encode.encoders import fit_encoder
from scm_train.encode.rows import ScaledRows
from scm_train.errors import ClippedWarning
from scm_train.growth.engine import Part, train
from scm_train.growth.settings import Settings
from scm_train.history import History
from scm_train.search import kernels
from scm_train.search.candidates import CandidateDraw
from scm_train.search.layer_inputs import first_inputs
from scm_train.search.search import SearchSettings
from scm_train.training.parameters import input_bits_of

#: The small case: nodes and candidates per draw.
NODES, CANDIDATES = 100, 100
#: Of the large case a tenth, for ``--quick``.
QUICK_CONFIGURATIONS = 841
#: Runs of either way in the small case.
REPEATS = 5

#: The large case. With 40 nodes and T_max 50: to the paper's letter, with what this trainer adds to
#: it (selective nodes, the exact criterion, steeper scales first), and as hardware takes it. And as
#: we would have it for data of this size: many nodes, found on some of the rows, smooth ones or
#: signs, and families.
_LARGE = {"max_nodes": 40, "layers": 1, "candidates": 50}
_CODED = {"encoder": "thermometer:31:quantile"}
LARGE = {
    "paper": paper_settings(**_LARGE),
    "sigmoid": paper_settings(
        **_LARGE, criterion="exact", inputs_per_node=(2, 3), lambdas=(30.0, 50.0, 100.0)
    ),
    "sign": _LARGE | _CODED,
    "many": paper_settings(
        max_nodes=400,
        layers=1,
        activation="tanh",
        criterion="exact",
        inputs_per_node=(2, 3),
        lambdas=(20.0,),
        r_values=(0.999999,),
        search_rows=40_000,
        # Steps are small with so many nodes, and ten of them say little.
        stop_step=100,
    ),
    "families": {"luts": 10_000},
    # Hardware takes it as it is: thresholds, and nodes of a few of them. No layer ends early.
    "two sign layers": {
        "max_nodes": (500, 700),
        "encoder": "none",
        "inputs_per_node": (1, 2, 3),
        "search_rows": 40_000,
        "stop_step": 1000,
    },
}


#: The pool: all rows, a tenth of which are held back, features, and nodes of one layer.
POOL_ROWS, POOL_FEATURES, POOL_NODES = 15_000, 26, 200


def pool_case(quick: bool) -> dict[str, float]:
    """Nodes from a pool beside histogram boosting and fresh draws."""
    rng = np.random.default_rng(0)
    x = rng.random((2 * POOL_ROWS, POOL_FEATURES))
    y = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3]
    y += 5 * x[:, 4] + 5 * (x[:, 5] > 0.5) * (x[:, 6] > 0.3) + 3 * np.sin(12 * x[:, 7])
    y += 0.5 * rng.standard_normal(len(y))

    def run(model: Any) -> tuple[float, float]:
        seconds, _ = _timed(lambda: model.fit(x[:POOL_ROWS], y[:POOL_ROWS]))
        # Rows just beyond the training range say nothing about the time.
        with warnings.catch_warnings(action="ignore", category=ClippedWarning):
            error = model.predict(x[POOL_ROWS:]) - y[POOL_ROWS:]
        return seconds, float(np.sqrt(np.mean(error**2)))

    def ours(nodes: Any, search: str = "pool") -> tuple[float, float]:
        # No layer ends before its limit.
        settings = {"encoder": "none", "stop_step": 10_000, "random_state": 0}
        return run(SCMRegressor(max_nodes=nodes, search=search, **settings))

    with threadpool_limits(limits=1), mock.patch("scm_train.chunks._cores", lambda: 1):
        ours(2)
        seconds, rmse = ours(POOL_NODES)
        boosting_seconds, boosting_rmse = run(HistGradientBoostingRegressor(random_state=0))
        fresh_seconds, fresh_rmse = ours(POOL_NODES, "fresh")
        figures = {
            "seconds": seconds,
            "boosting_time_ratio": seconds / boosting_seconds,
            "boosting_rmse_ratio": rmse / boosting_rmse,
            "fresh_time_ratio": seconds / fresh_seconds,
            "fresh_rmse_ratio": rmse / fresh_rmse,
            "twice_the_nodes_time_ratio": ours(2 * POOL_NODES)[0] / seconds,
        }
        if not quick:
            figures["seconds_of_2x1000"] = ours((1000, 1000))[0]
    return figures


class SmallCase:
    """One layer of nodes on abalone by the paper's criterion, all inputs to every node."""

    def __init__(self, parameters: dict[str, Any]):
        estimator = SCNRegressor(**parameters)
        parameters = estimator.get_params()
        self.activation: str = estimator.activation
        self.draw = CandidateDraw("binary", None, "free", estimator.bias_range)
        self.search = SearchSettings(tuple(estimator.lambdas), tuple(estimator.r_values), "paper")
        data = datasets.load("abalone")
        low, high = data.X.min(axis=0), data.X.max(axis=0)
        unit = to_unit(data.X, low, high)
        encoder = fit_encoder(estimator.encoder, unit, input_bits=input_bits_of(parameters))
        targets = to_unit(data.y[:, None], data.y.min(keepdims=True), data.y.max(keepdims=True))
        self.part = Part(ScaledRows(data.X, low, high, encoder), targets)

    def ours(self) -> Layer:
        settings = Settings((NODES,), (self.activation,), (CANDIDATES,), self.search)
        fitted = train(
            self.part,
            None,
            settings,
            self.draw,
            np.random.default_rng(0),
            history=History(),
            chunk_map=ChunkMap(None),
            report=lambda *_: None,
        )
        return fitted.layers[0]

    def ours_in_numpy(self) -> Layer:
        with mock.patch.object(kernels, "loops", None):
            return self.ours()

    def textbook(self) -> list[TextbookNode]:
        nodes, _ = textbook_scn(
            first_inputs(self.part.rows),
            self.part.targets,
            draw=self.draw,
            rng=np.random.default_rng(0),
            nodes=NODES,
            candidates=CANDIDATES,
            activation=self.activation,
            lambdas=self.search.lambdas,
            r_values=self.search.r_values,
        )
        return nodes


SMALL: dict[str, dict[str, Any]] = {"sign": {}, "sigmoid": paper_settings()}


def against_textbook(case: SmallCase) -> dict[str, Any]:
    """Times of both ways from the same draws, and for how many nodes they agree."""
    # With several threads of linear algebra the textbook's small products wait for each other.
    with threadpool_limits(limits=1, user_api="blas"):
        case.ours()
        runs = [
            (*_timed(case.ours), *_timed(case.textbook), _timed(case.ours_in_numpy)[0])
            for _ in range(REPEATS)
        ]
    seconds, textbook_seconds = min(run[0] for run in runs), min(run[2] for run in runs)
    numpy_seconds = min(run[4] for run in runs)
    _, layer, _, nodes, _ = runs[0]
    agree = [
        np.array_equal(node.weights, weights) and node.bias == bias and node.lambda_ == lambda_
        for node, weights, bias, lambda_ in zip(
            nodes, layer.weights, layer.biases, layer.lambdas, strict=False
        )
    ]
    return {
        "seconds": seconds,
        "textbook_seconds": textbook_seconds,
        "numpy_seconds": numpy_seconds,
        "speedup": textbook_seconds / seconds,
        "numpy_speedup": textbook_seconds / numpy_seconds,
        "same_nodes": len(nodes) == layer.nodes and all(agree),
        "same_first_nodes": int(np.argmin([*agree, False])),
        "nodes": layer.nodes,
    }


def _timed(function: Callable[[], Any]) -> tuple[float, Any]:
    """Processor time, which other work on the machine disturbs less than it does the clock's."""
    start = process_time()
    result = function()
    return process_time() - start, result


def large_case(quick: bool, names: Sequence[str]) -> tuple[dict[str, Any], float]:
    """Some settings and CatBoost on the simulated servo; their figures and the peak memory."""
    catboost = _catboost()
    configurations = QUICK_CONFIGURATIONS if quick else None
    data = datasets.load("servo_sim_full", dtype=np.float32, configurations=configurations)
    rows = data.train_rows
    assert rows is not None
    train_part, test_part = (data.X[:rows], data.y[:rows]), (data.X[rows:], data.y[rows:])
    figures: dict[str, Any] = {"rows": rows, "data": data.description}
    for name in names:
        model = SCMRegressor(random_state=0, **LARGE[name])
        figures[name] = _measured(model, train_part, test_part)
        figures[name] |= {
            "validation_rmse": _validation_rmse(model),
            "nodes": sum(model.machine_.nodes),
            "phases": model.history_.seconds,
        }
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    model = catboost.CatBoostRegressor(
        thread_count=_cores(), verbose=False, allow_writing_files=False
    )
    figures["catboost"] = theirs = _measured(model, train_part, test_part)
    for name in names:
        figures[name] |= {
            "catboost_time_ratio": theirs["seconds"] / figures[name]["seconds"],
            "catboost_rmse_ratio": theirs["rmse"] / figures[name]["rmse"],
        }
    return figures, peak


def _measured(
    model: Any, train_part: tuple[NDArray, NDArray], test_part: tuple[NDArray, NDArray]
) -> dict[str, float]:
    start = perf_counter()
    model.fit(*train_part)
    seconds = perf_counter() - start
    error = model.predict(test_part[0]) - test_part[1]
    return {"seconds": seconds, "rmse": float(np.sqrt(np.mean(np.square(error))))}


def _validation_rmse(model: SCMRegressor) -> float | None:
    """With the nodes that stayed, before the final readout saw the validation rows.

    Families are followed on their training rows alone: they are not compared by it.
    """
    history = model.history_
    if history.growth is not None:
        return None
    kept = [e for e, out in zip(history.validation_rmse, history.removed, strict=True) if not out]
    return kept[-1]


def _catboost() -> Any:
    try:
        import catboost
    except ImportError:
        raise SystemExit(
            "bench.train: CatBoost is not installed; install the extra: pip install -e '.[bench]'"
        ) from None
    return catboost


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def measure(quick: bool, names: Sequence[str] = tuple(LARGE)) -> dict[str, Any]:
    """All figures; the headline ones at the top, what they come from below."""
    large, peak = large_case(quick, names)
    small = {name: against_textbook(SmallCase(p)) for name, p in SMALL.items()}
    followed = [name for name in names if large[name]["validation_rmse"] is not None] or names
    best = min(followed, key=lambda name: large[name]["validation_rmse"] or 0.0)
    return {
        "speedup_vs_textbook": small["sign"]["speedup"],
        "speedup_vs_textbook_numpy": small["sign"]["numpy_speedup"],
        "speedup_vs_textbook_sigmoid": small["sigmoid"]["speedup"],
        "same_nodes_as_textbook": all(case["same_nodes"] for case in small.values()),
        "catboost_time_ratio": large["catboost"]["seconds"] / large[best]["seconds"],
        "catboost_rmse_ratio": large["catboost"]["rmse"] / large[best]["rmse"],
        "peak_gib": peak,
        "rows": large["rows"],
        "threads": _cores(),
        "compiled": kernels.loops is not None,
        "compared_with_catboost": best,
        "pool": pool_case(quick),
        "textbook": small,
        "large": large,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="bench.train", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE")
    parser.add_argument(
        "--settings", nargs="+", choices=LARGE, default=tuple(LARGE), metavar="NAME",
        help=f"of the large case: {', '.join(LARGE)}",
    )  # fmt: skip
    options = parser.parse_args(arguments)
    text = json.dumps(measure(options.quick, options.settings), indent=2)
    print(text)
    if options.json is not None:
        options.json.write_text(text + "\n")


if __name__ == "__main__":
    main()
