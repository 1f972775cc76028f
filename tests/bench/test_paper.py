"""The paper's evaluation on tiny settings: no trial twice, no protocol mixed with the other."""

import json
from dataclasses import replace

import numpy as np
import pytest

import scm_train
from bench import paper, paper_trial
from bench.paper_cases import KEPT_LABEL, NAMES, SECTIONS, Line, Section
from bench.paper_figures import FIGURES, Published
from bench.paper_journal import Journal, JournalError
from bench.paper_report import write
from bench.paper_rivals import RIVALS
from bench.paper_settings import ALGORITHMS, SETTINGS, parameters_of
from bench.paper_tables import markdown, rankings, rows_of, worse
from bench.paper_trial import Job, parts, split, trial_on
from scm_train import datasets

TINY = {"layers": 1, "max_nodes": 4, "candidates": 5, "stop_step": 2}
QUICK = ["--tables", "regression", "--datasets", "R-DB7", "--algorithms", "IRVFL", "--jobs", "1"]


def job(**changes):
    return Job(**({"dataset": "tyukin", "learner": "SCM", "protocol": "clean"} | changes))


def found(test, **more):
    return {"test_rmse": test, "train_rmse": test / 2, "seconds": 1.0, "nodes": [3, 1]} | more


def run_main(folder, *arguments):
    paper.main([*QUICK, "--journal", str(folder / "j.jsonl"), "--out", str(folder), *arguments])
    return json.loads((folder / "paper.json").read_text())


# The journal


def test_a_journal_is_read_again(tmp_path):
    journal = Journal(tmp_path / "j.jsonl")
    journal.add(job(), 1, found(0.2))
    journal.add(job(), 0, found(0.1))
    journal.add(job(protocol="paper"), 0, found(0.3))
    again = Journal(tmp_path / "j.jsonl")
    assert again.trials(job()) == {0: found(0.1), 1: found(0.2)}
    assert list(again.trials(job())) == [0, 1]
    assert again.trials(job(protocol="paper")) == {0: found(0.3)}
    assert again.trials(job(parameters=TINY)) == {}


def test_a_line_cut_short_is_dropped_and_its_trial_done_again(tmp_path):
    journal = Journal(tmp_path / "j.jsonl")
    journal.add(job(), 0, found(0.1))
    journal.add(job(), 1, found(0.2))
    content = journal.path.read_bytes()
    journal.path.write_bytes(content[:-5])
    again = Journal(journal.path)
    assert list(again.trials(job())) == [0]
    again.add(job(), 1, found(0.2))
    assert journal.path.read_bytes() == content


def test_a_trial_is_kept_once(tmp_path):
    journal = Journal(tmp_path / "j.jsonl")
    journal.add(job(), 0, found(0.1))
    with pytest.raises(AssertionError, match="trial 0 must be done once"):
        journal.add(job(), 0, found(0.1))


def test_a_file_that_is_no_journal_stays_as_it_is(tmp_path):
    path = tmp_path / "j.jsonl"
    path.write_text("date,value\n1,2")
    with pytest.raises(JournalError, match="not b'date,value' on line 1; move it away"):
        Journal(path)
    assert path.read_text() == "date,value\n1,2"


# Runs


def test_a_repeated_run_does_what_is_missing_and_no_more(tmp_path, monkeypatch):
    begun = []

    def counted(job, trial):
        begun.append((job.learner, trial))
        return paper_trial.run_trial(job, trial)

    monkeypatch.setattr(paper, "run_trial", counted)
    first = run_main(tmp_path, "--trials", "2")
    assert begun == [("IRVFL", 0), ("IRVFL", 1)]
    assert run_main(tmp_path, "--trials", "2") == first
    assert len(begun) == 2
    third = run_main(tmp_path, "--trials", "3")
    assert begun[2:] == [("IRVFL", 2)]
    (row,) = third["tables"]["regression"]
    assert row["trials"] == 3


def test_no_trial_is_begun_after_the_time(tmp_path):
    result = run_main(tmp_path, "--trials", "1", "--minutes", "-1")
    assert result["tables"] == {}


def test_a_job_of_two_tables_is_run_once(tmp_path):
    lines = (Line("tyukin", "a", job()), Line("tyukin", "b", job()))
    twice = [Section("x", "X", lines), Section("y", "Y", lines[:1])]
    journal = Journal(tmp_path / "j.jsonl")
    assert paper.pending(twice, journal, 2) == [(job(), 0), (job(), 1)]
    journal.add(job(), 0, found(0.1))
    assert paper.pending(twice, journal, 2) == [(job(), 1)]


def test_small_data_sets_come_first_and_trials_in_turn(tmp_path):
    jobs = [job(dataset=name) for name in ("rastrigin", "concrete", "boston")]
    section = Section("x", "X", tuple(Line(j.dataset, "SCM", j) for j in jobs))
    todo = paper.pending([section], Journal(tmp_path / "j.jsonl"), 2)
    order = [(j.dataset, trial) for j, trial in todo]
    small = [(name, trial) for trial in (0, 1) for name in ("concrete", "boston")]
    assert order == [*small, ("rastrigin", 0), ("rastrigin", 1)]


def test_a_quick_run_leaves_the_slow_out():
    options = paper._options(["--quick"])
    lines = [line for section in paper.select(SECTIONS, options) for line in section.lines]
    slow = {line.label for line in lines if line.dataset == "rastrigin"}
    assert slow >= {"SCM, sign", "IRVFL", "DIRVFL-II"}
    assert not slow & {"SCN", "DeepSCN", "SCM", "SCM, tanh"}
    left_out = ("mnist", "fashion_mnist", "rolling_force")
    assert not any(line.dataset in left_out for line in lines)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--datasets", "iris"], "data set must be one of abalone, .*, not 'iris'"),
        (["--tables", "x"], "table must be one of regression, .*, not 'x'"),
        (["--algorithms", "SVM"], "algorithm must be one of .*, not 'SVM'"),
    ],
)
def test_names_that_are_none_get_one_line(arguments, message, tmp_path):
    with pytest.raises(SystemExit, match=f"^bench.paper: {message}$"):
        paper.main([*arguments, "--journal", str(tmp_path / "j"), "--out", str(tmp_path / "o")])
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_at_hand_is_named_and_left_out(monkeypatch, tmp_path):
    monkeypatch.setenv("SCM_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    wanted = paper._options(["--tables", "regression", "--datasets", "R-DB6", "R-DB7"])
    (section,), (sentence,) = paper.at_hand(paper.select(SECTIONS, wanted))
    assert sentence.startswith("R-DB6 year_prediction is not at hand: ")
    assert {line.dataset for line in section.lines} == {"tyukin"}


# Protocols


@pytest.fixture(scope="module")
def data():
    return datasets.load("tyukin")


@pytest.mark.parametrize("protocol", ["clean", "either"])
def test_fit_is_given_no_test_row(data, protocol):
    rows = split(data, 0)
    (X, y), options = parts(data, rows, protocol)
    assert options == {}
    assert len(X) == len(y) == 900
    assert not np.isin(X, data.X[rows.test]).any()


def test_the_papers_protocol_stops_by_the_test_rows(data):
    rows = split(data, 0)
    _, options = parts(data, rows, "paper")
    np.testing.assert_array_equal(options["eval_set"][0], data.X[rows.test])
    np.testing.assert_array_equal(options["eval_set"][1], data.y[rows.test])


def machine_with(data, protocol, monkeypatch):
    """The readout and nodes of one tiny trial."""
    models = []
    model_of = paper_trial._model
    monkeypatch.setattr(paper_trial, "_model", lambda *a: models.append(model_of(*a)) or models[-1])
    trial_on(data, job(protocol=protocol, parameters=TINY | {"max_nodes": 60}), 0)
    monkeypatch.undo()
    return models[0].machine_


@pytest.mark.parametrize(("protocol", "same"), [("clean", True), ("paper", False)])
def test_test_rows_have_a_say_under_the_papers_protocol_alone(data, protocol, same, monkeypatch):
    y = data.y.copy()
    test = split(data, 0).test
    y[test] = y[test][::-1]
    one, other = (machine_with(d, protocol, monkeypatch) for d in (data, replace(data, y=y)))
    equal = one.nodes == other.nodes and np.array_equal(one.readout, other.readout)
    assert equal == same


def test_learners_share_a_trials_split_and_trials_do_not(data):
    one, same, other = split(data, 0), split(data, 0), split(data, 1)
    np.testing.assert_array_equal(one.test, same.test)
    assert set(one.test) != set(other.test)
    assert sorted([*one.train, *one.test]) == list(range(1000))


# Settings


def test_every_line_can_be_made():
    for line in (line for section in SECTIONS for line in section.lines):
        learner = line.job.learner
        if learner not in RIVALS:
            getattr(scm_train, f"{learner}Regressor")(**line.job.parameters)
        assert line.dataset in NAMES


def test_settings_are_the_papers():
    scm = parameters_of("R-DB8", "SCM")
    assert (scm["layers"], scm["max_nodes"], scm["stop_step"]) == (10, None, 10)
    assert scm["candidates"] == list(range(100, 1001, 100))
    assert scm["stop_tolerance"] == 0.003
    scn = parameters_of("C-DB2", "SCN", "real")
    assert (scn["max_nodes"], scn["candidates"], scn["weights"]) == (150, 3000, "real")
    assert parameters_of("R-DB7", "DIRVFL-I")["max_nodes"] == 50
    assert FIGURES["R-DB2", "SCM"] == Published(0.05544, 0.06393, 0.00503)
    assert FIGURES["C-DB1", "SCM"].test_rate == 0.90689
    assert {name for name, _ in FIGURES} == set(SETTINGS)


def test_protocols_differ_only_for_learners_that_stop_early():
    by_protocol = {"paper": set(), "clean": set(), "either": set()}
    for line in next(s for s in SECTIONS if s.name == "regression").lines:
        by_protocol[line.job.protocol].add(line.label)
    assert by_protocol["paper"] == by_protocol["clean"] == {"SCM", KEPT_LABEL, "DIRVFL-II"}
    assert by_protocol["either"] == set(ALGORITHMS) - {"SCM", "DIRVFL-II"}


# Trials and tables


def test_a_hardware_trial_tells_what_the_compiler_takes(data):
    result = trial_on(data, job(parameters=TINY, hardware=True), 0)
    assert 0 < result["lut"] < 1000
    assert result["cycles"] >= 1
    assert result["nodes"][0] <= 4
    assert "lut" not in trial_on(data, job(parameters=TINY, hardware=True), 1)


@pytest.mark.parametrize("name", [name for name in RIVALS if name != "CatBoost"])
def test_rivals_learn(data, name, monkeypatch):
    few = replace(data, X=data.X[:200], y=data.y[:200])
    monkeypatch.setattr(paper_trial, "_loaded", lambda _: few)
    result = paper_trial.run_trial(job(learner=name, protocol="either"), 0)
    assert 0 < result["test_rmse"] < 0.3
    assert "nodes" not in result


def section_of(*learners, name="tyukin"):
    figures = {"SCM": 0.1, "SCN": 0.2, "IRVFL": 0.3, "DeepSCN": 0.4, "DIRVFL-I": 0.5}
    lines = (
        Line(
            name,
            learner,
            job(learner=ALGORITHMS[learner], protocol="paper" if learner == "SCM" else "either"),
            Published(0.0, figures.get(learner, 0.6), 0.01),
        )
        for learner in learners
    )
    return Section("x", "Title", tuple(lines), same_data=True)


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
