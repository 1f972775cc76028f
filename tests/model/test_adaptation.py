"""A readout that learns: its integers by an oracle that is written another way, and its use."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from scm_model.adaptation import (
    MEAN_BITS,
    UPDATE_DELAY,
    Adaptation,
    AdaptiveReadout,
    AdaptSettings,
    Controls,
    adaptation_for,
    controls_of,
    hidden_terms,
)
from scm_model.drift import Drift
from scm_model.errors import OptionError, UnsupportedModelError
from scm_model.fixed_point import fixed_output
from scm_model.precision import choose_fixed_point, choose_output_bits
from scm_model.reference import codes, evaluate
from tests.hw.test_families import family_model
from tests.support import random_model

NODES = Adaptation(5, (), 2, 8, 5, 2, 9, None, 0, Drift(40, 900))
FORMATS = {
    "nodes": NODES,
    "leak": Adaptation(5, (), 2, 8, 5, 2, 9, 4, 0, Drift(40, 900)),
    "late targets": Adaptation(5, (), 1, 8, 5, 3, 9, None, 6, Drift(40, 900)),
    "tables": Adaptation(0, (4, 32, 8), 2, 8, 4, 0, 8, None, 0, Drift(40, None)),
    "all": Adaptation(0, (4, 16), 1, 8, 4, 1, 8, 5, 3, Drift(40, 900)),
}


def stream(own: Adaptation, count: int = 600, seed: int = 0):
    rng = np.random.default_rng(seed)
    if own.tables:
        hidden = np.stack([rng.integers(0, size, count) for size in own.tables], axis=1)
    else:
        hidden = rng.integers(0, 2, (count, own.nodes))
    targets = rng.integers(-100, 500, (count, own.outputs))
    fixed = rng.integers(-50, 300, (count, own.outputs))
    restart = rng.random(count) < 1 / 150
    age = rng.integers(0, own.most_age + 3, count) if own.most_age else np.zeros(count, np.int64)
    controls = Controls(targets, age, rng.random(count) < 0.8, rng.random(count) < 0.1, restart)
    return hidden, fixed, controls


def oracle(own: Adaptation, hidden, fixed, controls):
    """One sample after the other in Python's integers, each from the whole history before it."""
    count, begin = len(fixed), 0
    answers, errors, change, mean, excess = [], [], {}, 0, 0
    shown = []
    for n in range(count):
        if controls.restart[n]:
            begin, change, mean, excess = n, {}, 0, 0
        due = n - UPDATE_DELAY
        if due >= begin and errors[due] is not None:
            error, keys, frozen = errors[due]
            size = sum(abs(e) for e in error)
            mean += size - mean // 2**MEAN_BITS
            excess = max(0, excess + size - own.drift.reference)
            if own.drift.threshold is not None:
                excess = min(excess, 2 ** own.drift.threshold.bit_length() - 1)
            for j, e in enumerate(error):
                step = rounded(e, own.drop_bits)
                for key, sign in keys if not frozen else ():
                    old = change.get((key, j), 0)
                    new = old + sign * step
                    if own.leak is not None:
                        new -= rounded(old, own.leak)
                    reach = 2 ** (own.width - 1)
                    change[key, j] = max(-reach, min(new, reach - 1))
        mine = terms_of(own, hidden[n])
        answer = []
        for j in range(own.outputs):
            total = sum(sign * change.get((key, j), 0) for key, sign in mine)
            answer.append(int(fixed[n, j]) + rounded(total, own.guard_bits))
        answers.append(answer)
        alarm = own.drift.threshold is not None and excess >= own.drift.threshold
        shown.append((mean // 2**MEAN_BITS, alarm))
        meant = n - int(controls.age[n])
        longest = max(own.tables, default=0)
        heard = n - begin + UPDATE_DELAY > longest
        if controls.learn[n] and begin <= meant and controls.age[n] <= own.most_age and heard:
            error = [int(t) - a for t, a in zip(controls.targets[n], answers[meant], strict=True)]
            errors.append((error, terms_of(own, hidden[meant]), controls.freeze[n]))
        else:
            errors.append(None)
    return np.array(answers), np.array(shown, dtype=np.int64)


def rounded(value: int, bits: int) -> int:
    return (2 * value + 2**bits) // 2 ** (bits + 1)


def terms_of(own: Adaptation, hidden):
    if own.tables:
        return [((t, int(a)), 1) for t, a in enumerate(hidden)]
    return [*((k, 1 if bit else -1) for k, bit in enumerate(hidden)), ("intercept", 1)]


@pytest.mark.parametrize("name", FORMATS)
def test_the_integers_are_those_of_the_oracle(name: str) -> None:
    own = FORMATS[name]
    hidden, fixed, controls = stream(own)
    found = AdaptiveReadout(own).run(hidden, fixed, controls)
    answers, shown = oracle(own, hidden, fixed, controls)
    assert_array_equal(found.outputs, answers)
    assert_array_equal(np.stack([found.error, found.drift], axis=1), shown)
    # It does learn, and what it learns reaches the ends of its registers.
    assert (found.outputs != fixed).mean() > 0.5
    if own.drift.threshold is not None:
        assert 0 < found.drift.mean() < 1


def test_a_stream_in_parts_is_the_stream_as_a_whole() -> None:
    hidden, fixed, controls = stream(NODES)
    whole = AdaptiveReadout(NODES).run(hidden, fixed, controls)
    readout, parts = AdaptiveReadout(NODES), []
    for place in (slice(0, 7), slice(7, 90), slice(90, None)):
        fields = ("targets", "age", "learn", "freeze", "restart")
        some = Controls(*(getattr(controls, name)[place] for name in fields))
        parts.append(readout.run(hidden[place], fixed[place], some).outputs)
    assert_array_equal(np.concatenate(parts), whole.outputs)


@pytest.mark.parametrize("kind", ["nodes", "families"])
def test_what_has_moved_is_learned(kind: str) -> None:
    """The plant gains a quarter of its range; the error comes down to a fraction of that."""
    model = random_model(3, layers=(12,), rows=40) if kind == "nodes" else family_model(2)
    fixed = choose_output_bits(model, choose_fixed_point(model))
    own = adaptation_for(model, fixed, AdaptSettings())
    rng = np.random.default_rng(0)
    low, high = model.input_min, model.input_max
    X = rng.uniform(low, high, (2500, len(low)))
    activity = evaluate(model, X)
    answers = fixed_output(model, fixed, activity, codes(model, X))
    targets = answers + (1 << own.grid_bits) // 4
    controls = controls_of(own, len(X), targets)
    readout = AdaptiveReadout(own)
    found = readout.run(hidden_terms(model, activity), answers, controls)
    error = np.abs(targets - found.outputs)
    assert error[-200:].mean() < 0.1 * error[:UPDATE_DELAY].mean()
    assert found.error[-1] < found.error[300]
    terms = hidden_terms(model, activity)
    # What is under way is learned yet.
    readout.run(terms[:UPDATE_DELAY], answers[:UPDATE_DELAY], controls_of(own, UPDATE_DELAY))
    before = readout.changes.copy()
    readout.run(terms, answers, controls_of(own, len(X), targets // 2, freeze=True))
    assert_array_equal(readout.changes, before)
    again = readout.run(terms, answers, controls_of(own, len(X), restart=True))
    assert_array_equal(again.outputs, answers)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"task": "classification", "outputs": 3}, "real targets, not classes"),
        ({"layers": ()}, "hidden nodes, not a linear part alone"),
        ({"mechanism": "external"}, "its mechanism inside, not from outside"),
    ],
    ids=str,
)
def test_machines_that_cant_learn_are_refused(change: dict, what: str) -> None:
    model = random_model(3, **change)
    with pytest.raises(UnsupportedModelError, match=f"model must have {what}, to adapt"):
        adaptation_for(model, choose_fixed_point(model), AdaptSettings())


@pytest.mark.parametrize(
    "settings", [{"step": 3}, {"step": 13}, {"leak": 3}, {"most_age": -1}, {"most_age": 241}]
)
def test_settings_out_of_range_are_refused(settings: dict) -> None:
    with pytest.raises(OptionError, match=r"adapt \w+ must be a whole number in \["):
        AdaptSettings(**settings)


def test_a_leak_finer_than_the_changes_is_refused() -> None:
    model = random_model(3)
    fixed = choose_fixed_point(model, frac_bits=4)
    with pytest.raises(OptionError, match="adapt leak must be below"):
        adaptation_for(
            model, choose_output_bits(model, fixed, output_bits=4), AdaptSettings(leak=20)
        )
