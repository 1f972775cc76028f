"""The serial port's frames: none with a bad CRC gets in, whatever bytes come down the line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from amaranth.hdl import Module
from amaranth.lib.wiring import Component, In, Out

from scm_hw.rtl import to_verilog
from scm_hw.uart import FrameBuffer
from scm_hw.uart.packets import CRC, ESCAPE, FLAG, FLIP, HEADER
from tests.formal.prover import proves

SMALLEST = HEADER.size + CRC.size
CAPACITY = 8


class Receiver(Component):
    """The frame buffer with plain ports."""

    def __init__(self) -> None:
        super().__init__(
            {
                "data": In(8),
                "strobe": In(1),
                "line_error": In(1),
                "ready": In(1),
                "valid": Out(1),
                "content": Out(8),
                "last": Out(1),
                "fault": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.buffer = buffer = FrameBuffer(capacity=CAPACITY, patience=60)
        m.d.comb += [
            buffer.data.eq(self.data),
            buffer.strobe.eq(self.strobe),
            buffer.line_error.eq(self.line_error),
            buffer.o.ready.eq(self.ready),
            self.valid.eq(buffer.o.valid),
            self.content.eq(buffer.o.payload.data),
            self.last.eq(buffer.o.payload.last),
            self.fault.eq(buffer.fault),
        ]
        return m


# The CRC bit by bit, as its definition has it. `right` says of a flag that a right frame ends.
RULES = f"""\
module rules(
  input clk, input rst, input [7:0] data, input strobe, input line_error, input ready
);
  wire valid, last, fault;
  wire [7:0] content;
  receiver receiver(
    .clk(clk), .rst(rst), .data(data), .strobe(strobe), .line_error(line_error), .ready(ready),
    .valid(valid), .content(content), .last(last), .fault(fault)
  );

  function [31:0] after;
    input [31:0] crc;
    input [7:0] value;
    integer i;
    begin
      after = crc ^ value;
      for (i = 0; i < 8; i = i + 1) after = after[0] ? (after >> 1) ^ 32'hedb88320 : after >> 1;
    end
  endfunction

  reg started = 0, escaped = 0, bad = 0;
  reg [31:0] crc = 32'hffffffff;
  reg [7:0] count = 0;
  reg [15:0] length = 0;
  reg [7:0] right_ones = 0, given = 0;
  wire [7:0] plain = escaped ? data ^ 8'd{FLIP} : data;
  wire flag = strobe && data == 8'd{FLAG};
  wire right = flag && !bad && !escaped && count >= {SMALLEST} && crc == 32'hdebb20e3
    && length == count - {SMALLEST};

  always @(posedge clk) begin
    started <= 1;
    assume (rst == !started);
    if (rst || flag) begin
      escaped <= 0; bad <= 0; count <= 0; crc <= 32'hffffffff;
    end else begin
      if (line_error) bad <= 1;
      if (strobe && data == 8'd{ESCAPE}) escaped <= 1;
      else if (strobe) begin
        escaped <= 0;
        count <= count + 1;
        crc <= after(crc, plain);
        if (count == 3) length[7:0] <= plain;
        if (count == 4) length[15:8] <= plain;
      end
    end
    if (right) right_ones <= right_ones + 1;
    if (valid && ready && last) given <= given + 1;
    if (started) begin
      // Bytes are given of right frames alone, and a wrong one is told.
      if (valid) assert (given != right_ones);
      if (flag && !right && count != 0) assert (fault);
    end
  end
endmodule
"""


# Enough for the smallest frame, its flag, and its first byte at the other side.
DEPTH = SMALLEST + 4
# Bytes without a pause, or anything at all in fewer cycles.
STEADY = "assume (strobe && !line_error);"


def holds(folder: Path, depth: int, limit: str = "", *, fault: bool = False) -> bool:
    """For all that can come down the line in so many cycles; at fault, any CRC will do."""
    verilog = to_verilog(Receiver(), "receiver")
    if fault:
        verilog, planted = re.subn(r"= ~ match_detected;", "= 1'h0;", verilog)
        assert planted
    rules = RULES.replace("started <= 1;", f"started <= 1; {limit}", 1)
    return proves(folder, {"receiver.v": verilog, "rules.sv": rules}, "rules", depth)


def test_nothing_comes_of_less_than_a_frame(tmp_path: Path) -> None:
    assert holds(tmp_path, 7)


@pytest.mark.long
def test_no_frame_with_a_bad_crc_is_accepted(tmp_path: Path) -> None:
    assert holds(tmp_path, DEPTH, STEADY)


@pytest.mark.long
def test_a_receiver_that_takes_any_crc_has_a_counterexample(tmp_path: Path) -> None:
    assert not holds(tmp_path, DEPTH, STEADY, fault=True)
