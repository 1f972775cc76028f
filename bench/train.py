"""How fast the trainer is, as ratios taken within one run.

    python -m bench.train [--quick] [--json FILE]

Against the textbook way of training (``bench.textbook``) on abalone, and against CatBoost with its
defaults on the simulated servo, 5,145,084 training rows or, with ``--quick``, a tenth of them. All
ratios are above 1 where this trainer is the better one.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from bench.textbook import TextbookNode, textbook_scn
from scm_train import SCMRegressor, datasets, paper_settings
from scm_train.chunks import chunk_map
from scm_train.draw import CandidateDraw
from scm_train.encoders import fit_encoder
from scm_train.engine import Fitted, Part, Settings, train
from scm_train.history import History
from scm_train.inputs import Rows, first_inputs
from scm_train.scaling import to_unit
from scm_train.search import SearchSettings

#: The small case: nodes, candidates per draw, and the paper's scales.
NODES, CANDIDATES = 100, 100
LAMBDAS = (0.5, 1.0, 5.0, 10.0, 30.0, 50.0, 100.0)
#: Close to 1, so that most nodes come from the first draw and a ratio compares like with like.
R_VALUES = (0.99999, 0.999999, 0.9999999)
#: Of the large case a tenth, for ``--quick``.
QUICK_CONFIGURATIONS = 841
REPEATS = 5

#: The large case, 40 nodes and T_max 50: to the paper's letter, with what this trainer adds to it
#: (selective nodes, the exact criterion, steeper scales first), and as hardware takes it.
_LARGE = {"max_nodes": 40, "layers": 1, "candidates": 50}
LARGE = {
    "paper": paper_settings(**_LARGE),
    "sigmoid": paper_settings(
        **_LARGE, criterion="exact", inputs_per_node=(2, 3), lambdas=(30.0, 50.0, 100.0)
    ),
    "sign": _LARGE,
}


@dataclass(frozen=True, eq=False)
class SmallCase:
    """One layer of nodes on abalone, with either form of inputs."""

    activation: str
    encoder: str
    input_bits: int | None

    def part(self) -> Part:
        data = datasets.load("abalone")
        low, high = data.X.min(axis=0), data.X.max(axis=0)
        encoder = fit_encoder(self.encoder, to_unit(data.X, low, high), input_bits=self.input_bits)
        targets = to_unit(data.y[:, None], data.y.min(keepdims=True), data.y.max(keepdims=True))
        return Part(Rows(data.X, low, high, encoder), targets)


SMALL = {
    "sign": SmallCase("sign", "thermometer:63", 12),
    "sigmoid": SmallCase("sigmoid", "none", None),
}


def against_textbook(case: SmallCase) -> dict[str, Any]:
    """Times of both ways from the same draws, and for how many nodes they agree."""
    part, draw = case.part(), CandidateDraw("binary", None, "free", "auto")

    def ours() -> Fitted:
        search = SearchSettings(LAMBDAS, R_VALUES, "paper")
        settings = Settings((NODES,), (case.activation,), (CANDIDATES,), search)
        with chunk_map() as mapped:
            return train(
                part,
                None,
                settings,
                draw,
                np.random.default_rng(0),
                history=History(),
                chunk_map=mapped,
                report=lambda *_: None,
            )

    seconds, fitted = min((_timed(ours) for _ in range(REPEATS)), key=lambda timed: timed[0])
    textbook_seconds, nodes = _timed(lambda: _textbook_nodes(case, part, draw))
    layer = fitted.layers[0]
    agree = [
        np.array_equal(node.weights, weights) and node.bias == bias and node.lambda_ == lambda_
        for node, weights, bias, lambda_ in zip(
            nodes, layer.weights, layer.biases, layer.lambdas, strict=False
        )
    ]
    return {
        "seconds": seconds,
        "textbook_seconds": textbook_seconds,
        "speedup": textbook_seconds / seconds,
        "same_nodes": len(nodes) == layer.nodes and all(agree),
        "same_first_nodes": int(np.argmin([*agree, False])),
        "nodes": layer.nodes,
    }


def _textbook_nodes(case: SmallCase, part: Part, draw: CandidateDraw) -> list[TextbookNode]:
    # The engine works with one thread of linear algebra, and so does its reference; with several,
    # the many small products of this loop mostly wait for each other.
    with threadpool_limits(limits=1, user_api="blas"):
        nodes, _ = textbook_scn(
            first_inputs(part.rows),
            part.targets,
            draw=draw,
            rng=np.random.default_rng(0),
            nodes=NODES,
            candidates=CANDIDATES,
            activation=case.activation,
            lambdas=LAMBDAS,
            r_values=R_VALUES,
        )
    return nodes


def large_case(quick: bool) -> tuple[dict[str, Any], float]:
    """SCM both ways and CatBoost on the simulated servo; their figures and the peak memory."""
    catboost = _catboost()
    configurations = QUICK_CONFIGURATIONS if quick else None
    data = datasets.load("servo_sim_full", dtype=np.float32, configurations=configurations)
    rows = data.train_rows
    assert rows is not None
    train_part, test_part = (data.X[:rows], data.y[:rows]), (data.X[rows:], data.y[rows:])
    figures: dict[str, Any] = {"rows": rows, "data": data.description}
    for name, parameters in LARGE.items():
        model = SCMRegressor(random_state=0, **parameters)
        figures[name] = _measured(model, train_part, test_part)
        figures[name] |= {"nodes": sum(model.machine_.nodes), "phases": model.history_.seconds}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    model = catboost.CatBoostRegressor(
        thread_count=_cores(), verbose=False, allow_writing_files=False
    )
    figures["catboost"] = _measured(model, train_part, test_part)
    return figures, peak


def _measured(
    model: Any, train_part: tuple[NDArray, NDArray], test_part: tuple[NDArray, NDArray]
) -> dict[str, float]:
    seconds, _ = _timed(lambda: model.fit(*train_part))
    error = model.predict(test_part[0]) - test_part[1]
    return {"seconds": seconds, "rmse": float(np.sqrt(np.mean(np.square(error))))}


def _catboost() -> Any:
    try:
        import catboost
    except ImportError:
        raise SystemExit(
            "bench.train: CatBoost is not installed; install the extra: pip install -e '.[bench]'"
        ) from None
    return catboost


def _timed(function: Callable[[], Any]) -> tuple[float, Any]:
    start = perf_counter()
    result = function()
    return perf_counter() - start, result


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def measure(quick: bool) -> dict[str, Any]:
    """All figures; the headline ones at the top, what they come from below."""
    large, peak = large_case(quick)
    small = {name: against_textbook(case) for name, case in SMALL.items()}
    best = min(LARGE, key=lambda name: large[name]["rmse"])
    return {
        "speedup_vs_textbook": small["sign"]["speedup"],
        "same_nodes_as_textbook": small["sign"]["same_nodes"],
        "catboost_time_ratio": large["catboost"]["seconds"] / large[best]["seconds"],
        "catboost_rmse_ratio": large["catboost"]["rmse"] / large[best]["rmse"],
        "peak_gib": peak,
        "rows": large["rows"],
        "threads": _cores(),
        "compared_with_catboost": best,
        "textbook": small,
        "large": large,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="bench.train", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE")
    options = parser.parse_args(arguments)
    text = json.dumps(measure(options.quick), indent=2)
    print(text)
    if options.json is not None:
        options.json.write_text(text + "\n")


if __name__ == "__main__":
    main()
