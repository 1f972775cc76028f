"""All data sets by name: what they are, and how to load one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import DTypeLike

from scm_train.datasets import generated, industrial, plate_mill, speed_servo, strip_mill
from scm_train.datasets.dataset import Dataset, TaskName
from scm_train.datasets.images import IMAGES, load_images
from scm_train.datasets.text_tables import TABLES, load_table
from scm_train.errors import ParameterError

__all__ = ["Summary", "describe", "load", "names"]

Loader = Callable[..., Dataset]
Origin = Literal["file", "generated", "simulation"]

SERVO_SUBSET = 14


@dataclass(frozen=True)
class Summary:
    """One line of a listing; `rows` is what the whole source has, `outputs` counts classes."""

    name: str
    rows: int
    inputs: int
    outputs: int
    task: TaskName
    origin: Origin
    description: str


@dataclass(frozen=True)
class _Entry:
    """A summary and its loader. `configurations` is set for servo simulations alone."""

    summary: Summary
    loader: Loader
    configurations: int | None = None

    @property
    def seeded(self) -> bool:
        return self.summary.origin != "file"


def names() -> tuple[str, ...]:
    """Names that `load` takes, in the paper's order: benchmarks, images, industry."""
    return tuple(_ENTRIES)


def describe() -> tuple[Summary, ...]:
    """One summary per data set, without loading or generating anything."""
    return tuple(entry.summary for entry in _ENTRIES.values())


def load(
    name: str,
    *,
    seed: int = 0,
    dtype: DTypeLike = None,
    configurations: int | None = None,
) -> Dataset:
    """The data set `name`.

    `seed` decides what is generated or simulated, and its split; files are the same for every seed.
    `dtype` is that of `X` and of real targets (float64, images uint8); float32 halves the memory of
    `servo_sim_full` while it is made, too. `configurations` is how many pairs of target speed and
    stiffness a servo simulation runs, 816 rows each.
    """
    entry = _entry(name)
    options = {"seed": _checked_seed(seed)} if entry.seeded else {}
    if entry.configurations is not None:
        wanted = entry.configurations if configurations is None else configurations
        return entry.loader(configurations=wanted, dtype=_real(dtype or np.float64), **options)
    if configurations is not None:
        raise ParameterError(
            f"configurations must be left out for {name}, not {configurations!r}; "
            "only servo_sim and servo_sim_full have them"
        )
    dataset = entry.loader(**options)
    return dataset if dtype is None else _cast(dataset, _real(dtype))


def _entry(name: str) -> _Entry:
    if name not in _ENTRIES:
        raise ParameterError(
            f"data set must be one of {', '.join(_ENTRIES)}, not {name!r}; "
            "for a file of your own, give its path instead"
        )
    return _ENTRIES[name]


def _checked_seed(seed: int) -> int:
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise ParameterError(f"seed must be an integer of at least 0, not {seed!r}; try 0")
    return int(seed)


def _real(dtype: DTypeLike) -> np.dtype:
    real = np.dtype(dtype)
    if real not in (np.float32, np.float64):
        raise ParameterError(f"dtype must be float32 or float64, not {dtype!r}; leave it out")
    return real


def _cast(dataset: Dataset, dtype: np.dtype) -> Dataset:
    y = dataset.y.astype(dtype) if dataset.task == "regression" else dataset.y
    return replace(dataset, X=dataset.X.astype(dtype), y=y)


def _table_entries() -> list[_Entry]:
    return [
        _Entry(
            Summary(t.name, t.rows, len(t.features), 1, "regression", "file", t.description),
            partial(load_table, t.name),
        )
        for t in TABLES.values()
    ]


def _image_entries() -> list[_Entry]:
    return [
        _Entry(
            Summary(i.name, i.rows, 28 * 28, 10, "classification", "file", i.description),
            partial(load_images, i.name),
        )
        for i in IMAGES.values()
    ]


def _regression(
    name: str, rows: int, inputs: int, origin: Origin, description: str, loader: Loader
) -> _Entry:
    return _Entry(Summary(name, rows, inputs, 1, "regression", origin, description), loader)


def _servo_entry(name: str, configurations: int, description: str) -> _Entry:
    rows = speed_servo.SAMPLES_PER_RUN * configurations
    summary = Summary(
        name, rows, len(speed_servo.FEATURES), 1, "regression", "simulation", description
    )
    return _Entry(summary, partial(speed_servo.load_servo, name), configurations)


_ENTRIES = {
    entry.summary.name: entry
    for entry in (
        *_table_entries(),
        _regression(
            "tyukin",
            generated.TYUKIN_ROWS,
            1,
            "generated",
            "R-DB7: three bumps of different width on [0, 1]",
            generated.load_tyukin,
        ),
        _regression(
            "rastrigin",
            generated.RASTRIGIN_TRAIN + generated.RASTRIGIN_TEST,
            2,
            "generated",
            "R-DB8: Rastrigin's function of two inputs",
            generated.load_rastrigin,
        ),
        *_image_entries(),
        _regression(
            "emps_servo",
            industrial.EMPS_ROWS,
            7,
            "file",
            "real servo axis (EMPS): drive voltage; the nearest open data to I-DB2",
            industrial.load_emps_servo,
        ),
        _regression(
            "rolling_force",
            industrial.ROLLING_FORCE_ROWS,
            10,
            "file",
            "real hot-rolling mill: rolling force; the nearest open data to I-DB3",
            industrial.load_rolling_force,
        ),
        _regression(
            "rolling_thickness_sim",
            strip_mill.ROWS,
            len(strip_mill.FEATURES),
            "simulation",
            "simulated hot strip mill, shaped like I-DB1: exit thickness",
            strip_mill.load_rolling_thickness_sim,
        ),
        _servo_entry(
            "servo_sim",
            SERVO_SUBSET,
            "simulated PMSM speed servo, shaped like I-DB2's subset for the FPGA: current error",
        ),
        _servo_entry(
            "servo_sim_full",
            speed_servo.CONFIGURATIONS,
            "simulated PMSM speed servo, shaped like the whole of I-DB2: current error",
        ),
        _regression(
            "rolling_force_sim",
            plate_mill.ROWS,
            len(plate_mill.FEATURES),
            "simulation",
            "simulated plate mill, shaped like I-DB3: rolling force, with a mechanism",
            plate_mill.load_rolling_force_sim,
        ),
    )
}
