from __future__ import annotations

import re
from pathlib import Path

import pytest

from scm_explore.evaluate import Outcome
from scm_explore.journal import FILE, Journal, open_journal
from scm_explore.space import Space
from scm_hw.errors import OptionError
from tests.explore.searches import journal_lines

ABOUT = {"name": "plant", "seed": 0}
POINT = Space(3, 5).default()


def found(error: float, lut: int, ns: float) -> Outcome:
    return Outcome({"error_held": error, "lut": lut, "latency_ns": ns, "nodes": (5,)}, b"model")


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    journal = open_journal(tmp_path / "out", ABOUT, resume=False)
    journal.add_point(1, POINT, found(0.1, 100, 20.0))
    journal.add_point(0, POINT, found(0.2, 50, 20.0))
    journal.add_point(2, POINT, Outcome({"error": "does not fit"}))
    journal.add_point(3, POINT, found(0.3, 60, 20.0))
    return journal


def reopened(journal: Journal) -> Journal:
    journal.close()
    return open_journal(journal.folder, ABOUT, resume=True)


def test_what_was_written_is_read_again(journal: Journal) -> None:
    journal.add_synthesis(1, Outcome({"lut": 90}))
    again = reopened(journal)
    assert again.points.keys() == journal.points.keys()
    assert [again.points[n].point for n in again.points] == [POINT] * 4
    assert again.points[1].objectives == (0.1, 90, 20.0)
    assert not again.points[2].buildable
    assert again.model_path(0).read_bytes() == b"model"
    again.close()


def test_a_line_cut_short_is_dropped(journal: Journal) -> None:
    path = journal.folder / FILE
    path.write_bytes(path.read_bytes()[:-9])
    again = reopened(journal)
    assert again.points.keys() == {0, 1, 2}
    again.add_point(3, POINT, found(0.3, 60, 20.0))
    again.close()
    assert len(journal_lines(journal.folder)) == 5


def test_synthesis_moves_the_front(journal: Journal) -> None:
    assert journal.front() == [1, 0]
    journal.add_synthesis(0, Outcome({"lut": 110}))
    assert journal.front() == [1, 3]
    assert journal.front(estimated=True) == [1, 0]
    assert journal.front(below=1) == [0]
    journal.add_synthesis(3, Outcome({"error": "design must fit"}))
    assert journal.front() == [1]
    journal.close()


def test_a_point_is_written_once(journal: Journal) -> None:
    with pytest.raises(AssertionError, match="point 1 must be done once"):
        journal.add_point(1, POINT, found(0.1, 100, 20.0))


def refused(journal: Journal, message: str, about: dict | None = None) -> None:
    journal.close()
    before = (journal.folder / FILE).read_bytes()
    with pytest.raises(OptionError, match=message) as caught:
        open_journal(journal.folder, about or ABOUT, resume=True)
    assert "\n" not in str(caught.value)
    assert (journal.folder / FILE).read_bytes() == before


def test_another_search_is_not_gone_on_with(journal: Journal) -> None:
    refused(
        journal,
        "resume the search in .* with --seed 1: it began with 0; give that",
        ABOUT | {"seed": 1},
    )


def test_damage_is_told(journal: Journal) -> None:
    path = journal.folder / FILE
    path.write_text(path.read_text().replace('"design"', '"desing"', 1))
    refused(journal, "line 2 of .* must describe a point, but lacks 'design'")


def test_nonsense_is_told(journal: Journal) -> None:
    path = journal.folder / FILE
    path.write_text(path.read_text() + "nonsense\n")
    refused(journal, "line 6 of .* must be JSON, not b'nonsense'")


def test_a_lost_model_is_told(journal: Journal) -> None:
    journal.model_path(3).unlink()
    refused(journal, "can't find the model .*p0003.npz of the journal")


def test_two_searches_in_a_folder_are_refused(journal: Journal) -> None:
    with pytest.raises(OptionError, match="another search is running in it"):
        open_journal(journal.folder, ABOUT, resume=True)
    journal.close()


def test_folders_of_others_are_left_alone(tmp_path: Path, journal: Journal) -> None:
    journal.close()
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "letter.txt").write_text("dear")
    (tmp_path / "file").write_text("")
    for name in ("own", "out", "file"):
        message = re.escape(
            f"output {tmp_path / name} must be new or empty; continue with --resume"
        )
        with pytest.raises(OptionError, match=message):
            open_journal(tmp_path / name, ABOUT, resume=False)
    with pytest.raises(OptionError, match=rf"can't resume in .*: it has no {FILE}"):
        open_journal(tmp_path / "own", ABOUT, resume=True)
    assert [p.name for p in (tmp_path / "own").iterdir()] == ["letter.txt"]


def test_contenders_have_a_margin_for_the_error_of_estimates(journal: Journal) -> None:
    """Point 3 is behind point 0 by an estimate that may be too high; the synthesis says."""
    assert journal.front() == [1, 0]
    assert journal.contenders() == [1, 0, 3]
    journal.add_synthesis(3, Outcome({"lut": 45}))
    assert journal.front() == [1, 0, 3]
    journal.add_point(4, POINT, found(0.3, 100, 20.0))
    assert 4 not in journal.contenders()
    journal.add_synthesis(0, Outcome({"lut": 70}))
    assert journal.contenders() == [1, 0, 3]
