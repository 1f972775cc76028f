"""Machines with memory in hardware: records of samples, exact in every simulator."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from scm_hw import boards
from scm_hw.build import BuildOptions, build
from scm_hw.design import Design, Options, compile_model
from scm_hw.errors import MismatchError, OptionError
from scm_hw.host import Board
from scm_hw.host.compare import compare
from scm_hw.host.emulator import Emulator, compile_emulator, fastest_baud
from scm_hw.rtl import records
from scm_hw.verify import SimResult, run_amaranth
from scm_hw.verify.check import select_vectors, simulate
from scm_hw.verify.rows import CheckRows, check_rows
from scm_model import Encoder, Layer, Memory, Model, TableModel, Tap, read_model, write_model

SIGNALS = ("u", "v")
OPEN = ((0, 0), (0, 2), (1, 1))
FEEDBACK = ((0, 0), (1, 0), (1, 3), (2, 1), (2, 3), (3, 2))
RECORDS = (0, 7, 31)


def machine(taps=OPEN, outputs=1, *, coded=True, classes=None, plant=(), seed=0) -> Model:
    """A few sign nodes on taps of two signals, with records of their own; a table of ``plant``."""
    rng, d = np.random.default_rng(seed), len(taps)
    rest = np.full(len(SIGNALS) + outputs, 0.75)
    memory = Memory(SIGNALS, tuple(Tap(*tap) for tap in taps), rest)
    own = np.array([[source >= memory.sources] for source, _ in taps])
    names = tuple(f"y{j}" for j in range(outputs))
    encoder = Encoder("none", 8, (), (), None, d)
    if coded:
        levels = tuple((40 + 5 * i, 90, 200 - i) for i in range(d))
        encoder = Encoder("thermometer", 8, (3,) * d, levels, "quantile", d)
    layer = Layer(
        np.where(rng.random((6, encoder.width)) < 0.5, -1, 1).astype(np.int8),
        np.ones(6),
        rng.uniform(-1, 1, 6),
        "sign",
    )
    model = Model(
        task="regression" if classes is None else "classification",
        algorithm="SCM",
        encoder=encoder,
        layers=(layer,),
        readout=rng.normal(0, 0.15, (6, outputs)),
        linear=np.where(own, 0.0, rng.normal(0, 0.4, (d, outputs))),
        intercept=np.full(outputs, 0.4),
        input_min=np.zeros(d),
        input_max=np.ones(d),
        target_min=np.zeros(outputs),
        target_max=np.ones(outputs),
        features=memory.names(names),
        targets=names if classes is None else tuple(str(c) for c in classes),
        classes=classes,
        memory=memory,
    )
    if plant:
        grid = rng.normal(0, 0.2, (*(5,) * len(plant), outputs))
        model = replace(model, mechanism=TableModel(np.array(plant, dtype=np.int32), grid))
    X, first = rng.uniform(-0.1, 1.1, size=(60, 2)), np.isin(np.arange(60), RECORDS)
    if classes is not None:
        return model.with_evaluation(X, rng.integers(0, len(classes), 60), first=first)
    told = {"simulate": True} if memory.feedback else {}
    y = model.predict(X, first=first, **told) + rng.normal(0, 0.05, (60, outputs))
    return model.with_evaluation(X, y, first=first)


KINDS = {
    "open": {},
    "plain": {"coded": False},
    "classes": {"outputs": 3, "classes": ("a", "b", "c")},
    "feedback": {"taps": FEEDBACK, "outputs": 2, "coded": False},
    "recurrent": {"taps": ((0, 0), (1, 2), (3, 1), (6, 1), (8, 1)), "seed": 1},
    "recurrent classes": {
        "taps": ((0, 0), (1, 0), (6, 1), (5, 1)),
        "outputs": 3,
        "classes": ("a", "b", "c"),
    },
    "plant": {"taps": ((0, 0), (2, 1), (2, 2), (1, 1)), "plant": (0, 1), "coded": False},
    "coded feedback": {"taps": ((0, 1), (1, 0), (2, 1), (2, 2)), "seed": 3},
}


def designed(kind: str, **options: object) -> tuple[Design, CheckRows]:
    model = machine(**KINDS[kind])
    design = compile_model(model, boards.get("arty-a7"), Options(**options))
    return design, check_rows(design, model.evaluation)


def stepwise(design: Design, inputs: np.ndarray) -> np.ndarray:
    """The outputs row by row from a history in plain lists, apart from what the package does."""
    from scm_hw.ir.interp import interpret

    history, program = design.records, design.meaning
    signals, found = len(history.signals), []
    past: list[list[int]] = []
    for row in inputs.tolist():
        if row[-1]:
            past = []
        past.append([*row[:-1], *history.rest[signals:]])
        taps = [
            past[-1 - tap.lag][tap.source] if tap.lag < len(past) else history.rest[tap.source]
            for tap in history.taps
        ]
        out = interpret(program, np.array([taps]))[0].tolist()
        out, bits = out[: len(out) - history.nodes], out[len(out) - history.nodes :]
        if history.feedback:
            tops = [(1 << design.fixed.grid_bits) - 1] * len(out)
            out = [min(max(value, 0), top) for value, top in zip(out, tops, strict=True)]
            # In place of the rest: this row's outputs, for the rows behind it.
            past[-1][signals:] = [value >> history.shift for value in out]
        past[-1][history.nodes_from :] = [255 * bit for bit in bits]
        found.append([*out, int(len(past) > history.depth)])
    return np.array(found)


@pytest.mark.parametrize("kind", KINDS)
def test_records_mean_what_a_history_in_lists_gives(kind: str) -> None:
    design, rows = designed(kind)
    assert_array_equal(rows.outputs, stepwise(design, rows.inputs))
    assert set(rows.outputs[:, -1].tolist()) == {0, 1}


@pytest.mark.parametrize("fold", ["none", "1x1"])
@pytest.mark.parametrize("kind", KINDS)
def test_cores_are_exact(kind: str, fold: str, tmp_path: Path) -> None:
    """All in Amaranth's simulator, under stalls and resets; Verilog of one fold each."""
    if fold != "none" and kind.startswith("recurrent"):
        with pytest.raises(OptionError, match="fold must be none or auto for a machine whose"):
            designed(kind, fold=fold)
        return
    design, rows = designed(kind, fold=fold)
    simulate(design, rows, "amaranth", tmp_path).check()
    if (fold == "none") == (list(KINDS).index(kind) % 2 == 1):
        simulate(design, rows, "icarus", tmp_path).check()


@pytest.mark.parametrize(
    ("kind", "handshake", "fold"),
    [
        ("open", "skid", "none"),
        ("open", "none", "none"),
        ("plain", "skid", "1x1"),
        ("feedback", "skid", "none"),
        ("feedback", "skid", "1x1"),
        ("plant", "skid", "none"),
        ("recurrent", "skid", "none"),
    ],
)
def test_every_handshake(kind: str, handshake: str, fold: str, tmp_path: Path) -> None:
    design, rows = designed(kind, handshake=handshake, fold=fold)
    simulate(design, rows, "amaranth", tmp_path).check()


def test_the_rows_that_are_scored_have_a_full_history() -> None:
    design, rows = designed("feedback")
    model = design.model
    full = model.memory.complete(model.evaluation.first)
    assert len(rows.evaluation) == full.sum() == len(rows.hardware)
    found = model.predict(model.evaluation.inputs, first=model.evaluation.first, simulate=True)
    hardware = rows.hardware / 2.0**design.fixed.grid_bits
    np.testing.assert_allclose(hardware, found[full], atol=0.05)
    np.testing.assert_allclose(rows.activity.output, found[full], atol=1e-12)


def test_a_history_that_forgets_to_begin_is_found(tmp_path: Path) -> None:
    design, rows = designed("open")
    rest = tuple(value ^ 1 for value in design.records.rest)
    wrong = replace(design, records=replace(design.records, rest=rest))
    with pytest.raises(MismatchError):
        simulate(wrong, rows, "amaranth", tmp_path).check()


def test_bits_that_outlive_their_record_are_found(tmp_path: Path) -> None:
    design, rows = designed("recurrent")
    history = design.records
    assert design.initiation_interval == design.latency
    rest = (*history.rest[: history.nodes_from], *[255] * history.nodes)
    wrong = replace(design, records=replace(history, rest=rest))
    with pytest.raises(MismatchError):
        simulate(wrong, rows, "amaranth", tmp_path).check()


def test_recurrent_nodes_are_refused_where_they_do_not_go() -> None:
    with pytest.raises(OptionError, match="handshake must be global or skid for a machine whose"):
        designed("recurrent", handshake="none")
    with pytest.raises(OptionError, match="reload must be none for a machine with memory"):
        designed("recurrent", reload="readout")


def test_a_lag_too_many_is_found(tmp_path: Path) -> None:
    design, rows = designed("feedback")
    taps = tuple(tap._replace(lag=tap.lag + (tap.lag == 3)) for tap in design.records.taps)
    wrong = replace(design, records=replace(design.records, taps=taps))
    with pytest.raises(MismatchError):
        simulate(wrong, rows, "amaranth", tmp_path).check()


def unmarked(design: Design, rows: CheckRows) -> SimResult:
    """A run whose first sample after a reset has no bit that begins a record."""
    vectors = select_vectors(design, rows, 40)
    assert vectors.begins(0)
    begin = vectors.inputs[0] & ~(1 << (vectors.in_width - 1))
    vectors = replace(vectors, inputs=(begin, *vectors.inputs[1:]))
    return run_amaranth(design.new_core, vectors, design.latency, design.initiation_interval)


@pytest.mark.parametrize("fold", ["none", "1x1"])
def test_a_reset_begins_a_record(fold: str, monkeypatch: pytest.MonkeyPatch) -> None:
    design, rows = designed("open", fold=fold)
    unmarked(design, rows).check()
    signal = records.Signal
    # A history that outlives a reset.
    monkeypatch.setattr(records, "Signal", lambda *shape, init=0, **more: signal(*shape, **more))
    with pytest.raises(MismatchError):
        unmarked(design, rows).check()


@pytest.mark.parametrize("kind", ["open", "feedback", "recurrent"])
def test_a_build_to_the_netlist_and_the_bus(kind: str, tmp_path: Path) -> None:
    write_model(machine(**KINDS[kind]), tmp_path / "m.npz")
    how = BuildOptions(out=tmp_path / "out", simulators=("icarus",), gate_sim=True)
    options = Options(interface="axis" if kind == "open" else "axil")
    report = build(tmp_path / "m.npz", boards.get("arty-a7"), options, how).report
    assert all(verdict["mismatches"] == 0 for verdict in report["bit_exact"].values())
    assert set(report["bit_exact"]) == {"icarus", "netlist"}
    names = [port["name"] for port in report["formats"]["in_data"]]
    assert names == ["u", "v", "first"]
    assert report["formats"]["out_data"][-1]["name"] == "complete"
    assert report["initiation_interval"] == (1 if kind == "open" else report["latency_cycles"])


def test_an_emulated_board_keeps_the_past(tmp_path: Path) -> None:
    write_model(machine(**KINDS["feedback"]), tmp_path / "m.npz")
    model = read_model(tmp_path / "m.npz")
    design = compile_model(
        model, boards.get("arty-a7"), Options(baud=fastest_baud(boards.get("arty-a7")))
    )
    program = compile_emulator(design, tmp_path, "m")
    with (
        Emulator(program).running() as emulator,
        Board(emulator.port, baud=design.options.baud) as link,
    ):
        found = compare(link, model, model.evaluation)
        found.check()
        # Without the column that begins records, all rows are one.
        alone = link.predict(model.evaluation.inputs[:7])
    expected = model.predict(model.evaluation.inputs[:7], simulate=True)
    np.testing.assert_allclose(alone, expected, atol=0.05)


def test_sensors_of_signals_are_those_of_their_taps(tmp_path: Path) -> None:
    design, rows = designed("open", input_format=("u=adc:10:-1:2",))
    assert [reach.width for reach in design.input_ranges] == [10, 8, 1]
    assert_array_equal(rows.outputs, stepwise(design, rows.inputs))
    simulate(design, rows, "amaranth", tmp_path).check()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"output_units": True}, "output units must be left out for a machine that sees its own"),
        ({"handshake": "none"}, "handshake must be global or skid for a machine that sees its own"),
        ({"output_bits": 3}, "output bits must be at least 8 for a machine that sees its own"),
    ],
)
def test_what_feedback_cannot_have(options: dict, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        designed("feedback", **options)
