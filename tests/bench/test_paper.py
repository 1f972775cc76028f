"""The paper's evaluation on tiny settings: no trial twice, no protocol mixed with the other."""

from dataclasses import replace

import numpy as np
import pytest

import scm_train
from bench import paper, paper_trial
from bench.paper_cases import KEPT_LABEL, NAMES, SECTIONS, Line, Section
from bench.paper_figures import FIGURES, Published
from bench.paper_journal import Journal, JournalError
from bench.paper_rivals import RIVALS
from bench.paper_settings import ALGORITHMS, SETTINGS, parameters_of
from bench.paper_trial import parts, split, trial_on
from scm_train import datasets
from tests.bench.trials import TINY, found, job, run_main

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
