"""What is trained for which table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from bench.paper_figures import COMPARISON, FIGURES, SECONDS, Published
from bench.paper_rivals import LUTS
from bench.paper_settings import ALGORITHMS, NO_LINEAR, STOPPED, parameters_of
from bench.paper_trial import Job

__all__ = ["KEPT_LABEL", "NAMES", "READY_LABEL", "SECTIONS", "Line", "Section", "sections"]

#: The paper's data sets, and ours for them.
REGRESSION = {
    "R-DB1": "abalone",
    "R-DB2": "concrete",
    "R-DB3": "ccpp",
    "R-DB4": "boston",
    "R-DB5": "twitter_buzz",
    "R-DB6": "year_prediction",
    "R-DB7": "tyukin",
    "R-DB8": "rastrigin",
}
IMAGES = {"C-DB1": "mnist", "C-DB2": "fashion_mnist"}
#: The paper's plants are private: simulations of the same shape and real data of the same kind.
PLANTS = {
    "I-DB1": ("rolling_thickness_sim",),
    "I-DB2": ("servo_sim", "emps_servo"),
    "I-DB3": ("rolling_force_sim", "rolling_force"),
}
WITH_MECHANISM = "rolling_force_sim"
NAMES = {ours: paper for paper, ours in (REGRESSION | IMAGES).items()} | {
    ours: paper for paper, all_ours in PLANTS.items() for ours in all_ours
}

Parameters = Mapping[str, Any]
READY_LABEL = "SCM, sign"

#: At most 200 sign nodes, the best of 400: a short search, one sign per feature, no
#: early stopping, and the ridge against overfitting. How this was chosen is part of the report.
READY: Parameters = {
    "layers": 1,
    "max_nodes": 200,
    "stop_step": 600,
    "sign_pattern": "monotone",
    "candidates": 20,
    "removal": 1.0,
}
#: Inputs of 12 bits as they are, and thresholds halfway between rows, as trees have them.
FINE: Parameters = {"encoder": "none", "bias_range": "middle"}
FINE_SETS = ("abalone", "concrete", "ccpp", "boston", "tyukin")
#: Thousands of rows are not overfitted by a longer search.
LONG: Parameters = {"candidates": 100}
#: R-DB7 and R-DB8 are functions of one input, or sums of such, R-DB8 with detail finer than 31
#: levels; where there are many rows, some of them find the nodes.
READY_FOR: Mapping[str, Parameters] = {
    "abalone": LONG,
    "ccpp": LONG,
    "tyukin": {"inputs_per_node": 1, **LONG},
    "rastrigin": {"inputs_per_node": 1, "encoder": "thermometer:255", "search_rows": 10_000},
    "rolling_force": {"search_rows": 5000},
    "emps_servo": {"search_rows": 5000},
}
#: Sums of a few added and subtracted pixels of 16 grey levels, as many as block RAM has room for;
#: the readout is of all rows. Chosen on rows split off from the training rows of trial 0, too.
READY_IMAGES: Parameters = {
    "layers": 1,
    "max_nodes": 2000,
    "encoder": "none",
    "input_bits": 4,
    "bias_range": "data",
    "candidates": 60,
    "lambdas": [1.0],
    "r_values": [0.9999, 0.99999, 0.999999],
    "alpha": NO_LINEAR,
    "search_rows": 10_000,
    "stop_step": 2000,
}
#: The other reading of the paper's early stopping: tau ends a layer, and of its nodes those go that
#: bring nothing, as in the paper's figure, where tau is 0.
KEPT_LABEL = "SCM, tau to stop alone"
KEPT: Parameters = {"removal_tolerance": 0.0}
#: A trial of these takes from ten minutes to an hour on all rows of the images.
SEARCHED = ("SCN", "DeepSCN", "SCM", KEPT_LABEL)
IMAGE_ROWS = 3000
PIXELS_PER_NODE: Mapping[str, tuple[int, ...]] = {"mnist": (6, 8, 10), "fashion_mnist": (3, 4, 5)}


@dataclass(frozen=True)
class Line:
    """A line of a table: what it is called, what is run for it, and what the paper has there."""

    dataset: str
    label: str
    job: Job
    published: Published | None = None
    lut: int | None = None


@dataclass(frozen=True)
class Section:
    """A table. `same_data`: the paper's figures are of the same data, and can be beaten."""

    name: str
    title: str
    lines: tuple[Line, ...]
    same_data: bool = False


def _protocols(algorithm: str) -> tuple[str, ...]:
    return ("paper", "clean") if algorithm in STOPPED else ("either",)


def _benchmarks(names: Mapping[str, str]) -> Iterator[Line]:
    for paper, ours in names.items():
        for algorithm, learner in ALGORITHMS.items():
            for protocol in _protocols(algorithm):
                job = Job(ours, learner, protocol, parameters_of(paper, algorithm))
                yield Line(ours, algorithm, job, FIGURES[paper, algorithm])
                if algorithm == "SCM":
                    other = replace(job, parameters={**job.parameters, **KEPT})
                    yield Line(ours, KEPT_LABEL, other, FIGURES[paper, algorithm])


def _images() -> Iterator[Line]:
    """The paper's settings; of learners that search, with nodes found on some of the rows too."""
    for line in _benchmarks(IMAGES):
        yield line
        if line.label in SEARCHED:
            fewer = dict(line.job.parameters) | {"search_rows": IMAGE_ROWS}
            label = f"{line.label}, nodes by {IMAGE_ROWS:,} rows"
            yield replace(line, label=label, job=replace(line.job, parameters=fewer))


def _industrial() -> Iterator[Line]:
    for paper, plants in PLANTS.items():
        for plant in plants:
            for algorithm in ALGORITHMS:
                for weights in ("binary",) if algorithm in STOPPED else ("binary", "real"):
                    yield from _industrial_lines(paper, plant, algorithm, weights)


def _industrial_lines(paper: str, plant: str, algorithm: str, weights: str) -> Iterator[Line]:
    label = f"{algorithm}({weights[0]})"
    published = FIGURES[paper, label]
    if (seconds := SECONDS.get((paper, label))) is not None:
        published = Published(*_scores_of(published), seconds=seconds)
    parameters = parameters_of(paper, algorithm, weights)
    for protocol in _protocols(algorithm):
        job = Job(plant, ALGORITHMS[algorithm], protocol, parameters)
        if plant != WITH_MECHANISM or algorithm not in STOPPED:
            yield Line(plant, label, job, published)
            continue
        # There the paper's P(x) is the mechanism alone.
        alone = parameters | {"alpha": NO_LINEAR}
        known = Job(plant, ALGORITHMS[algorithm], protocol, alone, mechanism=True)
        yield Line(plant, f"{label}, mechanism", known, published)
        yield Line(plant, f"{label}, LASSO instead", job)


def _scores_of(published: Published) -> tuple[float, float, float | None]:
    return published.train_rmse, published.test_rmse, published.test_rmse_std


def _comparison() -> Iterator[Line]:
    for plant in PLANTS["I-DB2"]:
        for protocol in ("paper", "clean"):
            job = Job(plant, "SCM", protocol, parameters_of("I-DB2", "SCM"))
            yield Line(plant, "SCM", job, COMPARISON["SCM"])
        yield _ready(plant, **FINE, **LONG)
        for name in ("SNN", "DNN", "CatBoost"):
            yield Line(plant, name, Job(plant, name, "either"), COMPARISON[name])


def _ready(name: str, **changes: Any) -> Line:
    parameters = {**READY, **READY_FOR.get(name, {}), **changes}
    return Line(name, READY_LABEL, Job(name, "SCM", "clean", parameters, hardware=True))


def _hardware() -> Iterator[Line]:
    for paper, ours in REGRESSION.items():
        published = FIGURES[paper, "SCM"]
        ready = _ready(ours, **(FINE if ours in FINE_SETS else {}))
        yield Line(ours, ready.label, ready.job, published)
        job = Job(ours, "SCM", "clean", parameters_of(paper, "SCM"))
        yield Line(ours, f"SCM, {job.parameters['activation']}", job, published)
        for name in ("20 trees", "100 trees", "histogram boosting", "MLP 32"):
            yield Line(ours, name, Job(ours, name, "either"), lut=LUTS.get(name))


def _hardware_images() -> Iterator[Line]:
    for paper, ours in IMAGES.items():
        parameters = {**READY_IMAGES, "inputs_per_node": PIXELS_PER_NODE[ours]}
        job = Job(ours, "SCM", "clean", parameters, hardware=True)
        yield Line(ours, READY_LABEL, job, FIGURES[paper, "SCM"])


#: What is changed about the sign SCM on 31 quantiles per input, one thing at a time.
ABLATIONS: Mapping[str, Mapping[str, Parameters]] = {
    "criterion": {"exact": {}, "paper": {"criterion": "paper"}},
    "bias draw": {"by the data": {}, "paper's [-1, 1]": {"bias_range": "paper"}},
    "encoder": {
        "31 quantiles": {},
        "7 quantiles": {"encoder": "thermometer:7:quantile"},
        "15 quantiles": {"encoder": "thermometer:15:quantile"},
        "63 quantiles": {"encoder": "thermometer:63:quantile"},
        "31 uniform": {"encoder": "thermometer:31"},
        "binary, 5 bits": {"encoder": "binary:5"},
        "gray, 5 bits": {"encoder": "gray:5"},
        "none, paper's biases": {"encoder": "none", "bias_range": "paper"},
        "none, thresholds halfway": FINE,
    },
    "early stopping": {
        "never, 200 nodes": {},
        "after 10 nodes": {"stop_step": 10},
        "after 20 nodes": {"stop_step": 20},
        "after 50 nodes": {"stop_step": 50},
    },
    "signs": {
        "one per feature": {},
        "one per bit": {"sign_pattern": "free"},
        "half of each": {"sign_pattern": 0.5},
    },
    "candidates": {
        "20": {},
        "5": {"candidates": 5},
        "100": {"candidates": 100},
        "400": {"candidates": 400},
    },
    "removal": {
        "of 400 nodes": {},
        "none": {"removal": 0.0},
        "of 300 nodes": {"removal": 0.5},
        "of 600 nodes": {"removal": 2.0},
    },
    "linear part": {"LASSO": {}, "mean alone": {"alpha": NO_LINEAR}},
    "features per node": {
        "1 to 3": {},
        "1": {"inputs_per_node": 1},
        "2": {"inputs_per_node": 2},
        "all": {"inputs_per_node": None},
    },
    "ridge": {"by validation": {}, "none": {"ridge": 0.0}},
}
ABLATED = ("concrete", "rolling_force")


def _ablation(changes: Mapping[str, Parameters]) -> Iterator[Line]:
    for name in ABLATED:
        for label, change in changes.items():
            yield Line(name, label, _ready(name, **change).job)


def _mechanisms() -> Iterator[Line]:
    for known in (True, False):
        for label, change in ABLATIONS["linear part"].items():
            parameters = {**READY, **change}
            job = Job(WITH_MECHANISM, "SCM", "clean", parameters, mechanism=known)
            yield Line(WITH_MECHANISM, f"{'mechanism' if known else 'none'}, {label}", job)


#: What the estimators did by default (31 quantiles per input), and what `fit` does.
UNTOLD: Mapping[str, Parameters] = {
    "estimator": {},
    "fit": {"max_nodes": 60, "encoder": "thermometer:31", "layers": 1},
}


def _defaults() -> Iterator[Line]:
    tables = [name for name in REGRESSION.values() if name not in ("tyukin", "rastrigin")]
    for name in (*tables, *(plant for plants in PLANTS.values() for plant in plants)):
        for who, own in UNTOLD.items():
            for label, change in ((who, {}), (f"{who}, no encoder", {"encoder": "none"})):
                yield Line(name, label, Job(name, "SCM", "clean", {**own, **change}, hardware=True))


def sections() -> tuple[Section, ...]:
    """All tables, in the order in which they are run: what takes longest comes last."""
    plants = "simulated plants and real stand-ins for the paper's private ones"
    return (
        Section("regression", "Regression, binary weights", tuple(_benchmarks(REGRESSION)), True),
        Section("hardware", "Ready for hardware, beside others", tuple(_hardware()), True),
        *(
            Section(f"ablation: {name}", f"Ablation: {name}", tuple(_ablation(changes)))
            for name, changes in ABLATIONS.items()
        ),
        Section("ablation: mechanism", "Ablation: mechanism", tuple(_mechanisms())),
        Section("ablation: defaults", "Ablation: defaults", tuple(_defaults())),
        Section("industrial", f"Industry: {plants}", tuple(_industrial())),
        Section("comparison", "SCM beside other learners, servo", tuple(_comparison())),
        Section("images-hardware", "Images, ready for hardware", tuple(_hardware_images()), True),
        Section("images", "Images, binary weights", tuple(_images()), True),
    )


SECTIONS = sections()
