"""The serial port's frames: none with a bad CRC gets in, whatever bytes come down the line.

In two parts, since solvers are slow over the sums of a CRC. One proves of the CRC unit alone, for
any number of bytes, that it is the CRC of their definition. The other proves of the frame buffer,
with a CRC unit that may say anything at any time, that frames get in by its word alone.
"""

from __future__ import annotations

from pathlib import Path
from unittest import mock

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib.crc.catalog import CRC32_ISO_HDLC
from amaranth.lib.wiring import Component, In, Out

from scm_hw.rtl import to_verilog
from scm_hw.rtl.uart import FrameBuffer, framing
from scm_hw.rtl.uart.packets import CRC, ESCAPE, FLAG, FLIP, HEADER
from tests.formal.prover import proves

SMALLEST = HEADER.size + CRC.size
# Enough for the smallest frame, its flag, and its bytes at the other side.
DEPTH = SMALLEST + 5

# Bit by bit, as its definition has it; what is left of a right frame is always the same.
UNIT = """\
module rules(input clk, input rst, input start, input valid, input [7:0] data);
  wire [31:0] crc;
  wire match_detected;
  unit unit(
    .clk(clk), .rst(rst), .start(start), .valid(valid), .data(data), .crc(crc),
    .match_detected(match_detected)
  );
  reg [31:0] wanted = 32'hffffffff, next;
  integer i;
  always @* begin
    next = (start ? 32'hffffffff : wanted) ^ data;
    for (i = 0; i < 8; i = i + 1) next = (next >> 1) ^ ({32{next[0]}} & 32'hedb88320);
  end
  always @(posedge clk) begin
    if (rst) wanted <= 32'hffffffff;
    else if (valid) wanted <= next;
    else if (start) wanted <= 32'hffffffff;
    assert (crc == ~wanted);
    assert (match_detected == (wanted == 32'hdebb20e3));
  end
endmodule
"""


class Unit(Component):
    """The CRC unit of the frames, with ports."""

    def __init__(self) -> None:
        super().__init__(
            {
                "start": In(1),
                "valid": In(1),
                "data": In(8),
                "crc": Out(32),
                "match_detected": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.crc = crc = CRC32_ISO_HDLC().create()
        m.d.comb += [
            crc.start.eq(self.start),
            crc.valid.eq(self.valid),
            crc.data.eq(self.data),
            self.crc.eq(crc.crc),
            self.match_detected.eq(crc.match_detected),
        ]
        return m


@pytest.mark.parametrize("fault", [pytest.param(False, marks=pytest.mark.long), True])
def test_the_crc_is_that_of_its_definition(fault: bool, tmp_path: Path) -> None:
    """By induction: after any number of bytes; at fault, that of another polynomial."""
    rules = UNIT.replace("edb88320", "edb88330") if fault else UNIT
    sources = {"unit.v": to_verilog(Unit(), "unit"), "rules.sv": rules}
    assert proves(tmp_path, sources, "rules", 3, mode="prove") != fault


class Checksum(Unit):
    """In its place: the frame's CRC is right whenever `match` says so."""

    def __init__(self, match: Signal) -> None:
        self.match = match
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.match_detected.eq(self.match)
        return m


class Receiver(Component):
    """The frame buffer with plain ports."""

    def __init__(self) -> None:
        super().__init__(
            {
                "data": In(8),
                "strobe": In(1),
                "line_error": In(1),
                "match": In(1),
                "ready": In(1),
                "valid": Out(1),
                "content": Out(8),
                "last": Out(1),
                "fault": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.buffer = buffer = FrameBuffer(capacity=8, patience=60)
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

    def verilog(self) -> str:
        catalog = mock.Mock()
        catalog.return_value.create = lambda: Checksum(self.match)
        with mock.patch.object(framing, "CRC32_ISO_HDLC", catalog):
            return to_verilog(self, "receiver")


# `right` says of a flag that a right frame ends; `content` is compared with the frame's own bytes.
FRAMES = f"""\
module rules(
  input clk, input rst, input [7:0] data, input strobe, input line_error, input match, input ready
);
  wire valid, last, fault;
  wire [7:0] content;
  receiver receiver(
    .clk(clk), .rst(rst), .data(data), .strobe(strobe), .line_error(line_error), .match(match),
    .ready(ready), .valid(valid), .content(content), .last(last), .fault(fault)
  );

  reg started = 0, escaped = 0, bad = 0;
  reg [7:0] count = 0;
  reg [15:0] length = 0;
  reg [7:0] right_ones = 0, given = 0;
  wire [7:0] plain = escaped ? data ^ 8'd{FLIP} : data;
  wire flag = strobe && data == 8'd{FLAG};
  wire right = flag && !bad && !escaped && count >= {SMALLEST} && match
    && length == count - {SMALLEST};

  always @(posedge clk) begin
    started <= 1;
    assume (rst == !started);
    if (rst || flag) begin
      escaped <= 0; bad <= 0; count <= 0;
    end else begin
      if (line_error) bad <= 1;
      if (strobe && data == 8'd{ESCAPE}) escaped <= 1;
      else if (strobe) begin
        escaped <= 0;
        count <= count + 1;
        if (count == 3) length[7:0] <= plain;
        if (count == 4) length[15:8] <= plain;
      end
    end
    if (right) right_ones <= right_ones + 1;
    if (valid && ready && last) given <= given + 1;
    if (started && !rst) begin
      // Bytes are given of right frames alone, and a wrong one is told.
      if (valid) assert (given != right_ones);
      if (flag && !right && count != 0) assert (fault);
      if (right) assert (!fault);
    end
  end
endmodule
"""


def holds(folder: Path, fault: tuple[str, str] | None = None) -> bool:
    """For all that can come down the line in as many cycles as the smallest frame takes."""
    verilog = Receiver().verilog()
    if fault is not None:
        assert fault[0] in verilog
        verilog = verilog.replace(*fault)
    return proves(folder, {"receiver.v": verilog, "rules.sv": FRAMES}, "rules", DEPTH)


def test_frames_get_in_by_their_crc_alone(tmp_path: Path) -> None:
    assert holds(tmp_path)


def test_a_receiver_that_takes_any_crc_has_a_counterexample(tmp_path: Path) -> None:
    assert not holds(tmp_path, ("= ~ match_detected;", "= 1'h0;"))
