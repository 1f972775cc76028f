"""A trained machine as a component of an Amaranth design, simulated on one row of raw values.

python examples/core_in_amaranth.py model.npz 0.3 17.5 4.0
"""

import sys

from amaranth.sim import Simulator

import scm_hw


def main(model: str, *row: str) -> None:
    core = scm_hw.Core(model, clock_mhz=100)

    async def bench(ctx):
        ctx.set(core.i.payload, core.encode([float(value) for value in row]))
        ctx.set(core.i.valid, 1)
        ctx.set(core.o.ready, 1)
        (result,) = await ctx.tick().sample(core.o.payload).until(core.o.valid)
        print(f"{core.decode(result)} after {core.latency} cycles")

    simulator = Simulator(core)
    simulator.add_clock(1e-8)
    simulator.add_testbench(bench)
    simulator.run()


if __name__ == "__main__":
    main(*sys.argv[1:])
