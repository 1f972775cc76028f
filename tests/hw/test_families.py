"""Families in hardware: tables of the bits they see, exact in every form."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from scm_hw.boards import get
from scm_hw.design import Options, compile_model
from scm_hw.errors import OptionError
from scm_hw.ir import AtLeast, Table
from scm_hw.ir.interp import interpret
from scm_hw.load import choose_fixed_point, fixed_output, lower, quantise
from scm_hw.verify.check import simulate
from scm_hw.verify.rows import check_rows
from scm_model import Encoder, Evaluation, FamilyLayer, Layer, Model, codes, evaluate

FEATURES, BITS = 3, 12


def family_model(
    seed: int, outputs: int = 1, classes: int = 0, most: int = 5, features: int = FEATURES
) -> Model:
    """Random bits of one and two features, and families of one bit to `most` on them."""
    rng = np.random.default_rng(seed)
    mask = np.zeros((BITS, features), bool)
    for row in mask:
        row[rng.choice(features, rng.integers(1, 3), replace=False)] = True
    first = Layer(
        rng.choice(np.array([-1, 1], np.int8), (BITS, features)),
        np.ones(BITS),
        -np.ldexp(rng.integers(-4000, 8000, BITS) + 0.5, -12),
        str(rng.choice(["sign", "step"])),
        mask,
    )
    supports = np.full((6, most), -1, np.int32)
    for row in supports:
        size = rng.integers(1, most + 1)
        row[:size] = rng.choice(BITS, size, replace=False)
    families = FamilyLayer(supports)
    entries = np.ldexp(rng.integers(-9, 9, (families.nodes, outputs)).astype(float), -6)
    # Of several outputs most families serve one.
    readout = np.concatenate([np.zeros((BITS, outputs)), entries])
    labels = tuple(f"class {k}" for k in range(classes)) if classes else None
    X = rng.uniform(size=(40, features))
    targets = rng.integers(0, classes, 40) if classes else rng.uniform(size=(40, outputs))
    model = Model(
        task="classification" if classes else "regression",
        algorithm="SCM",
        encoder=Encoder("none", 12, (), (), None, features),
        layers=(first, families),
        readout=readout,
        linear=np.ldexp(rng.integers(-8, 8, (features, outputs)).astype(float), -4),
        intercept=rng.normal(size=outputs),
        input_min=np.zeros(features),
        input_max=np.ones(features),
        target_min=np.zeros(outputs),
        target_max=np.ones(outputs),
        features=tuple("abcdefghi"[:features]),
        targets=tuple(f"y{j}" for j in range(outputs)),
        classes=labels,
        evaluation=Evaluation(X, targets),
    )
    # Classes win about as often as each other, or their comparison would say nothing.
    middle = np.median(model.decision(X), axis=0) if classes else 0.0
    return replace(model, intercept=model.intercept - middle)


KINDS = [(1, 0), (2, 0), (1, 2), (3, 3)]


@pytest.mark.parametrize(("outputs", "classes"), KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_program_is_the_fixed_point_model(seed: int, outputs: int, classes: int) -> None:
    model = family_model(seed, outputs, classes)
    fixed = quantise(model, 8)
    X = np.random.default_rng(seed).uniform(-0.2, 1.2, (300, FEATURES))
    code = codes(model, X)
    scores = fixed_output(model, fixed, evaluate(model, X), code)
    wanted = scores
    if classes:
        winners = scores[:, 0] > 0 if outputs == 1 else scores.argmax(axis=1)
        wanted = winners.astype(np.int64)[:, None]
        assert len(np.unique(wanted)) == classes
    assert_array_equal(interpret(lower(model, fixed), code), wanted)


@pytest.mark.parametrize(("outputs", "classes"), KINDS)
@pytest.mark.parametrize("tables", ["lut", "block"])
def test_every_way_to_compile_keeps_the_integers(
    outputs: int, classes: int, tables: str, tmp_path: Path
) -> None:
    """The passes are checked as they run; the core is here."""
    for seed, pipeline in enumerate(["balanced", "min-latency", "max-clock"]):
        options = Options(tables=tables, pipeline=pipeline, multipliers="lut")
        design = compile_model(family_model(seed, outputs, classes), get("arty-a7"), options)
        rows = check_rows(design, design.model.evaluation)
        workdir = tmp_path / pipeline
        workdir.mkdir()
        assert simulate(design, rows, "icarus", workdir).ok


def test_a_family_is_one_table_for_each_output_it_serves() -> None:
    model = family_model(0, outputs=2)
    model.readout[BITS : BITS + 1 << 1, 1] = 0.0
    program = lower(model, quantise(model, 8))
    tables = [op for op in program.ops if isinstance(op, Table)]
    assert model.families is not None
    served = sum(
        int(model.readout[BITS + start : BITS + start + size].any(axis=0).sum())
        for start, size in zip(model.families.starts, model.families.sizes, strict=True)
    )
    assert len(tables) == served


def test_two_classes_of_one_output_are_a_comparison() -> None:
    model = family_model(1, classes=2)
    program = lower(model, quantise(model, 8))
    (output,) = program.outputs
    assert isinstance(program.ops[output], AtLeast)


def test_entries_of_few_bits_are_exact_with_few_fraction_bits() -> None:
    model = family_model(2)
    fixed = choose_fixed_point(replace(model, evaluation=None))
    assert fixed.frac_bits <= 6
    assert_array_equal(fixed.readout / 2.0**fixed.grid_bits, model.readout)


def test_families_are_not_folded() -> None:
    with pytest.raises(OptionError, match="fold must be none or auto for a model of families"):
        compile_model(family_model(0), get("arty-a7"), Options(fold="4x8"))
