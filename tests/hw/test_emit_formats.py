"""The C header, compiled, and the Python dictionary, executed, say what the design says."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scm_hw import boards
from scm_hw.common.packing import pack, unpack
from scm_hw.design import Options, compile_model
from scm_hw.emit import formats_files
from scm_hw.emit.identity import describe
from tests.support import random_model

PROGRAM = r"""
#include <stdio.h>
#include "scm_formats.h"
static void show(const scm_field *f) {
    printf("%s|%s|%d|%d|%d|%d|%.17g|%.17g\n", f->name, f->kind, f->offset, f->bits, f->is_signed,
           f->fraction, f->low, f->high);
}
int main(void) {
    int i;
    printf("%s %d %d %d\n", SCM_DIGEST, SCM_LATENCY, SCM_IN_WIDTH, SCM_OUT_WIDTH);
    for (i = 0; i < SCM_INPUTS; ++i) show(&scm_inputs[i]);
    for (i = 0; i < SCM_OUTPUTS; ++i) show(&scm_outputs[i]);
    return 0;
}
"""
KINDS: list[dict[str, Any]] = [
    {"layers": (4,), "mechanism": "external", "outputs": 2},
    {"layers": (4,), "task": "classification", "outputs": 3},
]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_both_files_say_the_same(kind: dict[str, Any], tmp_path: Path) -> None:
    model = random_model(2, **kind)
    # A name that neither language takes as it is.
    object.__setattr__(model, "features", ('a "b"\\n??/é', *model.features[1:]))
    design = compile_model(model, boards.get("arty-a7"))
    files = formats_files(describe(design), "ab" * 32, design.schedule.latency)
    for name, text in {**files, "main.c": PROGRAM}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    argv = ["cc", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "main.c", "-o", "main"]
    subprocess.run(argv, cwd=tmp_path, check=True)
    out = subprocess.run([tmp_path / "main"], capture_output=True, encoding="utf-8", check=True)
    space: dict[str, Any] = {}
    exec(files["scm_formats.py"], space)
    facts = space["FORMATS"]
    first, *rows = out.stdout.splitlines()
    head = [facts[key] for key in ("digest", "latency", "in_width", "out_width")]
    assert first == " ".join(map(str, head))
    found = [row.split("|") for row in rows]
    expected = [list(field.values())[:8] for field in facts["inputs"] + facts["outputs"]]
    assert [[*row[:2], *map(float, row[2:])] for row in found] == expected
    assert [field["bits"] for field in facts["inputs"]] == list(design.ports.in_widths)
    assert [field["bits"] for field in facts["outputs"]] == list(design.ports.out_widths)
    assert [field["signed"] for field in facts["inputs"]] == [r.signed for r in design.input_ranges]
    ends = [field["offset"] + field["bits"] for field in facts["inputs"]]
    assert [0, *ends[:-1]] == [field["offset"] for field in facts["inputs"]]
    assert (ends[-1], facts["classes"]) == (
        facts["in_width"],
        None if model.classes is None else list(model.classes),
    )


@pytest.mark.parametrize("kind", [*KINDS, {"layers": (4,), "input_bits": 12}], ids=str)
@pytest.mark.parametrize("output_units", [False, True])
def test_python_goes_from_raw_rows_to_integers_and_back(
    kind: dict[str, Any], output_units: bool
) -> None:
    """Of every row the integers that the board's own description gives, far outside ranges too."""
    model = random_model(5, **kind)
    options = Options(output_units=output_units and not model.is_classifier)
    design = compile_model(model, boards.get("arty-a7"), options)
    meaning = describe(design)
    space: dict[str, Any] = {}
    exec(formats_files(meaning, "ab" * 32, 1)["scm_formats.py"], space)
    rng = np.random.default_rng(1)
    low, high = model.input_min, model.input_max
    rows = rng.uniform(low - 0.2, high + 0.2, (200, len(low)))
    rows[0], rows[1], rows[2], rows[3] = low, high, -1e308, 1e308
    words = rng.uniform(-3, 3, (200, len(meaning.words))) if meaning.words else None
    wanted = meaning.inputs(rows, words)
    mechanism = words if words is not None else np.zeros((200, 0))
    found = [space["encode"](x, p) for x, p in zip(rows, mechanism, strict=True)]
    np.testing.assert_array_equal(found, wanted)
    assert [space["pack"](row) for row in found] == pack(wanted, meaning.in_widths)
    signed = [port.signed for port in meaning.outputs]
    results = [
        rng.integers(0, 1 << port.bits, 50) - (port.signed << port.bits - 1)
        for port in meaning.outputs
    ]
    if model.is_classifier:
        results = [rng.integers(0, len(model.classes or ()), 50)]
    outputs = np.stack(results, axis=1)
    packed = pack(outputs, meaning.out_widths)
    assert [space["unpack"](word) for word in packed] == outputs.tolist()
    np.testing.assert_array_equal(unpack(packed, meaning.out_widths, signed), outputs)
    units = [space["decode"](row) for row in outputs.tolist()]
    np.testing.assert_array_equal(units, meaning.units(outputs))


def test_python_refuses_what_is_no_row() -> None:
    design = compile_model(random_model(2), boards.get("arty-a7"))
    space: dict[str, Any] = {}
    exec(formats_files(describe(design), "", 1)["scm_formats.py"], space)
    with pytest.raises(ValueError, match=r"^a row must have 3 values, not 2$"):
        space["encode"]([0.0, 1.0])
    with pytest.raises(ValueError, match=r"^x1 must be a finite number, not nan$"):
        space["encode"]([0.0, float("nan"), 0.0])
    with pytest.raises(ValueError, match=r"^a result must have 1 values, not 0$"):
        space["decode"]([])
