"""The tables and the page of the paper's evaluation, from trials that were never run."""

import json
from dataclasses import replace

import numpy as np
import pytest

from bench import paper
from bench.paper_cases import KEPT_LABEL, Line, Section
from bench.paper_figures import Published
from bench.paper_journal import Journal
from bench.paper_report import write
from bench.paper_settings import ALGORITHMS
from bench.paper_tables import markdown, rankings, rows_of, worse
from tests.bench.trials import TINY, found, job, run_main, section_of


def test_tables_show_what_the_journal_says(tmp_path):
    section = section_of("SCM", "SCN")
    journal = Journal(tmp_path / "j.jsonl")
    journal.add(section.lines[0].job, 0, found(0.1, lut=7, dsp=0, cycles=3, folded=False))
    journal.add(section.lines[0].job, 1, found(0.3))
    rows = rows_of(section, journal)
    (row,) = rows
    assert row["trials"] == 2
    assert row["test"] == {"mean": 0.2, "std": pytest.approx(0.02**0.5)}
    assert row["paper"] == {"mean": 0.1, "std": 0.01}
    line = markdown(section, rows).splitlines()[-1]
    expected = "| R-DB7 tyukin | SCM | paper | 2 | 0.10000 ± 0.01000 | 0.20000 ± 0.14142 |"
    assert line == f"{expected} 0.10000 ± 0.07071 | 4 | 7 | 3 | 1.0 |"


def test_earlier_lines_are_kept_where_a_run_has_fewer_trials(tmp_path):
    section = section_of("SCM", "SCN", "IRVFL")
    first, then = (Journal(tmp_path / name) for name in ("first", "then"))
    for line, scores in zip(section.lines, ((0.1, 0.2), (0.3,), (0.4,)), strict=True):
        for trial, score in enumerate(scores):
            first.add(line.job, trial, found(score))
    write([section], first, [], tmp_path / "paper")
    then.add(section.lines[0].job, 0, found(0.9))
    for trial, score in enumerate((0.5, 0.7, 0.9)):
        then.add(section.lines[1].job, trial, found(score))
    again = [replace(line, job=replace(line.job, parameters=TINY)) for line in section.lines[2:]]
    section = replace(section, lines=(*section.lines[:2], *again))
    write([section], then, [], tmp_path / "paper", keep=True)
    rows = json.loads((tmp_path / "paper.json").read_text())["tables"]["x"]
    # IRVFL has other parameters now.
    assert [(row["learner"], row["trials"]) for row in rows] == [("SCM", 2), ("SCN", 2)]
    assert [row["test"]["mean"] for row in rows] == pytest.approx([0.15, 0.6])
    write([section], then, [], tmp_path / "paper")
    rows = json.loads((tmp_path / "paper.json").read_text())["tables"]["x"]
    assert [row["test"]["mean"] for row in rows] == pytest.approx([0.9, 0.7])


def test_a_line_that_is_run_again_is_no_limit_to_itself(tmp_path):
    section = section_of("SCM")
    first, then = (Journal(tmp_path / name) for name in ("first", "then"))
    for journal, trials in ((first, 2), (then, 3)):
        for trial in range(trials):
            journal.add(section.lines[0].job, trial, found(0.1 * trial))
    write([section], first, [], tmp_path / "paper")
    write([section], then, [], tmp_path / "paper", keep=True)
    (row,) = json.loads((tmp_path / "paper.json").read_text())["tables"]["x"]
    assert (row["trials"], row["test"]["mean"]) == (3, pytest.approx(0.1))


def test_a_run_of_some_lines_keeps_the_others(tmp_path, monkeypatch):
    # All tables are gone through, but not all their data sets need be here.
    monkeypatch.setattr(paper, "_why_missing", lambda name: None)
    run_main(tmp_path, "--trials", "1")
    (tmp_path / "j.jsonl").unlink()
    more = ["--algorithms", "DIRVFL-I", "--trials", "1"]
    learners = {
        keep: [row["learner"] for row in run_main(tmp_path, *more, *keep)["tables"]["regression"]]
        for keep in (("--keep",), ())
    }
    assert learners == {("--keep",): ["IRVFL", "DIRVFL-I"], (): ["DIRVFL-I"]}


def test_lines_of_data_that_are_gone_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(paper, "_why_missing", lambda name: None)
    before = run_main(tmp_path, "--trials", "1")["tables"]["regression"]
    gone = {"tyukin": "no file tyukin.csv", "abalone": "no file abalone.csv"}
    monkeypatch.setattr(paper, "_why_missing", gone.get)
    assert run_main(tmp_path, "--show", "--keep")["tables"]["regression"] == before
    page = (tmp_path / "paper.md").read_text()
    assert "R-DB1 abalone is not at hand" in page
    assert "tyukin is not at hand" not in page


def test_a_sign_machine_stands_beside_the_papers_on_the_same_splits(tmp_path):
    published = Published(0.0, 0.15, 0.01)
    lines = [
        Line("tyukin", "SCM, sign", job(parameters={"encoder": "none"}), published),
        Line("tyukin", "SCM", job(protocol="paper"), published),
        Line("tyukin", "SCM", job(), published),
        Line("concrete", "SCM", job(dataset="concrete"), published),
    ]
    journal = Journal(tmp_path / "j.jsonl")
    for line, score in zip(lines, (0.2, 0.3, 0.4, 0.5), strict=True):
        journal.add(line.job, 0, found(score))
    write([Section("x", "X", tuple(lines), True)], journal, [], tmp_path / "paper")
    told = "- tyukin: 0.20000 against 0.15000 (1 trial), not better; the paper's SCM here: 0.30000"
    assert f"{told} under `paper`, 0.40000 under `clean`\n" in (tmp_path / "paper.md").read_text()
    journal.add(lines[0].job, 1, found(0.2))
    write([Section("x", "X", tuple(lines), True)], journal, [], tmp_path / "paper")
    assert "the paper's SCM here" not in (tmp_path / "paper.md").read_text()


def test_what_is_worse_is_said_and_the_order_told(tmp_path):
    section = section_of(*ALGORITHMS)
    journal = Journal(tmp_path / "j.jsonl")
    for line, score in zip(section.lines, (0.1, 0.2, 0.3, 0.4, 0.45, 0.5), strict=True):
        journal.add(line.job, 0, found(score))
    rows = rows_of(section, journal)
    assert [row["learner"] for row in worse(rows)] == ["SCM", "IRVFL"]
    (order,) = rankings(rows)
    assert order["ours"] == list(ALGORITHMS)
    assert order["paper"] == ["SCM", "SCN", "IRVFL", "DeepSCN", "DIRVFL-I", "DIRVFL-II"]


def test_the_order_by_the_other_reading_is_told_where_it_differs(tmp_path):
    section = section_of(*ALGORITHMS)
    scm = section.lines[list(ALGORITHMS).index("SCM")]
    other = replace(scm, label=KEPT_LABEL, job=replace(scm.job, parameters=TINY))
    section = replace(section, lines=(*section.lines, other))
    journal = Journal(tmp_path / "j.jsonl")
    scores = (0.1, 0.2, 0.3, 0.4, 0.45, 0.5, 0.05)
    for line, score in zip(section.lines, scores, strict=True):
        journal.add(line.job, 0, found(score))
    write([section], journal, [], tmp_path / "paper")
    page = (tmp_path / "paper.md").read_text()
    assert "; tau to stop alone: SCM, SCN, DeepSCN, IRVFL, DIRVFL-I, DIRVFL-II)" in page
    (order,) = json.loads((tmp_path / "paper.json").read_text())["rankings"]
    assert order["ours"] == list(ALGORITHMS)


@pytest.mark.parametrize(
    ("scores", "remark"),
    [
        ((0.3,), "one trial, which tells little"),
        ((0.0, 0.3), "within 2 standard errors of our mean"),
        ((0.3, 0.3001), "not explained"),
    ],
)
def test_what_is_worse_has_a_remark(scores, remark, tmp_path, monkeypatch):
    monkeypatch.setattr("bench.paper_report.REASONS", {})
    section = section_of("SCM")
    journal = Journal(tmp_path / "j.jsonl")
    for trial, score in enumerate(scores):
        journal.add(section.lines[0].job, trial, found(score))
    write([section], journal, ["R-DB6 x is not at hand: no file in /home"], tmp_path / "paper")
    text = (tmp_path / "paper.md").read_text()
    told = f"- tyukin\n  - SCM: {np.mean(scores):.5f} against 0.10000 ({len(scores)} trial"
    assert told in text
    assert text.rstrip().endswith(remark)
    monkeypatch.setattr("bench.paper_report.REASONS", {"tyukin": "because"})
    write([section], journal, [], tmp_path / "paper")
    assert told.replace("tyukin", "tyukin: because") in (tmp_path / "paper.md").read_text()
    assert "- R-DB6 x is not at hand.\n" in text
    assert "/home" not in text + (tmp_path / "paper.json").read_text()


def test_lines_on_the_same_data_are_compared_on_the_same_splits(tmp_path):
    section = section_of("SCM", "SCN", "IRVFL")
    journal = Journal(tmp_path / "j.jsonl")
    for line, scores in zip(section.lines, ((0.1, 0.3, 0.9), (0.2, 0.4), (0.5,)), strict=True):
        for trial, score in enumerate(scores):
            journal.add(line.job, trial, found(score))
    rows = rows_of(section, journal)
    assert [r["trials"] for r in rows] == [2, 2, 1]
    np.testing.assert_allclose([r["test"]["mean"] for r in rows], [0.2, 0.3, 0.5])
