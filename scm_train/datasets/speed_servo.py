"""Simulation of a PMSM speed servo, standing in for the paper's private data set I-DB2.

The drive is a permanent-magnet synchronous motor with a load, seen along its q axis (the d axis is
held at zero current): a current loop at 5 kHz inside a speed loop at 1 kHz, both PI with
anti-windup, and a recorder at 250 Hz. Each run starts at rest and turns forward and backward at its
target speed. All runs advance together, one array element each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike, NDArray

from scm_train.datasets.dataset import Dataset
from scm_train.errors import ParameterError

__all__ = [
    "CONFIGURATIONS",
    "FEATURES",
    "SAMPLES_PER_RUN",
    "ServoParameters",
    "ServoRuns",
    "load_servo",
    "simulate_servo",
]

SAMPLES_PER_RUN = 816
TRAIN_SHARE = 0.75
TARGET_SPEEDS = 1201
STIFFNESS_LEVELS = 7
CONFIGURATIONS = TARGET_SPEEDS * STIFFNESS_LEVELS
INSTANTS = 3
LEAD = INSTANTS  # two samples of history before the first row, and one sample ahead of the last

SIGNALS = ("speed", "motor_current", "controller_current")
FEATURES = (
    *(f"{signal}_{k}" for k in ("k2", "k1", "k0") for signal in SIGNALS),
    "target_speed",
    "stiffness",
)

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ServoParameters:
    """A 750 W servo motor with a load; SI units, angles in radians, speeds in rad/s."""

    resistance: float = 0.9
    inductance: float = 4.5e-3
    torque_constant: float = 0.55  # Nm per A of q-axis current
    back_emf: float = 0.367  # V s, two thirds of the torque constant
    pole_pairs: int = 4
    inertia: float = 2.2e-3  # motor and load

    viscous: float = 1.2e-3
    coulomb: float = 0.25
    stribeck: float = 0.18  # what breaking away takes beyond Coulomb friction
    stribeck_speed: float = 6.0
    sticking_speed: float = 1.0  # friction changes its sign over about this width
    cogging: float = 0.03
    cogging_order: int = 24  # periods per turn
    load_torque: float = 0.2  # a dry load, which opposes motion either way
    eccentricity: float = 1.2  # torque of an unbalanced load, once per turn

    voltage_limit: float = 99.0
    current_limit: float = 9.0
    dead_time_voltage: float = 3.0
    dead_time_current: float = 0.25  # the dead-time error changes its sign over this width

    current_period: float = 2e-4
    speed_divider: int = 5  # current steps per speed step
    record_divider: int = 4  # speed steps per recorded sample
    current_bandwidth: float = 1200.0
    speed_bandwidths: tuple[float, ...] = (30.0, 45.0, 65.0, 90.0, 120.0, 160.0, 210.0)
    """Of the speed loop, one for each stiffness from 1 up."""
    integral_ratio: float = 0.2  # corner of both PI controllers as a share of their bandwidth
    speed_range: tuple[float, float] = (20.0, 260.0)
    reversal: float = 1.6  # period of the reference, forward and backward

    current_noise: float = 0.005
    current_step: float = 20.0 / 2**11  # 12-bit converter, +-20 A
    encoder_step: float = 2 * np.pi / 2**20


@dataclass(frozen=True)
class ServoRuns:
    """What a run's recorder holds: each signal (samples, runs), and the runs' settings (runs,).

    `controller_current` is the set-point that the speed controller issues at a sample, and
    `motor_current` the measurement taken at the same instant, before the current loop answers.
    """

    speed: NDArray
    motor_current: NDArray
    controller_current: NDArray
    target_speed: Floats
    stiffness: Floats


class _Plant:
    """Motor, inverter and load: true states, advanced by one current period at a time."""

    def __init__(self, parameters: ServoParameters, angle: Floats) -> None:
        self.parameters = parameters
        self.angle = angle
        self.speed = np.zeros_like(angle)
        self.current = np.zeros_like(angle)

    def step(self, voltage: Floats) -> None:
        """Semi-implicit Euler: current first, then speed, then angle."""
        p, dt = self.parameters, self.parameters.current_period
        applied = voltage - self._dead_time_error()
        self.current += (
            dt / p.inductance * (applied - p.resistance * self.current - p.back_emf * self.speed)
        )
        torque = p.torque_constant * self.current - self._friction() - self._angle_torque()
        self.speed += dt / p.inertia * torque
        self.angle += dt * self.speed

    def _dead_time_error(self) -> Floats:
        # The three phases change sign in turn, six times in an electrical period.
        p = self.parameters
        ripple = 1.0 + 0.15 * np.cos(6 * p.pole_pairs * self.angle)
        return p.dead_time_voltage * ripple * np.tanh(self.current / p.dead_time_current)

    def _friction(self) -> Floats:
        p = self.parameters
        breakaway = p.stribeck * np.exp(-((self.speed / p.stribeck_speed) ** 2))
        dry = p.coulomb + p.load_torque + breakaway
        return p.viscous * self.speed + dry * np.tanh(self.speed / p.sticking_speed)

    def _angle_torque(self) -> Floats:
        p = self.parameters
        return p.cogging * np.sin(p.cogging_order * self.angle) + p.eccentricity * np.sin(
            self.angle
        )


class _PI:
    """Proportional and integral action with a limit; the integral waits while at the limit."""

    def __init__(self, proportional: Floats | float, corner: Floats | float, limit: float) -> None:
        self.proportional = proportional
        self.corner = corner
        self.limit = limit
        self.integral: Floats | float = 0.0

    def __call__(self, error: Floats, period: float) -> Floats:
        action = self.proportional * error
        wanted = action + self.integral
        output = np.clip(wanted, -self.limit, self.limit)
        # Anti-windup: at the limit an integral would grow without any effect, and overshoot later.
        self.integral = self.integral + np.where(
            output == wanted, self.corner * period * action, 0.0
        )
        return output


def simulate_servo(
    target_speed: Floats,
    stiffness: NDArray[np.integer],
    samples: int,
    parameters: ServoParameters | None = None,
    seed: int = 0,
    dtype: DTypeLike = np.float64,
) -> ServoRuns:
    """Run the servo at each pair of target speed (rad/s) and stiffness (1 to 7)."""
    p = parameters or ServoParameters()
    rng = np.random.default_rng(seed)
    runs = len(target_speed)
    plant = _Plant(p, rng.uniform(0.0, 2 * np.pi, runs))
    speed_loop, current_loop = _controllers(p, stiffness)
    recorded = np.empty((len(SIGNALS), samples, runs), dtype=dtype)
    period = p.speed_divider * p.current_period
    last_angle = _quantised(plant.angle, p.encoder_step)
    for tick in range(samples * p.record_divider):
        angle = _quantised(plant.angle, p.encoder_step)
        speed, last_angle = (angle - last_angle) / period, angle
        setpoint = speed_loop(_reference(p, target_speed, tick) - speed, period)
        if tick % p.record_divider == 0:
            current = _measured_current(p, plant, rng)
            recorded[:, tick // p.record_divider] = speed, current, setpoint
        for _ in range(p.speed_divider):
            error = setpoint - _measured_current(p, plant, rng)
            plant.step(current_loop(error, p.current_period))
    return ServoRuns(*recorded, target_speed=target_speed, stiffness=stiffness.astype(np.float64))


def _controllers(p: ServoParameters, stiffness: NDArray[np.integer]) -> tuple[_PI, _PI]:
    bandwidth = np.asarray(p.speed_bandwidths)[stiffness - 1]
    speed_loop = _PI(
        proportional=bandwidth * p.inertia / p.torque_constant,
        corner=bandwidth * p.integral_ratio,
        limit=p.current_limit,
    )
    current_loop = _PI(
        proportional=p.current_bandwidth * p.inductance,
        corner=p.current_bandwidth * p.integral_ratio,
        limit=p.voltage_limit,
    )
    return speed_loop, current_loop


def _reference(p: ServoParameters, target: Floats, tick: int) -> Floats:
    """Forward and backward in turn: half the time at the target speed, half on smooth ramps."""
    turns = tick * p.speed_divider * p.current_period / p.reversal
    triangle = 2.0 - 8.0 * abs((turns + 0.25) % 1.0 - 0.5)
    return target * np.sin(0.5 * np.pi * np.clip(triangle, -1.0, 1.0))


def _measured_current(p: ServoParameters, plant: _Plant, rng: np.random.Generator) -> Floats:
    noise = p.current_noise * rng.standard_normal(len(plant.current))
    return _quantised(plant.current + noise, p.current_step)


def _quantised(value: Floats, step: float) -> Floats:
    return step * np.rint(value / step)


def load_servo(
    name: str, configurations: int, seed: int = 0, dtype: DTypeLike = np.float64
) -> Dataset:
    """`configurations` runs of 816 rows, spread evenly over the grid of all 8407.

    A row holds the signals at three successive samples (k2 the oldest) and the run's settings; its
    target is the motor's current less the controller's at the sample after, so that no input gives
    it away. Rows are shuffled over all runs, three quarters for training, which come first.
    """
    if not 1 <= configurations <= CONFIGURATIONS:
        raise ParameterError(
            f"configurations must be from 1 to {CONFIGURATIONS}, not {configurations!r}; "
            "that is the whole grid of target speeds and stiffnesses"
        )
    parameters = ServoParameters()
    target_speed, stiffness = _configurations(parameters, configurations)
    runs = simulate_servo(target_speed, stiffness, SAMPLES_PER_RUN + LEAD, parameters, seed, dtype)
    rows = SAMPLES_PER_RUN * configurations
    X, y = _rows(runs, np.random.default_rng([seed, rows]).permutation(rows), dtype)
    return Dataset(
        name=name,
        X=X,
        y=y,
        feature_names=FEATURES,
        target_names=("current_error",),
        task="regression",
        description=f"simulation of a PMSM speed servo, of I-DB2's shape: {configurations} "
        "configurations of target speed and stiffness; current error (A) one sample ahead",
        simulated=True,
        train_rows=round(TRAIN_SHARE * rows),
    )


def _configurations(p: ServoParameters, count: int) -> tuple[Floats, NDArray[np.integer]]:
    # The middles of equal parts of the grid.
    chosen = ((np.arange(count) + 0.5) * CONFIGURATIONS / count).astype(np.int64)
    speeds = np.linspace(*p.speed_range, TARGET_SPEEDS)
    return speeds[chosen // STIFFNESS_LEVELS], 1 + chosen % STIFFNESS_LEVELS


def _rows(runs: ServoRuns, order: NDArray[np.integer], dtype: DTypeLike) -> tuple[NDArray, NDArray]:
    """Inputs and target, run by run, each row written straight to its place in `order`."""
    signals = [getattr(runs, signal) for signal in SIGNALS]
    X = np.empty((len(order), len(FEATURES)), dtype=dtype)
    y = np.empty(len(order), dtype=dtype)
    for instant in range(INSTANTS):
        for i, signal in enumerate(signals):
            X[order, instant * len(SIGNALS) + i] = _window(signal, instant)
    X[order, -2] = np.repeat(runs.target_speed, SAMPLES_PER_RUN)
    X[order, -1] = np.repeat(runs.stiffness, SAMPLES_PER_RUN)
    y[order] = _window(runs.motor_current, LEAD) - _window(runs.controller_current, LEAD)
    return X, y


def _window(signal: NDArray, delay: int) -> NDArray:
    return signal[delay : delay + SAMPLES_PER_RUN].T.ravel()
