"""What a user asks first of a machine: how large its error is, and on which features it depends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from scm_train.evaluation.importance import ranked

__all__ = ["score_lines", "tested_lines"]

#: Of a longer list the rest is in the JSON.
MOST_FEATURES = 8
MOST_TARGETS = 8
MOST_CLASSES = 16


def score_lines(result: Mapping[str, Any]) -> list[str]:
    """Lines for people of the scores of a model, whose description ``result`` is.

    A file by someone else may have anything there; what isn't as ours is left to the JSON.
    """
    scores, data = _mapping(result.get("scores")), _mapping(result.get("data"))
    lines = _course(scores)
    tested = {k.removeprefix("test_"): v for k, v in scores.items() if k.startswith("test_")}
    if tested:
        rows = data.get("test_rows")
        lines += ["", f"test rows ({rows:,})" if isinstance(rows, int) else "test rows"]
        lines += tested_lines(tested, result.get("classes"))
    rises = {k: v for k, v in _mapping(scores.get("importance")).items() if _is_number(v)}
    if rises:
        one = len(_mapping(tested.get("rmse_raw")) or result.get("targets") or ()) == 1
        lines += ["", *_features(rises, "accuracy" in tested, one)]
    return lines


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _is_number(value: object) -> bool:
    return isinstance(value, float | int)


def tested_lines(scores: Mapping[str, Any], classes: Sequence[Any] | None) -> list[str]:
    """The scores of :func:`scm_train.evaluation.scores.score`; files of others may have fewer."""
    flags = _of_flags(_mapping(scores.get("unsure")), _mapping(scores.get("novel")))
    if _is_number(scores.get("accuracy")):
        return _of_classes(scores, classes) + flags
    if _mapping(scores.get("rmse_raw")):
        return _of_targets(scores) + flags
    shown = {name: value for name, value in scores.items() if _is_number(value)}
    return [f"  {name.replace('_', ' ')} {value:.6g}" for name, value in shown.items()]


def _of_flags(unsure: Mapping[str, Any], novel: Mapping[str, Any]) -> list[str]:
    lines = []
    if all(_is_number(unsure.get(key)) for key in ("share", "wrong_unflagged", "level")):
        line = (
            f"  unsure of {unsure['share']:.2%}; wrong and not unsure: "
            f"{unsure['wrong_unflagged']:.2%}, of {unsure['level']:.2%} promised"
        )
        if _is_number(unsure.get("accuracy_of_sure")):
            line += f"; accuracy where sure {unsure['accuracy_of_sure']:.2%}"
        lines.append(line)
    if all(_is_number(novel.get(key)) for key in ("share", "rate")):
        lines.append(f"  novel: {novel['share']:.2%}, of {novel['rate']:.2%} false alarms promised")
    return lines


def _course(scores: Mapping[str, Any]) -> list[str]:
    shown = [
        f"{key.replace('_', ' ')} {value:.6g}"
        for key, value in scores.items()
        if key.startswith(("train_", "validation_")) and _is_number(value)
    ]
    return ["", f"while training, outputs in [0, 1]: {', '.join(shown)}"] if shown else []


def _of_targets(scores: Mapping[str, Any]) -> list[str]:
    columns = [("RMSE", "rmse_raw"), ("MAE", "mae_raw"), ("worst", "worst_raw"), ("R2", "r2")]
    columns += [("coverage", "coverage"), ("mean width", "width_raw")]
    columns = [(title, key) for title, key in columns if _mapping(scores.get(key))]
    names = list(scores["rmse_raw"])
    table = [["", *(title for title, _ in columns)]]
    for name in names[:MOST_TARGETS]:
        table.append([name, *(_cell(key, scores[key].get(name)) for _, key in columns)])
    lines = _aligned(table)
    if _is_number(scores.get("level")):
        level = f"{scores['level']:.2%}"
        lines.append(f"  coverage: share of rows inside the interval, whose level is {level}")
    if len(names) > MOST_TARGETS:
        lines.append(f"  and {len(names) - MOST_TARGETS} more targets, see --json")
    return lines


def _of_classes(scores: Mapping[str, Any], classes: Sequence[Any] | None) -> list[str]:
    line = f"  accuracy {scores['accuracy']:.2%}"
    if _is_number(scores.get("balanced_accuracy")):
        line += f", balanced accuracy {scores['balanced_accuracy']:.2%}"
    if _is_number(scores.get("majority")):
        line += f"; always the most frequent class: {scores['majority']:.2%}"
    confusion = scores.get("confusion")
    if not isinstance(confusion, list) or classes is None or len(confusion) != len(classes):
        return [line]
    if len(confusion) > MOST_CLASSES:
        return [line, f"  confusion matrix of {len(confusion)} classes: see --json"]
    numbers = [str(i) for i in range(1, len(confusion) + 1)]
    table = [["class \\ answer", *numbers]]
    for number, label, row in zip(numbers, classes, confusion, strict=True):
        cells = row if isinstance(row, list) and len(row) == len(confusion) else [""] * len(numbers)
        table.append([f"{number} {label}", *map(str, cells)])
    return [line, *_aligned(table)]


def _features(importance: Mapping[str, float], classes: bool, one: bool) -> list[str]:
    best = [(name, rise) for name, rise in ranked(dict(importance)) if rise > 0]
    what = "the RMSE" if one else "the RMSE of all targets, in [0, 1],"
    what = "the share of wrong answers" if classes else what
    title = f"features by what {what} rises by when their values are shuffled"
    shown = [[name, f"+{rise:.2%}" if classes else f"+{rise:.4g}"] for name, rise in best]
    lines = [title, *_aligned(shown[:MOST_FEATURES])]
    others = len(importance) - min(len(best), MOST_FEATURES)
    if others:
        lines.append(f"  {others} more with less, or nothing")
    return lines


def _cell(key: str, value: object) -> str:
    return f"{value:.2%}" if key == "coverage" and isinstance(value, float) else _number(value)


def _number(value: object) -> str:
    return f"{value:.5g}" if isinstance(value, float | int) else "-"


def _aligned(table: Sequence[Sequence[str]]) -> list[str]:
    """Rows of cells, the first column to the left and the others to the right."""
    if not table:
        return []
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        "  " + "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip()
        for row in table
    ]
