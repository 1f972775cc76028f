"""What the runner tells the simulators."""

from __future__ import annotations

from pathlib import Path

import pytest

from scm_hw.errors import ToolError
from scm_hw.sim.runner import arguments, ports_alone

VERILOG = """module top_part(a, hidden);
endmodule

module top(clk, in_data,
  out_data);
  wire hidden;
endmodule
"""


def test_verilator_shows_the_ports_of_the_top_and_nothing_else(tmp_path: Path) -> None:
    source = tmp_path / "top.v"
    source.write_text(VERILOG)
    words = ["--verilog", str(source), "--vectors", "x", "--latency", "1"]
    options = arguments().parse_args([*words, "--top", "top", "--workdir", str(tmp_path)])
    lines = ports_alone(options).read_text().splitlines()
    shown = [
        f'public_flat_rw -module "top" -var "{name}"' for name in ("clk", "in_data", "out_data")
    ]
    assert lines == ["`verilator_config", *shown]
    options.top = "other"
    with pytest.raises(ToolError, match="can't simulate in verilator: it finds no module other"):
        ports_alone(options)
