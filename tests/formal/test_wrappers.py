"""AXI4-Stream and AXI4-Lite around a core, for every sequence of transfers, stalls and resets."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from string import Template

import pytest

from scm_hw.rtl import to_verilog
from scm_hw.rtl.axi import AxiLiteCore, AxiStreamCore
from scm_hw.rtl.axi import registers as at
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


# A model of the wrapper around a stand-in, which takes every sample at once, register by register.
# An answer follows its effect: what a write does is seen with its response, and what a read found
# is of the cycle before.
_LITE = Template("""\
module rules(
  input clk, input rst,
  input [17:0] awaddr, input awvalid, input [31:0] wdata, input [3:0] wstrb, input wvalid,
  input bready, input [17:0] araddr, input arvalid, input rready
);
  wire awready, wready, bvalid, arready, rvalid, irq;
  wire [1:0] bresp, rresp;
  wire [31:0] rdata;
  wrapper wrapped(
    .aclk(clk), .aresetn(!rst), .irq(irq),
    .s_axi_awprot(3'd0), .s_axi_arprot(3'd0),
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
  reg b_before = 0, b_waits = 0, r_before = 0, r_waits = 0;
  reg [33:0] r_offered = 0;
  wire b_new = bvalid && !b_before, r_new = rvalid && !r_before;

  // The registers in the cycle before, and now.
  reg [3:0] sample = 0, launched = 0, was_age = 15;
  reg [31:0] was_result = 0, was_samples = 0, was_cycles = 0;
  reg was_busy = 0, was_done = 0, was_enabled = 0;
  reg [4:0] was_sticky = 0;

  wire control = b_new && address[17:2] == $control && strobes[0];
  wire starts = control && word[0] && !was_busy;
  wire to_input = b_new && address[17:3] == $input / 2;
  wire loads = to_input && !address[2] && !was_busy && strobes[0];
  wire [3:0] age = starts ? 4'd0 : was_age == 15 ? 4'd15 : was_age + 4'd1;
  wire finishes = age == $latency + 1;
  wire busy = age <= $latency;
  wire done = finishes || (was_done && !starts);
  wire enabled = control ? word[1] : was_enabled;
  wire [31:0] result = finishes ? $result : was_result;
  wire [31:0] samples = was_samples + finishes;
  wire [31:0] cycles = finishes ? $latency : was_cycles;

  function read_only(input [15:0] at);
    read_only = at == $id || at == $version || (at >= $cycles && at < $digest + $digest_words)
      || at == $output || at == $output + 1;
  endfunction
  function writable(input [15:0] at);
    writable = at == $control || at == $status || at == $input || at == $input + 1;
  endfunction
  wire unused_write = b_new && !read_only(address[17:2]) && !writable(address[17:2]);
  wire unused_read = r_new && !read_only(place[17:2]) && !writable(place[17:2]);
  wire [4:0] raised = {
    b_new && read_only(address[17:2]), unused_write || unused_read, to_input && was_busy,
    control && word[0] && was_busy, finishes
  };
  wire clears = b_new && address[17:2] == $status && strobes[0];
  wire [4:0] sticky = (was_sticky & ~(clears ? word[6:2] : 5'd0)) | raised;

  reg [31:0] expected;
  always @* begin
    case (place[17:2])
      $id: expected = 32'd$magic;
      $version: expected = $map_version;
      $control: expected = {30'd0, was_enabled, 1'b0};
      $status: expected = {25'd0, was_sticky, was_done, was_busy};
      $cycles: expected = was_cycles;
      $samples: expected = was_samples;
      $inputs: expected = 1;
      $outputs: expected = 1;
      $input: expected = {28'd0, sample};
      $output: expected = was_result;
      default: expected = 0;
    endcase
  end

  always @(posedge clk) begin
    started <= 1;
    if (!started) assume (rst);
    b_before <= bvalid && !bready;
    r_before <= rvalid && !rready;
    b_waits <= started && !rst && bvalid && !bready;
    r_waits <= started && !rst && rvalid && !rready;
    r_offered <= {rresp, rdata};
    was_age <= age;
    was_busy <= busy;
    was_done <= done;
    was_enabled <= enabled;
    was_sticky <= sticky;
    was_result <= result;
    was_samples <= samples;
    was_cycles <= cycles;
    if (awvalid && awready) begin addresses <= addresses + 1; address <= awaddr; end
    if (wvalid && wready) begin words <= words + 1; word <= wdata; strobes <= wstrb; end
    if (bvalid && bready) answers <= answers + 1;
    if (arvalid && arready) begin asked <= asked + 1; place <= araddr; end
    if (rvalid && rready) given <= given + 1;
    if (loads) sample <= word[3:0];
    if (starts) launched <= sample;
    if (rst) begin
      addresses <= 0; words <= 0; answers <= 0; asked <= 0; given <= 0;
      b_before <= 0; r_before <= 0; sample <= 0; was_result <= 0;
      was_age <= 15; was_busy <= 0; was_done <= 0; was_enabled <= 0; was_sticky <= 0;
      was_samples <= 0; was_cycles <= 0;
    end
    if (started && !rst) begin
      // An answer for each pair of address and data, and for each address to read, and no other.
      if (bvalid) assert (answers != addresses && answers != words);
      if (rvalid) assert (given != asked);
      // Once offered, an answer stays, and never is it an error.
      if (b_waits) assert (bvalid);
      if (r_waits) assert (rvalid && {rresp, rdata} == r_offered);
      if (bvalid) assert (bresp == 0);
      if (rvalid) assert (rresp == 0);
      if ($registers && r_new) assert (rdata == expected);
      if ($registers) assert (irq == (enabled && sticky[0]));
    end
  end
endmodule
""")


def lite_holds(
    folder: Path, faults: Mapping[str, str], function: str = FUNCTION, registers: bool = True
) -> bool:
    """With what the registers hold, or for more cycles the bus alone, which z3 checks sooner."""
    core = StandIn(BITS)
    wrapper = AxiLiteCore(
        core, in_widths=[BITS], out_widths=[4], out_signed=[False], digest="00" * 32
    )
    places = {register.name.lower(): register.address // 4 for register in at.REGISTERS}
    rules = _LITE.substitute(
        places,
        version=at.MAP_VERSION // 4,
        map_version=at.VERSION,
        magic=at.MAGIC,
        digest_words=at.DIGEST_WORDS,
        registers=int(registers),
        latency=StandIn.latency,
        result=f"(32'd0 + {function.format('launched')}) & 32'd15",
    )
    sources = {
        "wrapper.v": planted(to_verilog(wrapper, "wrapper"), faults),
        "rules.sv": rules,
    }
    # Write, start, the core's latency, read: for the bus alone another access or two besides.
    return proves(folder, sources, "rules", (9 if registers else 14) + StandIn.latency)


@pytest.mark.long
@pytest.mark.parametrize("registers", [True, False])
def test_axi_lite_keeps_its_rules(registers: bool, tmp_path: Path) -> None:
    assert lite_holds(tmp_path, {}, registers=registers)


@pytest.mark.long
@pytest.mark.parametrize(
    "faults",
    [
        {"s_axi_awready": "1'h1"},
        {"irq": "1'h0"},
        {"s_axi_rresp": "s_axi_araddr[3:2]"},
    ],
    ids=str,
)
def test_a_wrong_axi_lite_has_a_counterexample(faults: dict[str, str], tmp_path: Path) -> None:
    assert not lite_holds(tmp_path, faults)


@pytest.mark.long
def test_a_wrong_result_behind_axi_lite_has_a_counterexample(tmp_path: Path) -> None:
    """The bound is far enough for a result to be read."""
    assert not lite_holds(tmp_path, {}, "(3 * {0}[1:0] + {0}[3:2] + ({0} == 9))")
