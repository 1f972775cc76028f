"""AXI4-Stream and AXI4-Lite around a core, for every sequence of transfers, stalls and resets."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from string import Template

import pytest

from scm_hw.interface import AxiLiteCore, AxiStreamCore
from scm_hw.interface import registers as at
from scm_hw.rtl import to_verilog
from tests.formal.prover import proves
from tests.formal.rules import stream_rules
from tests.hw.standin import StandIn

# What the stand-in makes of a sample of four bits.
FUNCTION = "(3 * {0}[1:0] + {0}[3:2])"
BITS = 4


def planted(verilog: str, faults: Mapping[str, str]) -> str:
    """With other assignments to some signals of the wrapper itself, which comes first."""
    for start, line in faults.items():
        lines = verilog.split("\n")
        found = [i for i, text in enumerate(lines) if text.startswith(f"  assign {start} ")]
        lines[found[0]] = f"  assign {start} = {line};"
        verilog = "\n".join(lines)
    return verilog


# A sample with its mark, as one word, so that the rules of the core's streams are those of AXI.
STREAM = """\
module scm_core(
  input clk, input rst, input in_valid, output in_ready, input [4:0] in_data,
  output out_valid, input out_ready, output [8:0] out_data
);
  wrapper wrapped(
    .aclk(clk), .aresetn(!rst), .s_axis_tvalid(in_valid), .s_axis_tready(in_ready),
    .s_axis_tdata({4'hx, in_data[3:0]}), .s_axis_tlast(in_data[4]),
    .m_axis_tvalid(out_valid), .m_axis_tready(out_ready),
    .m_axis_tdata(out_data[7:0]), .m_axis_tlast(out_data[8])
  );
endmodule
"""


def stream_holds(folder: Path, faults: Mapping[str, str]) -> bool:
    wrapper = AxiStreamCore(StandIn(BITS), latency=StandIn.latency, signed=False)
    function = f"((sample[4] << 8) + {FUNCTION.format('sample')})"
    rules = stream_rules(BITS + 1, 9, StandIn.latency, 1, function)
    sources = {
        "wrapper.v": planted(to_verilog(wrapper, "wrapper"), faults),
        "core.v": STREAM,
        "rules.sv": rules,
    }
    # A full core, a sample that waits outside, and its way through.
    return proves(folder, sources, "rules", 3 * StandIn.latency + 4)


@pytest.mark.long
def test_axi_streams_keep_the_rules(tmp_path: Path) -> None:
    assert stream_holds(tmp_path, {})


@pytest.mark.parametrize(
    "faults",
    [
        {"w_data": "s_axis_tlast"},
        pytest.param({"s_axis_tready": "1'h1"}, marks=pytest.mark.long),
    ],
    ids=str,
)
def test_a_wrong_axi_stream_has_a_counterexample(faults: dict[str, str], tmp_path: Path) -> None:
    assert not stream_holds(tmp_path, faults)


_LITE = Template("""\
module rules(
  input clk, input rst,
  input [17:0] awaddr, input awvalid, input [31:0] wdata, input [3:0] wstrb, input wvalid,
  input bready, input [17:0] araddr, input arvalid, input rready
);
  wire awready, wready, bvalid, arready, rvalid;
  wire [1:0] bresp, rresp;
  wire [31:0] rdata;
  wrapper wrapped(
    .aclk(clk), .aresetn(!rst), .s_axi_awprot(3'd0), .s_axi_arprot(3'd0),
    .s_axi_awaddr(awaddr), .s_axi_awvalid(awvalid), .s_axi_awready(awready),
    .s_axi_wdata(wdata), .s_axi_wstrb(wstrb), .s_axi_wvalid(wvalid), .s_axi_wready(wready),
    .s_axi_bresp(bresp), .s_axi_bvalid(bvalid), .s_axi_bready(bready),
    .s_axi_araddr(araddr), .s_axi_arvalid(arvalid), .s_axi_arready(arready),
    .s_axi_rdata(rdata), .s_axi_rresp(rresp), .s_axi_rvalid(rvalid), .s_axi_rready(rready)
  );

  reg started = 0;
  reg [3:0] addresses = 0, words = 0, answers = 0, asked = 0, given = 0;
  // The last that were taken, and what they say once they are answered.
  reg [17:0] address = 0, place = 0;
  reg [31:0] word = 0;
  reg [3:0] strobes = 0;
  reg [3:0] sample = 0, launched = 0;
  // A write that a reset cuts off may have happened, or not: the sample is unknown after it.
  reg known = 0, known_launched = 0;
  reg running = 0, done = 0;
  reg [4:0] since = 0;
  reg b_before = 0, b_waits = 0, r_before = 0, r_waits = 0;
  reg [1:0] b_offered = 0;
  reg [33:0] r_offered = 0;
  wire b_new = bvalid && !b_before, r_new = rvalid && !r_before;
  wire [31:0] result = $result;
  wire starts = b_new && bresp == 0 && address[17:2] == $control && word[0] && strobes[0];

  always @(posedge clk) begin
    started <= 1;
    if (!started) assume (rst);
    b_before <= bvalid && !bready;
    r_before <= rvalid && !rready;
    b_waits <= started && !rst && bvalid && !bready;
    r_waits <= started && !rst && rvalid && !rready;
    b_offered <= bresp;
    r_offered <= {rresp, rdata};
    if (rst) begin
      addresses <= 0; words <= 0; answers <= 0; asked <= 0; given <= 0;
      running <= 0; done <= 0; known <= 0; since <= 0; b_before <= 0; r_before <= 0;
    end else begin
      if (awvalid && awready) begin addresses <= addresses + 1; address <= awaddr; end
      if (wvalid && wready) begin words <= words + 1; word <= wdata; strobes <= wstrb; end
      if (bvalid && bready) answers <= answers + 1;
      if (arvalid && arready) begin asked <= asked + 1; place <= araddr; end
      if (rvalid && rready) given <= given + 1;
      if (running && since != 31) since <= since + 1;
      if (b_new && bresp == 0 && address[17:2] == $input && strobes[0]) begin
        sample <= word[3:0];
        known <= 1;
      end
      if (starts) begin
        launched <= sample;
        known_launched <= known;
        running <= 1;
        done <= 0;
        since <= 0;
      end else if (r_new && place[17:2] == $status && rdata[1]) done <= 1;
    end
    if (started && !rst) begin
      // An answer for each pair of address and data, and for each address to read, and no other.
      if (bvalid) assert (answers != addresses && answers != words);
      if (rvalid) assert (given != asked);
      // Once offered, an answer stays.
      if (b_waits) assert (bvalid && bresp == b_offered);
      if (r_waits) assert (rvalid && {rresp, rdata} == r_offered);
      // What is not done is refused: start and inputs while a sample is under way.
      if (r_new && place[17:2] == $status) assert (rresp == 0 && !(rdata[0] && rdata[1]));
      // A sample that was started is done in time, and its result is what it must be.
      if (r_new && place[17:2] == $status && since > $latency + 4) assert (rdata[1]);
      if (r_new && place[17:2] == $output && done && known_launched && !starts)
        assert (rresp == 0 && rdata == result);
    end
  end
endmodule
""")


def lite_holds(folder: Path, faults: Mapping[str, str], function: str = FUNCTION) -> bool:
    core = StandIn(BITS)
    wrapper = AxiLiteCore(
        core, in_widths=[BITS], out_widths=[4], out_signed=[False], digest="00" * 32
    )
    rules = _LITE.substitute(
        control=at.CONTROL // 4,
        input=at.INPUT_BASE // 4,
        status=at.STATUS // 4,
        output=at.OUTPUT_BASE // 4,
        latency=StandIn.latency,
        result=f"(32'd0 + {function.format('launched')}) & 32'd15",
    )
    sources = {
        "wrapper.v": planted(to_verilog(wrapper, "wrapper"), faults),
        "rules.sv": rules,
    }
    # Write, start, the core's latency, ask for the state and for the result.
    return proves(folder, sources, "rules", 12 + StandIn.latency)


@pytest.mark.long
def test_axi_lite_keeps_its_rules(tmp_path: Path) -> None:
    assert lite_holds(tmp_path, {})


@pytest.mark.long
def test_a_wrong_axi_lite_has_a_counterexample(tmp_path: Path) -> None:
    assert not lite_holds(tmp_path / "lost", {"s_axi_awready": "1'h1"})


@pytest.mark.long
def test_a_wrong_result_behind_axi_lite_has_a_counterexample(tmp_path: Path) -> None:
    """The bound is far enough for a result to be read."""
    assert not lite_holds(tmp_path, {}, "(3 * {0}[1:0] + {0}[3:2] + ({0} == 9))")
