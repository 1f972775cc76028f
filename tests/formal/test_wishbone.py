"""Wishbone around a core, for every sequence of accesses, those that are given up among them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from scm_hw.rtl import to_verilog
from scm_hw.rtl.axi import AxiLiteCore, WishboneCore
from scm_hw.rtl.axi import registers as at
from tests.formal.prover import proves
from tests.formal.test_wrappers import planted
from tests.hw.standin import StandIn

BITS = 4

# What a read finds is compared where it does not depend on the core: the identity, and an input as
# it was last written. A write that was given up may have happened or not.
RULES = f"""\
module rules(
  input clk, input rst, input cyc, input stb, input we, input [17:0] adr, input [3:0] sel,
  input [31:0] dat
);
  wire ack;
  wire [31:0] found;
  wrapper wrapped(
    .clk_i(clk), .rst_i(rst), .cyc_i(cyc), .stb_i(stb), .we_i(we), .adr_i(adr), .sel_i(sel),
    .dat_i(dat), .dat_o(found), .ack_o(ack), .irq_o()
  );
  wire active = cyc && stb;
  reg started = 0, was_active = 0, was_ack = 0, was_we = 0;
  reg [17:0] was_adr = 0;
  reg [3:0] was_sel = 0;
  reg [31:0] was_dat = 0;
  reg known = 0;
  reg [3:0] held = 0, waited = 0;
  wire input_of_was = was_adr[17:2] == {at.INPUT_BASE // 4};
  always @(posedge clk) begin
    started <= 1;
    if (!started) assume (rst);
    was_active <= active && !rst;
    was_ack <= ack;
    was_we <= we; was_adr <= adr; was_sel <= sel; was_dat <= dat;
    waited <= rst || !active || ack ? 0 : waited + 1;
    // Until it is answered or given up, an access stays as it is; no sample is started.
    if (started && was_active && !was_ack && active)
      assume (we == was_we && adr == was_adr && sel == was_sel && dat == was_dat);
    assume (!(we && adr[17:2] == {at.CONTROL // 4}));
    if (rst) begin known <= 1; held <= 0; end
    else if (was_active && was_we && input_of_was && was_sel[0]) begin
      if (ack) begin known <= 1; held <= was_dat[3:0]; end
      else known <= 0;
    end
    if (started && !rst) begin
      if (ack) assert (was_active && !was_ack);
      assert (waited < 8);
      if (ack && !was_we && was_adr[17:2] == {at.ID // 4}) assert (found == 32'd{at.MAGIC});
      if (ack && !was_we && input_of_was && known) assert (found == held);
    end
  end
endmodule
"""


def holds(folder: Path, faults: Mapping[str, str]) -> bool:
    registers = AxiLiteCore(
        StandIn(BITS), in_widths=[BITS], out_widths=[4], out_signed=[False], digest="00" * 32
    )
    verilog = planted(to_verilog(WishboneCore(registers), "wrapper"), faults)
    return proves(folder, {"wrapper.v": verilog, "rules.sv": RULES}, "rules", 13)


@pytest.mark.long
def test_wishbone_keeps_its_rules(tmp_path: Path) -> None:
    assert holds(tmp_path, {})


@pytest.mark.parametrize(
    "faults",
    [
        # The answer to what was given up goes to the next access.
        {"ack_o_t2": "1'h1"},
        pytest.param({"start": "active"}, marks=pytest.mark.long),
    ],
    ids=str,
)
def test_a_wrong_wishbone_has_a_counterexample(faults: dict[str, str], tmp_path: Path) -> None:
    assert not holds(tmp_path, faults)
