"""Several models in one core: each sample is worked out with the one that its field names."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from scm_hw.design import Design, Options, compile_model
from scm_hw.emit.identity import describe
from scm_hw.errors import OptionError
from scm_hw.host.loading import upload_of
from scm_hw.ir.interp import interpret
from scm_hw.load import Model
from scm_hw.load.upload import LENGTH_BITS, LoadStatus
from scm_hw.rtl.reload import core
from scm_hw.rtl.uart.description import Description
from scm_hw.verify.check import simulate
from scm_hw.verify.rows import check_rows
from tests.hw.processors import STATUS, machine, run_in_icarus, uploaded
from tests.hw.reloading import BOARD, REVERT, refitted, results, words
from tests.support import random_model

BANKS = 3
LOADED = LoadStatus.LOADED | LoadStatus.REVERTIBLE
ROOM = "3 inputs,60 nodes,2 layers,2 outputs,70 steps,32 bits"


@cache
def designed(reload: str, handshake: str = "global") -> Design:
    room = ROOM if reload == "all" else None
    model = machine("codes")
    options = Options(reload=reload, capacity=room, banks=BANKS, handshake=handshake)
    return compile_model(model, BOARD, options)


def others(reload: str) -> list[Model]:
    if reload == "all":
        return [machine("steps"), machine("two layers")]
    return [refitted(machine("codes"), seed) for seed in (1, 2)]


def rows_of(design: Design, count: int = 30) -> np.ndarray:
    rng = np.random.default_rng(4)
    reach = design.input_ranges
    return np.stack([rng.integers(0, r.high, count, endpoint=True) for r in reach], axis=1)


def played(reload: str, folder: Path, handshake: str = "global") -> bool:
    """Whether every result is of the model that was in the bank of its sample, or came into it."""
    design = designed(reload, handshake)
    inputs, told = rows_of(design), describe(design)
    one, other = others(reload)
    first, second = upload_of(told, one, 1), upload_of(told, other, 2)
    wait = 3000 if reload == "all" else 200
    pause = [None] * wait
    wrong = bytearray(first.data)
    wrong[LENGTH_BITS // 8 + 16] = BANKS
    events = [*pause, *uploaded(first.data, wait), *uploaded(second.data, wait)]
    events += [*uploaded(bytes(wrong), wait), REVERT, *pause, STATUS]
    found = run_in_icarus(design, words(design, inputs), events, folder)
    assert found.statuses == [
        LOADED,
        LOADED,
        LoadStatus.LENGTH | LoadStatus.REVERTIBLE,
        LoadStatus.REVERTED | LoadStatus.REVERTIBLE,
    ]
    old = interpret(design.meaning, inputs)
    new = [old, interpret(first.meaning, inputs), interpret(second.meaning, inputs)]
    got, bank = results(design, found), inputs[:, -1]
    turns = np.arange(len(got)) % len(inputs)
    # At most one change in the first and third bank, and two in the last.
    for k in range(BANKS):
        of_bank = np.flatnonzero(bank[turns] == k)
        is_old = (got[of_bank] == old[turns[of_bank]]).all(axis=1)
        is_new = (got[of_bank] == new[k][turns[of_bank]]).all(axis=1)
        if not (is_old | is_new).all():
            return False
        changes = np.flatnonzero(np.diff((is_new & ~is_old).astype(int)))
        both = (old[bank == k] == new[k][bank == k]).all(axis=1).any()
        if k and (both or len(changes) != k):
            return False
    return True


@pytest.mark.parametrize("handshake", ["global", "skid"])
@pytest.mark.parametrize("reload", ["readout", "all"])
def test_a_sample_is_of_the_model_that_it_names(
    reload: str, handshake: str, tmp_path: Path
) -> None:
    assert played(reload, tmp_path, handshake)


@pytest.mark.parametrize("reload", ["readout", "all"])
def test_a_wrong_bank_is_seen(reload: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = core.bank_of
    module = "scm_hw.rtl.reload.core" if reload == "readout" else "scm_hw.rtl.reload.processor"
    monkeypatch.setattr(f"{module}.bank_of", lambda loader, number: right(loader, number ^ 1))
    designed.cache_clear()
    try:
        assert not played(reload, tmp_path)
    finally:
        designed.cache_clear()


def test_simulators_agree(tmp_path: Path) -> None:
    design = designed("readout")
    simulate(design, check_rows(design, design.model.evaluation), "amaranth", tmp_path).check()


@pytest.mark.parametrize("reload", ["readout", "all"])
def test_the_description_has_the_field(reload: str) -> None:
    design = designed(reload)
    told = describe(design, "demo")
    assert Description.decode(told.encode()) == told
    assert told.features[-1].name == "bank" and told.models == BANKS
    assert told.in_widths == list(design.ports.in_widths)
    rows = design.model.evaluation.inputs
    assert_array_equal(told.inputs(rows, bank=2)[:, -1], 2)
    for bank in (-1, BANKS):
        with pytest.raises(OptionError, match=rf"bank must be in \[0, 2\], not {bank}"):
            told.inputs(rows, bank=bank)
        with pytest.raises(OptionError, match=rf"bank must be in \[0, 2\], not {bank}"):
            upload_of(told, design.model, bank)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"banks": 0}, r"banks must be in \[1, 16\], not 0"),
        ({"banks": 17, "reload": "readout"}, r"banks must be in \[1, 16\], not 17"),
        ({"banks": 2}, "banks must be 1 for a core that holds one model, not 2"),
    ],
)
def test_banks_that_can_not_be_are_refused(options: dict, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        Options(**options)


def test_an_external_mechanism_has_one_model() -> None:
    with pytest.raises(OptionError, match="banks must be 1 for an external mechanism"):
        compile_model(
            random_model(3, mechanism="external"), BOARD, Options(reload="readout", banks=2)
        )
