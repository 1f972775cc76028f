"""Processors in Icarus: whole models loaded one after the other, in mid-stream and under stalls."""

from __future__ import annotations

import re
import zlib
from pathlib import Path
from random import Random

import numpy as np
import pytest
from amaranth.hdl import Mux, Signal, Value

from scm_hw import Core
from scm_hw.errors import OptionError
from scm_hw.ir.interp import interpret
from scm_hw.load import assemble
from scm_hw.load.upload import CHECK, HEADER_BYTES, LoadStatus
from scm_hw.rtl.reload import processor as rtl
from scm_hw.verify.check import simulate
from scm_hw.verify.rows import check_rows
from tests.hw.processors import (
    STATUS,
    machine,
    processor,
    run_in_icarus,
    upload_to,
    uploaded,
)
from tests.hw.reloading import RESET, REVERT, START, phases, results, words
from tests.hw.test_load_processor import REGRESSION

OLD = LoadStatus.BUILT_IN
NEW = LoadStatus.LOADED | LoadStatus.REVERTIBLE
TINY = "3 inputs,1 nodes,1 layers,1 outputs,12 steps,16 bits"


def rows_of(design, count: int = 24) -> np.ndarray:
    reach = design.input_ranges
    return np.random.default_rng(9).integers(0, reach[0].high + 1, (count, len(reach)))


@pytest.mark.parametrize("kind", ["classes", "families"])
def test_the_built_in_model_is_exact(kind: str, tmp_path: Path) -> None:
    design = processor(
        kind,
        "3 inputs,180 nodes,1 layers,3 outputs"
        if kind == "classes"
        else "4 inputs,180 nodes,2 layers,2 outputs",
    )
    simulate(design, check_rows(design, design.model.evaluation), "amaranth", tmp_path).check()


@pytest.mark.parametrize("handshake", ["global", "skid"])
def test_all_models_run_in_one_build(handshake: str, tmp_path: Path) -> None:
    """Each is loaded while samples go through the one before, under stalls on both sides."""
    design, inputs = processor(handshake=handshake), rows_of(processor())
    uploads = [upload_to(design, machine(kind)) for kind in REGRESSION[1:]]
    events = [event for upload in uploads for event in uploaded(upload.data, 700)]
    found = run_in_icarus(
        design, words(design, inputs), [*events, REVERT, *[None] * 700, STATUS], tmp_path
    )
    reverted = LoadStatus.REVERTED | LoadStatus.REVERTIBLE
    assert found.statuses == [NEW] * len(uploads) + [reverted]
    programs = [design.meaning, *(upload.meaning for upload in uploads), uploads[-2].meaning]
    assert min(phases(results(design, found), inputs, programs)) > 5


@pytest.mark.parametrize("fault", ["none", "a bank in mid-sample", "bits that aren't there"])
def test_a_result_is_of_one_model(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Uploads that end in every cycle of a sample, two models in turn; and faults that are seen."""
    if fault == "a bank in mid-sample":
        monkeypatch.setattr(rtl, "_Machine", _Careless)
    elif fault == "bits that aren't there":
        monkeypatch.setattr(assemble, "STORE_DISTANCE", 4)
    processor.cache_clear()
    design = processor("few", "2 inputs,2 nodes,1 layers,1 outputs,25 steps,16 bits")
    processor.cache_clear()
    inputs = rows_of(design, 7)
    uploads = [upload_to(design, machine(kind)) for kind in ("few others", "few")]
    turns = 40
    events: list = []
    for turn in range(turns):
        # Each turn ends a cycle later in the time of a sample, and the next begins at once or not.
        events += [*[None] * (80 + turn), START, *uploads[turn % 2].data, None, None, STATUS]
        if turn % 4 == 2:
            events += [START, *uploads[1].data[:80]]
    events += [None] * 200
    found = run_in_icarus(
        design, words(design, inputs), events, tmp_path, open_share=100, events_open=100
    )
    programs = [design.meaning, *(uploads[turn % 2].meaning for turn in range(turns))]
    try:
        counts = phases(results(design, found), inputs, programs)
        right = min(counts) > 3 and found.statuses == [NEW] * turns
    except AssertionError:
        right = False
    assert right == (fault == "none")


class _Careless(rtl._Machine):
    """Reads the bank that is active now, not the one that was as the sample was taken."""

    def _memory(self, name: str, section: int, width: int, address: Value) -> Signal:
        depth = self.capacity.upload.sections[section][0]
        taken = Signal()
        with self.m.If(self.accept):
            self.m.d.sync += taken.eq(self.loader.banks)
        moved = Mux(self.loader.banks == taken, 0, Mux(taken, -depth, depth))
        return super()._memory(name, section, width, address + moved)


def test_a_corrupt_byte_anywhere_leaves_the_old_model(tmp_path: Path) -> None:
    design = processor("linear part alone", TINY)
    inputs = rows_of(design, 5)
    data = upload_to(design, design.model).data
    random, events, reasons = Random(5), [], []
    for place in range(len(data)):
        torn = bytearray(data)
        torn[place] ^= 1 << random.randrange(8)
        events += uploaded(bytes(torn), 3)
        foreign, length = place < HEADER_BYTES - 4, place < HEADER_BYTES
        reasons.append(
            LoadStatus.FOREIGN if foreign else LoadStatus.LENGTH if length else LoadStatus.CRC
        )
    found = run_in_icarus(design, words(design, inputs), events, tmp_path, events_open=100)
    assert len(reasons) > 200 and found.statuses == [reason | OLD for reason in reasons]
    (count,) = phases(results(design, found), inputs, [design.meaning])
    assert count > 100


def test_broken_uploads_and_resets(tmp_path: Path) -> None:
    """An upload that is broken off, by another or by a reset, changes nothing; a model that was
    loaded stays after a reset."""
    design = processor()
    inputs = rows_of(design)
    other = upload_to(design, machine("families"))
    half = [START, *other.data[: len(other.data) // 2]]
    events = [*half, *[None] * 400, STATUS, RESET, *[None] * 400, STATUS, *half]
    events += [*uploaded(other.data, 400), RESET, *[None] * 400, STATUS]
    # Bytes that nobody announced.
    events += [*other.data[:900], *[None] * 20, STATUS, *half, RESET, REVERT, *[None] * 400, STATUS]
    found = run_in_icarus(design, words(design, inputs), events, tmp_path)
    assert found.statuses == [
        LoadStatus.BUSY | OLD,
        OLD,
        NEW,
        LoadStatus.REVERTIBLE,
        LoadStatus.REVERTIBLE,
        # The other bank was written in vain, and is no model to go back to.
        LoadStatus(0),
    ]
    # A reset drops a sample, and the next result is of the one that follows.
    expected = [interpret(program, inputs) for program in (design.meaning, other.meaning)]
    got, after = results(design, found), False
    for row in got:
        of_new = (expected[1] == row).all(axis=1).any()
        assert of_new or (not after and (expected[0] == row).all(axis=1).any())
        after = after or of_new
    assert after


def test_any_program_ends(tmp_path: Path) -> None:
    """Whatever is loaded, if its CRC is right: one without an end stops behind the last step."""
    design = processor()
    inputs = rows_of(design)
    upload = upload_to(design, machine("families"))
    plan = design.processor.capacity.upload
    noise = Random(3).randbytes(plan.payload_bytes)
    data = upload.data[:HEADER_BYTES] + noise
    data += CHECK.pack(zlib.crc32(data))
    events = [*uploaded(data, 2000), *uploaded(upload.data, 2000)]
    found = run_in_icarus(design, words(design, inputs), events, tmp_path)
    assert found.statuses == [NEW, NEW]
    last = results(design, found)[-1]
    assert (interpret(upload.meaning, inputs) == last).all(axis=1).any()


def test_a_component_has_no_pins_to_load_it() -> None:
    with pytest.raises(OptionError, match="reload must be none for a component"):
        Core(machine("one output"), reload="all")


def test_only_words_that_are_used_are_in_the_verilog() -> None:
    """Each is a line, and synthesis takes long to read many; the spare bank holds nothing."""
    for banks, kind in ((1, "families"), (2, "one output")):
        design = processor(kind, banks=banks)
        depth = [words for words, _ in design.processor.capacity.upload.sections]
        for name, size, used in zip(("steps", "rows"), depth, design.processor.used, strict=True):
            places = re.findall(rf"^ *{name}\[(\d+)\] = ", design.verilog, re.MULTILINE)
            assert list(map(int, places)) == list(range((banks - 1) * size + used))
