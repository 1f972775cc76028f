"""`scm_hw.Core`: streams of named fields, with the integers of the interpreter."""

from __future__ import annotations

import re
import subprocess
import sys
from random import Random

import numpy as np
import pytest
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In
from amaranth.sim import Simulator
from numpy.testing import assert_allclose, assert_array_equal

import scm_hw
from scm_hw import boards
from scm_hw.design import Options, compile_model
from scm_hw.errors import OptionError
from scm_hw.ir.interp import interpret
from scm_hw.load import model_from_arrays
from scm_hw.verify.rows import check_rows
from scm_model import Model
from scm_model.reference import decision
from tests.support import REPOSITORY, model_arrays, write_model

EXAMPLE = REPOSITORY / "examples" / "core_in_amaranth.py"
KINDS = {
    "outputs": {"outputs": 2},
    "classes": {"outputs": 3, "task": "classification"},
    "external": {"mechanism": "external"},
    "folded": {},
    "no ready": {},
}


@pytest.mark.parametrize("kind", KINDS)
def test_streams_give_what_the_interpreter_gives(kind: str) -> None:
    """Field by field, with stalls on both sides."""
    model = model_from_arrays(model_arrays(7, **KINDS[kind]))
    options = {"folded": {"fold": "1x2"}, "no ready": {"handshake": "none"}}.get(kind, {})
    core = scm_hw.Core(model, clock_mhz=100, **options)
    assert (core.design.fold is not None) == (kind == "folded")
    rows = check_rows(core.design, model.evaluation).inputs[:20]
    expected = interpret(core.design.meaning, rows)
    random, found = Random(1), []

    async def feed(ctx) -> None:
        for row in rows:
            while random.random() < 0.3:
                await ctx.tick()
            ctx.set(core.i.payload, dict(zip(core.inputs.members, row.tolist(), strict=True)))
            ctx.set(core.i.valid, 1)
            await ctx.tick().until(core.i.ready)
            ctx.set(core.i.valid, 0)

    async def take(ctx) -> None:
        for _ in rows:
            while random.random() < 0.3:
                await ctx.tick()
            ctx.set(core.o.ready, 1)
            (result,) = await ctx.tick().sample(core.o.payload).until(core.o.valid)
            ctx.set(core.o.ready, 0)
            found.append([int(result[name]) for name in core.outputs.members])

    simulator = Simulator(core)
    simulator.add_clock(1e-8)
    simulator.add_testbench(feed)
    simulator.add_testbench(take)
    simulator.run_until(2e-4)
    assert_array_equal(np.array(found), expected)


def test_signature_and_parameters() -> None:
    model = model_from_arrays(model_arrays(2, features=3, outputs=2))
    core = scm_hw.Core(model, board="ulx3s-85f", clock_mhz=50, pipeline="min-latency")
    assert isinstance(core, wiring.Component)
    assert core.signature.members["i"] == In(stream.Signature(core.inputs))
    assert list(core.inputs.members) == ["x0", "x1", "x2"]
    assert list(core.outputs.members) == ["y0", "y1"]
    assert (core.board, core.clock_mhz, core.options) == (
        "ulx3s-85f",
        50,
        {"pipeline": "min-latency"},
    )
    same = compile_model(
        model,
        boards.get("ulx3s-85f").at_clock(50),
        Options(clock_mhz=50, pipeline="min-latency"),
    )
    assert core.latency == same.schedule.latency
    assert core.design.program == same.program
    with pytest.raises(OptionError):
        scm_hw.Core(model, clock_mhz=10_000)


def test_the_package_offers_it_and_nothing_else() -> None:
    with pytest.raises(AttributeError, match="module 'scm_hw' has no attribute 'Cores'"):
        _ = scm_hw.Cores


def test_codes_and_results_are_those_of_the_model() -> None:
    """Decoded outputs are the reference's, within the rounding of the readout."""
    model = model_from_arrays(model_arrays(7, outputs=2))
    core = scm_hw.Core(model, frac_bits=16)
    for row in model.evaluation.inputs[:5]:
        codes = np.array([list(core.encode(row).values())])
        (result,) = interpret(core.design.meaning, codes)
        decoded = core.decode(dict(zip(core.outputs.members, result, strict=True)))
        assert_allclose(list(decoded.values()), np.ravel(predict(model, row[None])), atol=1e-3)


def predict(model: Model, rows: np.ndarray) -> np.ndarray:
    span = model.target_max - model.target_min
    return decision(model, rows) * span + model.target_min


def test_the_example_runs(tmp_path) -> None:
    arrays = model_arrays(5, features=3)
    path = write_model(tmp_path / "model.npz", arrays)
    row = arrays["eval_inputs"][0]
    run = subprocess.run(
        [sys.executable, EXAMPLE, path, *map(str, row)],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    core = scm_hw.Core(path, clock_mhz=100)
    (result,) = interpret(core.design.meaning, np.array([list(core.encode(row).values())]))
    expected = core.decode({"y0": result[0]})
    assert run.stdout == f"{expected} after {core.latency} cycles\n"
    assert len(re.findall(r"\S.*\n", EXAMPLE.read_text().partition('"""\n\n')[2])) <= 22
