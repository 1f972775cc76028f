"""A core whose readout is loaded: a result is of one bank, whatever is written and swapped."""

from __future__ import annotations

from pathlib import Path

import pytest
from amaranth.hdl import Cat, Module, Signal
from amaranth.lib.wiring import Component, In, Out

from scm_hw.ir import Builder, Field, Input
from scm_hw.load.readout import ReadoutPlan, TablePlan
from scm_hw.load.sections import UploadPlan
from scm_hw.rtl import to_verilog
from scm_hw.rtl.reload import ReloadCore, core, readout_timing
from scm_hw.schedule.ends import Ends
from scm_hw.schedule.schedule import schedule
from scm_hw.target import XC7
from tests.formal.prover import proves

# Two tables of a bit each, with entries of two bits: all that can be mixed.
TABLES = (TablePlan(0, (0,), 2, 0), TablePlan(0, (1,), 2, 0))
PLAN = ReadoutPlan(TABLES, 2, (None,), 0, "scores", (2, 2), bytes(16))
ENTRIES = ((1, -2), (0, 1))


class FreeLoader(Component):
    """Writes any word to the bank that is not read, and swaps the banks at any time: what is on the
    pins decides."""

    def __init__(self, plan: UploadPlan, key: object = None) -> None:
        self.plan = plan
        pins = {"start": In(1), "valid": In(1), "data": In(8), "revert": In(1), "status": Out(8)}
        writes = {
            "banks": Out(1),
            "spare": Out(1),
            "write": Out(1),
            "table": Out(1),
            "address": Out(1),
        }
        super().__init__(pins | writes | {"entry": Out(8)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bank = Signal(reset_less=True)
        m.d.sync += bank.eq(bank ^ self.revert)
        m.d.comb += [
            self.banks.eq(bank),
            self.spare.eq(~bank),
            self.status.eq(bank),
            self.write.eq(self.valid),
            Cat(self.table, self.address, self.entry).eq(self.data),
        ]
        return m


# What the tables hold is kept beside the core; one sample, any of them, is followed through it.
# While it is there, `possible` collects what each single bank would have given for it.
RULES = """\
module rules(
  input clk, input rst, input in_valid, input [1:0] in_data, input out_ready,
  input write, input [3:0] word, input swap
);
  wire in_ready, out_valid;
  wire [2:0] out_data;
  wire [7:0] status;
  wire active = status[0];
  scm_core core(
    .clk(clk), .rst(rst), .in_valid(in_valid), .in_ready(in_ready), .in_data(in_data),
    .out_valid(out_valid), .out_ready(out_ready), .out_data(out_data), .load_start(1'b0),
    .load_valid(write), .load_data({4'd0, word}), .load_revert(swap), .load_status(status)
  );
  // By table, bank and address.
  reg [1:0] kept [0:7];
  initial begin
    kept[0] = 2'd1; kept[1] = 2'd2; kept[2] = 2'd1; kept[3] = 2'd2;
    kept[4] = 2'd0; kept[5] = 2'd1; kept[6] = 2'd0; kept[7] = 2'd1;
  end

  (* anyconst *) wire [3:0] chosen;
  reg [3:0] taken = 0, given = 0;
  reg [1:0] sample = 0;
  reg there = 0, started = 0;
  reg [7:0] possible = 0;
  wire begins = in_valid && in_ready && taken == chosen;
  wire [1:0] seen = begins ? in_data : sample;
  wire signed [2:0] one = $signed(kept[{1'b0, active, seen[0]}]);
  wire signed [2:0] other = $signed(kept[{1'b1, active, seen[1]}]);
  wire [2:0] total = one + other;

  always @(posedge clk) begin
    started <= 1;
    assume (rst == !started);
    if (write) kept[{word[0], ~active, word[1]}] <= word[3:2];
    if (started) begin
      if (in_valid && in_ready) taken <= taken + 1;
      if (out_valid && out_ready) given <= given + 1;
      if (begins) begin there <= 1; sample <= in_data; end
      if (there || begins) possible <= (there ? possible : 8'd0) | (8'd1 << total);
      if (there && out_valid && given == chosen) assert (possible[out_data]);
    end
  end
endmodule
"""


def one_bank_each(folder: Path, monkeypatch: pytest.MonkeyPatch, handshake: str = "global") -> bool:
    monkeypatch.setattr(core, "Loader", FreeLoader)
    build = Builder()
    x = build.add(Input(0, 0, 3))
    bits = tuple(build.add(Field(x, place, 1)) for place in range(2))
    program = build.program((x,), bits)
    plan = schedule(program, clock_mhz=100, ends=Ends(handshake, False, 0.0))
    made = ReloadCore(program, plan, PLAN, ENTRIES, readout_timing(PLAN, 10.0, XC7))
    sources = {"core.v": to_verilog(made, "scm_core"), "rules.sv": RULES}
    # A full core, a sample that waits in it, and its way through.
    return proves(folder, sources, "rules", 2 * made.latency + 4)


@pytest.mark.long
@pytest.mark.parametrize("handshake", ["global", "skid"])
def test_a_result_is_of_one_bank(
    handshake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert one_bank_each(tmp_path, monkeypatch, handshake)


@pytest.mark.parametrize("fault", ["a table late", "the bank that is read"])
def test_a_core_that_mixes_has_a_counterexample(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = core._Readout._entry

    def faulty(readout: core._Readout, number: int, index: object) -> object:
        loader, bank = readout.loader, readout.bank
        if fault == "a table late" and number:
            # It is read with the bank of the cycle before.
            late = Signal()
            readout.m.d.sync += late.eq(bank)
            readout.bank = late
        elif fault == "the bank that is read":
            stand_in = type("Same", (), {})()
            vars(stand_in).update(
                {name: getattr(loader, name) for name in loader.signature.members}
            )
            stand_in.write = loader.write & ~loader.address
            readout.loader = stand_in
        try:
            return whole(readout, number, index)
        finally:
            readout.loader, readout.bank = loader, bank

    monkeypatch.setattr(core._Readout, "_entry", faulty)
    assert not one_bank_each(tmp_path, monkeypatch)
