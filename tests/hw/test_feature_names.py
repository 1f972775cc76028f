"""Names are for people: features called like parts, keywords and ports change nothing else."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scm_hw import boards
from scm_hw.build import BuildOptions, build
from scm_hw.design import Design, Options, compile_model
from scm_hw.ir import Kind, part_of
from scm_hw.load import model_from_arrays
from tests.support import meta_array, model_arrays, write_model

NAMES = ["output", "layer1_node0", "clk", "begin", 'a b"c']
# As the names of operations have it, before they become identifiers.
DOTTED = ["layer1.node0", "mechanism", "parity.bit", "shared.carry", "class"]
SHAPE: dict[str, Any] = {"features": 5, "layers": (4,), "bits": 5, "input_bits": 8, "rows": 12}
KINDS: list[dict[str, Any]] = [
    {},
    {"spacing": "quantile", "layers": (9, 3)},
    {"encoder": "none", "mechanism": "external", "inputs_per_node": 2},
    {"task": "classification", "outputs": 3},
]


def arrays_of(names: list[str], **options: Any) -> dict[str, np.ndarray]:
    arrays = model_arrays(3, **SHAPE | options)
    meta = json.loads(arrays["meta"].tobytes())
    return arrays | {"meta": meta_array(meta | {"features": names})}


def design_of(names: list[str], **options: Any) -> Design:
    model = model_from_arrays(arrays_of(names, **options))
    return compile_model(model, boards.get("arty-a7"), Options(frac_bits=8, clock_mhz=60))


def modules(verilog: str) -> list[str]:
    return re.findall(r"^module (\w+)", verilog, re.MULTILINE)


@pytest.mark.parametrize("options", KINDS, ids=str)
@pytest.mark.parametrize("names", [NAMES, DOTTED], ids=["ports", "dotted"])
def test_modules_do_not_depend_on_names(names: list[str], options: dict[str, Any]) -> None:
    plain, named = design_of([f"x{i}" for i in range(5)], **options), design_of(names, **options)
    assert [part_of(op) for op in named.program.ops] == [part_of(op) for op in plain.program.ops]
    assert len(named.verilog.splitlines()) == len(plain.verilog.splitlines())
    assert modules(named.verilog) == modules(plain.verilog)
    kinds = {part_of(op).kind for op in named.program.ops}
    assert {Kind.INTERFACE, Kind.NODE, Kind.READOUT} <= kinds


def test_a_build_and_its_report(tmp_path: Path) -> None:
    """Every simulator, lint, and the same stages as for names that mean nothing."""
    found = {}
    for names in (NAMES, [f"x{i}" for i in range(5)]):
        path = write_model(tmp_path / "m.npz", arrays_of(names))
        how = BuildOptions(out=tmp_path / names[0], name="m", synthesis=False)
        found[names[0]] = build(path, boards.get("arty-a7"), Options(frac_bits=8), how)
    reports = [one.report for one in found.values()]
    assert all(run["mismatches"] == 0 for run in reports[0]["bit_exact"].values())
    pages = [(one.folder / "report.html").read_text() for one in found.values()]
    parts = [re.findall(r"layer 1|encoder|mechanism|parity", page) for page in pages]
    assert parts[0] == parts[1]
    assert 'a b"c' not in pages[0] and "a b&quot;c" in pages[0]
