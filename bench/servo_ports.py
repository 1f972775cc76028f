"""The paper's servo case from five ports instead of eleven: LUTs by Yosys, and bits on the wire.

    python -m bench.servo_ports [--luts 600]

The eleven inputs of the case are three successive samples of three signals, and two settings. The
same machine is built twice: once the user keeps the past, once the core does.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np

from scm_hw import boards
from scm_hw.design import Options, compile_model
from scm_hw.design.compiler import synthesised_cells
from scm_model import Memory, Model, Tap
from scm_train import SCMRegressor
from scm_train.datasets.registry import load

ROWS, EVALUATED = 20_000, 3000
SIGNALS = ("speed", "motor_current", "controller_current", "target_speed", "stiffness")
#: In the order of the data set's columns: the oldest samples first.
TAPS = (*(Tap(signal, lag) for lag in (2, 1, 0) for signal in range(3)), Tap(3, 0), Tap(4, 0))


def machines(luts: float) -> dict[str, Model]:
    data = load("servo_sim")
    X, y = np.asarray(data.X, float)[:ROWS], np.asarray(data.y, float)[:ROWS].reshape(-1, 1)
    sources = np.array([tap.source for tap in TAPS])
    # Taps of a signal have one range, for both machines.
    low = np.array([X[:, sources == s].min() for s in range(len(SIGNALS))])
    high = np.array([X[:, sources == s].max() for s in range(len(SIGNALS))])
    high = np.where(high > low, high, low + 1)
    learner = SCMRegressor(luts=luts, random_state=0)
    learner._input_range = (low[sources], high[sources])
    learner.fit(X, y[:, 0])
    plain = learner.machine_
    memory = Memory(SIGNALS, TAPS, np.r_[low, 0.0])
    own = replace(plain, memory=memory, features=memory.names(plain.targets), history=None)
    newest = [TAPS.index(Tap(signal, 0)) for signal in range(len(SIGNALS))]
    rows = slice(0, EVALUATED)
    first = np.arange(EVALUATED) == 0
    return {
        "eleven ports": plain.with_evaluation(X[rows], y[rows]),
        "five ports": own.with_evaluation(X[rows][:, newest], y[rows], first=first),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--luts", type=float, default=600)
    board = boards.get("arty-a7")
    for name, model in machines(parser.parse_args().luts).items():
        design = compile_model(model, board, Options())
        cells = synthesised_cells(design.verilog, design.names.core, board)
        bits = sum(reach.width for reach in design.input_ranges)
        print(f"{name}: {bits} bits, {cells.lut} LUTs, {cells.ff} registers, {cells.dsp} DSPs")


if __name__ == "__main__":
    main()
