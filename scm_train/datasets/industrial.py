"""Open measurements from real plants: a servo axis and a hot-rolling mill."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from scm_train.datasets.dataset import Dataset
from scm_train.datasets.text_tables import read_csv, source

__all__ = ["EMPS_ROWS", "ROLLING_FORCE_ROWS", "load_emps_servo", "load_rolling_force"]

EMPS_ROWS = 24_838
EMPS_RATE = 1000.0  # samples per second
EMPS_COLUMNS = ("qg", "qm", "t", "vir")

ROLLING_FORCE_ROWS = 20_557
FORCE_FEATURES = tuple(f"x{i}" for i in range(1, 11))
NEAR_ZERO = 0.05
NEVER_ZERO = (1, 7, 8, 10)
"""Columns (the force last) that are far from 0 whenever the mill is rolling."""


def load_emps_servo() -> Dataset:
    """Drive voltage of a servo axis from its reference and measured speed.

    The speeds are differences of successive positions, in m/s, at three successive samples, as
    I-DB2 gives its signals at three instants; the measured position (m) makes seven inputs. The
    reference position is left out: with both positions the voltage is the linear control law, and
    nothing of the machine's friction would be left to learn.
    """
    path = source(
        "emps_servo", ("emps_servo.csv.gz", "emps_servo.csv"), "nonlinearbenchmark.org (EMPS)"
    )
    qg, qm, _, vir = read_csv(path, len(EMPS_COLUMNS), header=EMPS_COLUMNS).T
    speeds = [sliding_window_view(EMPS_RATE * np.diff(position), 3) for position in (qg, qm)]
    return Dataset(
        name="emps_servo",
        X=np.column_stack([*speeds, qm[3:]]),
        y=vir[3:].copy(),
        feature_names=(
            *(f"reference_speed_{k}" for k in ("k2", "k1", "k0")),
            *(f"speed_{k}" for k in ("k2", "k1", "k0")),
            "position",
        ),
        target_names=("voltage",),
        task="regression",
        description="real servo axis (EMPS) at 1 kHz: drive voltage (V) from its speeds; "
        "the nearest open data to I-DB2",
        files=(path,),
    )


def load_rolling_force() -> Dataset:
    """Rolling force of a real hot mill, whose ten inputs its source does not name.

    Rows in which the force, or an input that follows it, is under 5 % of that column's median are
    records of a mill that was not rolling, and are dropped: 109 of 20,666 in the published file.
    """
    path = source("rolling_force", ("rolling_force.csv",), "its public repository")
    values = read_csv(path, len(FORCE_FEATURES) + 1)
    followers = values[:, NEVER_ZERO]
    rolling = (followers >= NEAR_ZERO * np.median(followers, axis=0)).all(axis=1)
    kept = values[rolling]
    return Dataset(
        name="rolling_force",
        X=np.ascontiguousarray(kept[:, :-1]),
        y=kept[:, -1].copy(),
        feature_names=FORCE_FEATURES,
        target_names=("force",),
        task="regression",
        description="real hot-rolling mill: rolling force; the nearest open data to I-DB3 "
        f"({len(values) - len(kept)} rows of a mill at rest dropped)",
        files=(path,),
    )
