"""What a user has at hand for records: ARX, boosting, reservoirpy's ESN, sysidentpy's NARX.

Each sees the same records; those of taps see the same taps. What they leave to be chosen is chosen
by the last fifth of the estimation record.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression

from scm_model import Memory
from scm_train.sequences.records import Records

Floats = NDArray[np.float64]
Errors = dict[str, float]

#: A free run of trees takes a call for each row.
MOST_TREE_ROWS = 12_000
#: Rows that the structure of a polynomial is selected on, and terms it may have.
NARX_ROWS, NARX_TERMS = 6000, 20
ESN_UNITS, ESN_WARMUP, ESN_HELD = 300, 50, 0.2
ESN_CHOICES = [(radius, ridge) for radius in (0.7, 0.95) for ridge in (1e-8, 1e-5, 1e-2)]

#: A rival's errors on test records, of what was learned of the others.
Rival = Callable[[Records, Records, Memory, int], Errors]


def arx(learn: Records, tests: Records, memory: Memory, seed: int) -> Errors:
    return _of_taps(LinearRegression(), learn, tests, memory, free=True)


def boosting(learn: Records, tests: Records, memory: Memory, seed: int) -> Errors:
    free = len(tests) <= MOST_TREE_ROWS
    rival = HistGradientBoostingRegressor(random_state=seed)
    return _of_taps(rival, learn, tests, memory, free=free)


def esn(learn: Records, tests: Records, memory: Memory, seed: int) -> Errors:
    """An echo state network of the signals; it never sees outputs, so all it does is free."""
    low, high = learn.signals.min(axis=0), learn.signals.max(axis=0)
    u, u_test = (2 * (part.signals - low) / (high - low) - 1 for part in (learn, tests))
    y = learn.measured
    cut = round((1 - ESN_HELD) * len(u))
    errors = []
    for choice in ESN_CHOICES:
        network = _network(*choice, seed)
        network.fit(u[:cut], y[:cut], warmup=ESN_WARMUP)
        errors.append(rmse(network.run(u[cut:])[ESN_WARMUP:], y[cut:][ESN_WARMUP:]))
    network = _network(*ESN_CHOICES[int(np.argmin(errors))], seed)
    network.fit(u, y, warmup=ESN_WARMUP)
    rows = tests.scored(memory)
    rows[:ESN_WARMUP] = False
    found = network.run(u_test)
    return {"free_run" if memory.feedback else "one_step": rmse(found[rows], tests.measured[rows])}


def _network(radius: float, ridge: float, seed: int) -> Any:
    from reservoirpy import ESN
    from reservoirpy.nodes import Reservoir, Ridge

    reservoir = Reservoir(ESN_UNITS, sr=radius, lr=0.5, input_scaling=1.0, seed=seed)
    return ESN(reservoir=reservoir, readout=Ridge(ridge=ridge))


def narx(learn: Records, tests: Records, memory: Memory, seed: int) -> Errors:
    """A polynomial of third degree in the taps, whose terms are selected by FROLS and BIC."""
    from sysidentpy.basis_function import Polynomial
    from sysidentpy.model_structure_selection import FROLS
    from sysidentpy.parameter_estimation import LeastSquares

    if not memory.feedback:
        return {}
    count = len(memory.signals)
    # Its lags begin with 1: a signal that is a row ahead has lag 0 there.
    lags = [[tap.lag + 1 for tap in memory.taps if tap.source == s] for s in range(count)]
    model = FROLS(
        order_selection=True,
        n_info_values=NARX_TERMS,
        ylag=[tap.lag for tap in memory.taps if tap.source == count],
        xlag=lags[0] if count == 1 else lags,
        info_criteria="bic",
        estimator=LeastSquares(),
        basis_function=Polynomial(degree=3),
    )
    ahead, ahead_test = (np.roll(part.signals, -1, axis=0) for part in (learn, tests))
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        model.fit(X=ahead[:NARX_ROWS], y=learn.measured[:NARX_ROWS])
        free = model.predict(X=ahead_test, y=tests.measured)
        step = model.predict(X=ahead_test, y=tests.measured, steps_ahead=1)
    rows = tests.scored(memory)
    rows[-1] = False
    wanted = tests.measured[rows]
    found = {"one_step": rmse(step[rows], wanted), "free_run": rmse(free[rows], wanted)}
    return {key: value for key, value in found.items() if np.isfinite(value)}


RIVALS: dict[str, Rival] = {
    "ARX": arx,
    "histogram boosting": boosting,
    "reservoirpy ESN": esn,
    "sysidentpy NARX": narx,
}


def _of_taps(rival: Any, learn: Records, tests: Records, memory: Memory, *, free: bool) -> Errors:
    rival.fit(*learn.taps(memory))
    taps, targets = tests.taps(memory)
    found = {"one_step": rmse(rival.predict(taps), targets)}
    if memory.feedback and free:
        simulated = memory.free_run(
            tests.signals,
            tests.first,
            lambda rows: rival.predict(rows).reshape(len(rows), -1),
            tests.measured,
        )
        rows = tests.scored(memory)
        found["free_run"] = rmse(simulated[rows], tests.measured[rows])
    return found


def rmse(found: NDArray, wanted: NDArray) -> float:
    off = np.asarray(found).reshape(len(wanted), -1) - wanted.reshape(len(wanted), -1)
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.sqrt(np.mean(off**2)))
