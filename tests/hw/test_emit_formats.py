"""The C header, compiled, and the Python dictionary, executed, say what the design says."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from scm_hw import boards
from scm_hw.design import compile_model
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
    expected = [list(field.values()) for field in facts["inputs"] + facts["outputs"]]
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
