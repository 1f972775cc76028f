"""A core with a key: uploads by others, uploads that come again and torn ones change nothing."""

from __future__ import annotations

import zlib
from functools import cache
from pathlib import Path
from random import Random

import pytest

from scm_hw.build import BuildOptions, build
from scm_hw.design import Design, Options, compile_model
from scm_hw.emit.identity import describe
from scm_hw.errors import OptionError
from scm_hw.host.loading import upload_of
from scm_hw.load.siphash import COUNTER_BYTES, LoadKey, Seal
from scm_hw.load.upload import CHECK, HEADER_BYTES, LoadStatus, refusal_of, undone
from scm_hw.rtl.reload import loader
from scm_hw.verify import lint
from scm_model import write_model
from tests.hw.processors import STATUS, machine, run_in_icarus, uploaded
from tests.hw.reloading import BOARD, RESET, REVERT, START, phases, refitted, results, words
from tests.hw.test_reload_processor import rows_of

KEY, OTHER = LoadKey(bytes(range(7, 23))), LoadKey(bytes(range(8, 24)))
OLD = LoadStatus.BUILT_IN
NEW = LoadStatus.LOADED | LoadStatus.REVERTIBLE
BACK = LoadStatus.REVERTED | LoadStatus.REVERTIBLE
WAIT = 40


@cache
def designed(reload: str) -> Design:
    room = "2 inputs,2 nodes,1 layers,1 outputs,25 steps,16 bits" if reload == "all" else None
    return compile_model(machine("few"), BOARD, Options(reload=reload, capacity=room, load_key=KEY))


def sealed(reload: str, counter: int, key: LoadKey = KEY, seed: int = 1):
    model = machine("few others") if reload == "all" else refitted(machine("few"), seed)
    return upload_of(describe(designed(reload)), model, 0, Seal(key, lambda: counter))


def statuses(
    reload: str, uploads: list, folder: Path, programs: list, events_open: int = 100
) -> list[LoadStatus]:
    """Of uploads and other events in turn, while every result is of a program that is due."""
    design = designed(reload)
    inputs = rows_of(design, 7)
    events: list = []
    for one in uploads:
        data = uploaded(one, WAIT) if isinstance(one, bytes) else [*one, *[None] * WAIT, STATUS]
        events += data
    events += [None] * 150
    found = run_in_icarus(design, words(design, inputs), events, folder, events_open=events_open)
    if RESET not in [event for one in uploads if not isinstance(one, bytes) for event in one]:
        assert min(phases(results(design, found), inputs, programs)) > 0
    return found.statuses


@pytest.mark.parametrize("reload", ["readout", "all"])
def test_only_the_key_and_a_later_counter_open(reload: str, tmp_path: Path) -> None:
    right, later = sealed(reload, 1000), sealed(reload, 1001)
    plain = sealed(reload, 1002).data
    bare = plain[:HEADER_BYTES] + plain[HEADER_BYTES + COUNTER_BYTES : -12]
    bare += CHECK.pack(zlib.crc32(bare))
    digest = right.data[:16]
    uploads = [
        sealed(reload, 5000, OTHER).data,
        right.data,
        right.data,
        sealed(reload, 999).data,
        [REVERT],
        undone(digest, Seal(OTHER, lambda: 2000)),
        undone(digest, Seal(KEY, lambda: 1000)),
        undone(digest, Seal(KEY, lambda: 1001)),
        later.data,
        sealed(reload, 1002).data,
        # Made without a key, it ends in the middle of what is expected.
        bare,
    ]
    meaning = designed(reload).meaning
    programs = [meaning, right.meaning]
    assert statuses(reload, uploads, tmp_path, programs) == [
        LoadStatus.KEY | OLD,
        NEW,
        LoadStatus.REPLAY,
        # The spare bank was written in vain.
        LoadStatus.REPLAY,
        LoadStatus.REPLAY,
        LoadStatus.KEY,
        LoadStatus.REPLAY,
        LoadStatus(0),
        LoadStatus.REPLAY,
        NEW,
        LoadStatus.BUSY,
    ]


def test_the_model_before_comes_back_with_the_key(tmp_path: Path) -> None:
    right = sealed("readout", 1000)
    digest = right.data[:16]
    uploads = [
        right.data,
        [REVERT],
        undone(digest, Seal(OTHER, lambda: 2000)),
        undone(digest, Seal(KEY, lambda: 2000)),
        undone(digest, Seal(KEY, lambda: 2000)),
        # What was used before is not used again after a reset.
        [RESET],
        right.data,
        sealed("readout", 2001).data,
    ]
    assert statuses("readout", uploads, tmp_path, []) == [
        NEW,
        NEW,
        LoadStatus.KEY | LoadStatus.REVERTIBLE,
        BACK | OLD,
        LoadStatus.REPLAY | LoadStatus.REVERTIBLE | OLD,
        LoadStatus.REVERTIBLE | OLD,
        LoadStatus.REPLAY | OLD,
        NEW,
    ]


def test_a_torn_upload_with_a_right_crc_is_refused(tmp_path: Path) -> None:
    """As by one who has an upload and no key: a byte anywhere, or the end missing."""
    data, random = sealed("readout", 1000).data[:-4], Random(3)
    uploads, expected = [], []
    for place in range(len(data)):
        torn = bytearray(data)
        torn[place] ^= 1 << random.randrange(8)
        uploads.append(bytes(torn) + CHECK.pack(zlib.crc32(torn)))
        foreign, length = place < HEADER_BYTES - 4, place < HEADER_BYTES
        reason = LoadStatus.FOREIGN if foreign else LoadStatus.LENGTH if length else LoadStatus.KEY
        expected.append(reason | OLD)
    for end in range(HEADER_BYTES, len(data), 7):
        uploads.append([START, *data[:end]])
        expected.append(LoadStatus.BUSY | OLD)
    assert statuses("readout", uploads, tmp_path, [designed("readout").meaning]) == expected


@pytest.mark.parametrize("fault", ["hash", "counter"])
def test_a_careless_loader_is_found(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Careless(loader._Seal):
        def verdict(self, right) -> None:
            if fault == "hash":
                self.given = self.hash.tag
            else:
                self.highest = loader.Signal(8 * COUNTER_BYTES)
                self.counter = self.counter | 1
            super().verdict(right)

    if fault == "counter":
        # It never remembers what was used.
        monkeypatch.setattr(loader, "COUNTER_BYTES", COUNTER_BYTES)
    monkeypatch.setattr(loader, "_Seal", Careless)
    designed.cache_clear()
    try:
        wrong = sealed("readout", 5, OTHER if fault == "hash" else KEY)
        first = [wrong.data] if fault == "hash" else [sealed("readout", 6).data, wrong.data]
        found = statuses("readout", first, tmp_path, [designed("readout").meaning, wrong.meaning])
        refused = LoadStatus.KEY if fault == "hash" else LoadStatus.REPLAY
        assert (refused in found[-1]) == (fault == "counter")
    finally:
        designed.cache_clear()


@pytest.mark.parametrize("reload", ["readout", "all"])
def test_lint_has_nothing_to_say(reload: str, tmp_path: Path) -> None:
    design = designed(reload)
    (tmp_path / "scm_core.v").write_text(design.verilog)
    lint([tmp_path / "scm_core.v"], "scm_core")


def test_reasons_are_told_apart() -> None:
    assert "another key" in refusal_of(LoadStatus.KEY | OLD)
    assert "not later" in refusal_of(LoadStatus.REPLAY)
    assert "CRC" in refusal_of(LoadStatus.CRC)
    assert refusal_of(NEW) is None


def test_a_key_is_asked_for_and_not_told(tmp_path: Path) -> None:
    design = designed("readout")
    with pytest.raises(OptionError, match="load key must be given for a core that was built"):
        upload_of(describe(design), design.model)
    without = compile_model(machine("few"), BOARD, Options(reload="readout"))
    with pytest.raises(OptionError, match="load key must be left out for a core that was built"):
        upload_of(describe(without), design.model, 0, Seal(KEY))
    with pytest.raises(OptionError, match="load key must be for a core that is loaded"):
        Options(load_key=KEY)
    other = compile_model(machine("few"), BOARD, Options(reload="readout", load_key=OTHER))
    assert len({design.digest, without.digest, other.digest}) == 3
    path = tmp_path / "model.npz"
    write_model(machine("few"), path)
    how = BuildOptions(out=tmp_path / "built", simulators=(), synthesis=False)
    options = Options(reload="readout", load_key=KEY)
    build(path, BOARD, options, how)
    for file in how.out.rglob("*"):
        if file.is_file():
            assert KEY.value not in file.read_bytes()
            assert KEY.value.hex() not in file.read_text(errors="replace").lower()
    assert KEY.value.hex() not in repr(options)
