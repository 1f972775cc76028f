"""The test bench on a user's own raw rows."""

from __future__ import annotations

from pathlib import Path

from scm_hw.common.packing import pack
from scm_hw.design import Design
from scm_hw.emit import testbench_files
from scm_hw.errors import OptionError
from scm_hw.sim.vectors import Vectors
from scm_hw.verify.rows import hardware_inputs, record_inputs
from scm_hw.verify.tables import read_raw_rows
from scm_model.tables.dialect import TableOptions


def bench_files(
    design: Design, path: Path | None, table: TableOptions | None = None
) -> dict[str, str]:
    """Test bench and vectors for the rows of a table without targets; nothing without a table."""
    if path is None:
        return {}
    if design.adaptive is not None:
        raise OptionError(
            "tb must be left out for a core that adapts, whose targets come late; leave --tb or "
            "--adapt out"
        )
    rows = read_raw_rows(design.model, path, table)
    if design.records is not None:
        inputs = record_inputs(design, rows.inputs, rows.first)
    else:
        inputs = hardware_inputs(design, rows.inputs, rows.mechanism)
    in_widths = [reach.width for reach in design.input_ranges]
    out_widths = [reach.width for reach in design.output_ranges]
    vectors = Vectors(
        inputs=tuple(pack(inputs, in_widths)),
        outputs=tuple(pack(design.interpret(inputs), out_widths)),
        in_width=sum(in_widths),
        out_width=sum(out_widths),
        records=design.records is not None,
    )
    how = (design.latency, design.initiation_interval, design.names, design.options.handshake)
    return testbench_files(vectors, *how, reload=design.ports.reload)
