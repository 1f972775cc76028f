"""The report of the evaluation: tables on the terminal, in Markdown and in JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from rich.console import Console

from bench.paper_cases import KEPT_LABEL, READY_LABEL, Section
from bench.paper_journal import Journal
from bench.paper_kept import beside, earlier
from bench.paper_tables import Row, better, markdown, rankings, rich_table, rows_of, worse

__all__ = ["show", "write"]

HEAD = """\
# The paper's evaluation, again

From `python -m bench.paper`. RMSE on test rows in units of the target's range (of images: the rate
of right answers), mean ± standard deviation over the trials, whose number is in the table. The
paper has 100 trials (images 50) and, to judge by its deviations, one split for all of them; here
every trial has a split of its own, the same for all learners, so our deviations hold those of the
splits too.

Protocols: `paper` stops early by the test rows, as the paper's algorithm does; `clean` by rows
split off from the training rows; `either` is a learner that does not stop early. Seconds are of
processor time in training, one thread for linear algebra; the paper's are from another machine.
LUTs and cycles are the compiler's estimate for the model of the first trial on `arty-a7`; those of
trees are about what conifer takes.

`SCM, tau to stop alone`: as the paper writes its algorithm, nodes go until one brings more than
tau, which leaves few or none where tau is large; in its figure tau is 0, and nodes go that bring
nothing. This line takes tau to end a layer, and 0 to remove nodes.

Lines on the same data set are compared on the trials that all of them have, but for those with one
trial alone, which says little. A run that was cut short shows what it had finished: a table may
lack lines. Of the images lines have one to three trials: one of a learner that searches takes from
ten minutes to about an hour of processor time at the paper's settings. Seconds are of several runs,
before and after the search became faster.

How the sign SCM's settings were found: out of 13 variants on R-DB4, four of them tried on R-DB2 and
three on R-DB1 too, by errors on rows split off from the training rows of trial 0; those hold test
rows of the other trials. The variants were thought up after an earlier setting had shown its test
errors on R-DB2 and R-DB4. Backward removal was judged on eight further splits of trial 0's training
rows of R-DB2 and R-DB4. So were thresholds halfway between rows, on inputs as they are, against 31
quantiles per input: RMSE 0.0636 against 0.0672 on R-DB2 and 0.0685 against 0.0718 on R-DB4, and on
five splits of R-DB7 0.0056 against 0.0092 with 1,023 levels. R-DB1 and R-DB3 had no say in that. On
the servos it was 0.0057 against 0.0179 (emps_servo) and 0.0116 against 0.0132 (servo_sim), one
split each. 100 candidates per node instead of 20 are better where there are thousands of rows
(0.0759 against 0.0762 on six splits of R-DB1, 0.0458 against 0.0473 on three of R-DB3, on one of
the servos' 0.0045 against 0.0057 and 0.0107 against 0.0116) and worse on R-DB2 and R-DB4 (0.0610
against 0.0509 and 0.0652 against 0.0602, one split), which keep the 20. All of these are splits of
trial 0's training rows; test errors of earlier settings had been seen by then.
The rest of R-DB7's settings and those of R-DB8 were picked by hand with the test errors of trial 0
in view, so these two lines are not blind. Those of images were picked by a first look at random
nodes of several kinds, then by one machine each, all on 6,000 of trial 0's training rows.

Tried and dropped: a ridge chosen by leave-one-out instead of by rows split off. The nodes were
chosen to fit the same rows, so it comes out far too small: test RMSE 0.096 instead of 0.064 on
R-DB4 and 0.064 instead of 0.061 on R-DB2, ten trials each with 31 quantiles. A larger ridge than
the best, within half a standard error of it, and a ridge while nodes are searched for were no gain
on R-DB4. These test errors were seen before thresholds halfway between rows were tried.

Trial 8 of R-DB1 has both of its outliers among the test rows (heights of 1.13 and 0.515, where no
other is above 0.25). A readout without ridge goes far astray there, and with it a mean of ten.
"""

#: What was found where ours is worse, by data set.
REASONS = {
    "abalone": (
        "trial 8, with both outliers among its test rows, decides: without it our means are SCN "
        "0.0768, DeepSCN 0.0800, SCM 0.0757, IRVFL 0.0760, DIRVFL-I 0.0756 and DIRVFL-II 0.0758"
    ),
    "tyukin": (
        "the paper's targets here look unscaled, in [0, 0.66] as the function gives them: in 30 "
        "samples of 1,000 rows our IRVFL has a training error of 0.072 to 0.101 with targets "
        "scaled to [0, 1] and of 0.047 to 0.067 without (paper: 0.0612), and our DIRVFL-I one of "
        "0.048 to 0.068 and of 0.032 to 0.045 (paper: 0.0405)"
    ),
    "concrete": (
        "the training errors agree with the paper's, so the learner does; its test rows are easy "
        "ones. Its SCN errs 0.91 times as much on them as in training and its IRVFL 0.95 times: "
        "so little in none of 20 random splits (SCN), and in 16 of 200 (IRVFL)"
    ),
    "rastrigin": (
        "where nodes are removed as long as one alone brings no more than tau, as the paper's "
        "algorithm has it, 8 of about 60 stay in the first layer and none in the second, where it "
        "ends. The paper's machine has ten layers of 9 to 472 nodes. So has ours where tau only "
        "ends a layer, and of its nodes those go that bring nothing, as in the paper's figure: ten "
        "layers of 9 to 623, and an error below the paper's, under `clean` too. The paper's SCM "
        "seems to be that one"
    ),
    "mnist": (
        "no node alone brings tau = 0.004, so that by the letter of the algorithm all are removed "
        "again and the linear model is left, which the paper's DIRVFL-II is too; with tau to stop "
        "alone SCM keeps 232 nodes, or 237 under `clean`, is within about one of the paper's "
        "standard deviations of its 0.907, and the six come in the paper's order. IRVFL, DIRVFL-I "
        "and DeepSCN are within four of them. Of nodes found on 3,000 rows fewer bring tau, and "
        "SCM ends with some thirty"
    ),
    "fashion_mnist": (
        "by the letter no node is left of SCM, as on MNIST: it is DIRVFL-II's linear model, equal "
        "on the trial that both have, and their places are one. With tau to stop alone it keeps 69 "
        "under `paper` and 89 under `clean`, three of the paper's standard deviations below its "
        "own rate and one above it, a trial of each, and is ahead of the five others, which come "
        "in the paper's order and within two of its standard deviations each, but DIRVFL-II, which "
        "is three above. Nodes found on 3,000 rows cost DeepSCN one in a hundred"
    ),
}
#: A mean this many of its standard errors from the paper's is told apart from it.
STANDARD_ERRORS = 2


def show(chosen: Sequence[Section], journal: Journal, console: Console) -> None:
    for section in chosen:
        if rows := rows_of(section, journal):
            console.print(rich_table(section, rows))


def write(
    chosen: Sequence[Section],
    journal: Journal,
    missing: Sequence[str],
    path: Path,
    keep: bool = False,
) -> None:
    """Leave `path` with the endings .md and .json; `keep` what is there and was not made again."""
    kept = earlier(path.with_suffix(".json")) if keep else {}
    tables = ((section, beside(section, journal, kept.get(section.name, []))) for section in chosen)
    found = [(section, rows) for section, rows in tables if rows]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".md").write_text(_text(found, missing))
    path.with_suffix(".json").write_text(json.dumps(_facts(found, missing), indent=1) + "\n")


def _facts(found: Sequence[tuple[Section, list[Row]]], missing: Sequence[str]) -> dict[str, Any]:
    return {
        "not_run": list(map(_brief, missing)),
        "tables": {section.name: rows for section, rows in found},
        "rankings": [order for _, rows in _same_data(found) for order in rankings(rows)],
    }


def _same_data(
    found: Sequence[tuple[Section, list[Row]]],
) -> list[tuple[Section, list[Row]]]:
    return [(section, rows) for section, rows in found if section.same_data]


def _text(found: Sequence[tuple[Section, list[Row]]], missing: Sequence[str]) -> str:
    comparable = [row for _, rows in _same_data(found) for row in rows]
    parts = [HEAD, *(f"- {_brief(sentence)}" for sentence in missing), ""]
    parts += [markdown(section, rows) for section, rows in found]
    parts += [text(comparable) for text in (_aims_text, _ranking_text, _worse_text)]
    return "\n".join(parts)


def _brief(sentence: str) -> str:
    """Without the paths of this machine."""
    return sentence.split(":")[0] + "."


def _ranking_text(rows: Sequence[Row]) -> str:
    lines = []
    others = {order["dataset"]: order["ours"] for order in rankings(rows, KEPT_LABEL)}
    for order in rankings(rows):
        ours, papers = (", ".join(order[key]) for key in ("ours", "paper"))
        same = "as in the paper" if ours == papers else f"paper: {papers}"
        other = others.get(order["dataset"], order["ours"])
        more = "" if other == order["ours"] else f"; tau to stop alone: {', '.join(other)}"
        lines.append(f"- {order['dataset']}: {ours} ({same}{more})")
    return _part("Order of the six algorithms", "Best first, protocol `paper`.", lines)


def _aims_text(rows: Sequence[Row]) -> str:
    """Sign SCMs under `clean` against the paper's SCM, whose early stopping saw the test rows."""
    lines = [
        f"- {row['dataset']}: {_against(row)}, "
        f"{'better' if better(row['test'], row['paper'], row['score']) else 'not better'}"
        f"{_reruns(row, rows)}"
        for row in rows
        if row["learner"] == READY_LABEL and row["paper"]
    ]
    sentence = (
        "Sign nodes, `clean`, against the paper's tanh and sigmoid SCMs as published, whose early\n"
        "stopping saw their test rows; and what those machines come to on our own splits."
    )
    return _part("Is ready for hardware second best?", sentence, lines)


def _reruns(row: Row, rows: Sequence[Row]) -> str:
    """What the paper's SCM came to on the splits of a sign SCM; nothing where they are others."""
    own = [
        f"{r['test']['mean']:.5f} under `{r['protocol']}`"
        for r in rows
        if (r["dataset"], r["learner"], r["trials"]) == (row["dataset"], "SCM", row["trials"])
    ]
    return f"; the paper's SCM here: {', '.join(own)}" if own else ""


def _worse_text(rows: Sequence[Row]) -> str:
    lines = []
    for dataset, found in groupby(worse(rows), key=itemgetter("dataset")):
        why = REASONS.get(dataset)
        lines.append(f"- {dataset}" + (f": {why}" if why else ""))
        lines += [f"  - {row['learner']}: {_against(row)}{_chance(row)}" for row in found]
    sentence = "Same data, protocol `paper` or `either`, by the means."
    return _part("Where ours is worse than the paper's", sentence, lines)


def _part(title: str, sentence: str, lines: Sequence[str]) -> str:
    return "\n".join([f"## {title}", "", sentence, "", *(lines or ["- none"]), ""])


def _against(row: Row) -> str:
    ours, papers = row["test"]["mean"], row["paper"]["mean"]
    trials = "1 trial" if row["trials"] == 1 else f"{row['trials']} trials"
    return f"{ours:.5f} against {papers:.5f} ({trials})"


def _chance(row: Row) -> str:
    """Whether the difference may be chance; that it is not explained where nothing was found."""
    if row["test"]["std"] is None:
        return "; one trial, which tells little"
    gap = abs(row["test"]["mean"] - row["paper"]["mean"])
    if gap <= STANDARD_ERRORS * row["test"]["std"] / row["trials"] ** 0.5:
        return f"; within {STANDARD_ERRORS} standard errors of our mean"
    return "" if row["dataset"] in REASONS else "; not explained"
