"""The C files of a build: the machine, its header, and a program that tests it on all vectors."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from numpy.typing import NDArray

from scm_hw.common.names import Names
from scm_hw.common.templates import render
from scm_hw.emit.c.history import history_of
from scm_hw.emit.c.program import function_of
from scm_hw.ir import Program
from scm_hw.load.records import Records

_PACKAGE = "scm_hw.emit"
# Entries of a table, or words of a vector, on a line.
_PER_LINE = 12


def c_files(
    program: Program,
    inputs: NDArray[Any],
    outputs: NDArray[Any],
    names: Names,
    digest: str,
    records: Records | None = None,
) -> dict[str, str]:
    """Source, header and test program, name to text; with `records` it keeps the past itself."""
    function = function_of(program)
    history = None if records is None else history_of(records, program)
    words = {
        "names": names,
        "digest": digest,
        "version": version("scm-hw"),
        "function": function,
        "history": history,
        "in_type": function.in_type if history is None else history.in_type,
        "out_type": function.out_type if history is None else history.out_type,
        "lines": _lines,
        "inputs": inputs.tolist(),
        "outputs": outputs.tolist(),
        "count_in": inputs.shape[1],
        "count_out": outputs.shape[1],
    }
    files = {
        "model.c": names.model_source,
        "model.h": names.model_header,
        "test_model.c": names.model_test,
    }
    return {name: render(_PACKAGE, template, **words) for template, name in files.items()}


def _lines(words: tuple[str, ...] | list[int]) -> list[str]:
    texts = [str(word) for word in words]
    starts = range(0, len(texts), _PER_LINE)
    return [", ".join(texts[start : start + _PER_LINE]) for start in starts]
