"""The rules of the core's streams as assertions, around any core whose function can be written."""

from __future__ import annotations

from string import Template

# Samples in a core at once, at most.
ROOM = 8


def stream_rules(
    in_width: int,
    out_width: int,
    latency: int,
    interval: int,
    function: str,
    *,
    reset: bool = True,
    ready: bool = True,
) -> str:
    """A module `rules` with a core in it: all it may do, whatever its inputs, from a reset on.

    `function` is a Verilog expression of `sample`, the result that a sample must have. `reset`
    allows further resets at any time. A core without `ready` takes every sample, and what it gives
    is taken.
    """
    return _RULES.substitute(
        in_top=in_width - 1,
        out_top=out_width - 1,
        latency=latency,
        interval=interval,
        function=function,
        resets="" if reset else "      assume (!rst);",
        waits="    .in_ready(in_ready), .out_ready(out_ready)," if ready else "",
        always="" if ready else "  assign in_ready = 1;\n  always @* assume (out_ready);",
        room=ROOM,
        most=ROOM - 1,
    )


_RULES = Template("""\
module rules(
  input clk, input rst, input in_valid, input [$in_top:0] in_data, input out_ready
);
  wire in_ready, out_valid;
  wire [$out_top:0] out_data;
  scm_core core(
    .clk(clk), .rst(rst), .in_valid(in_valid), .in_data(in_data),
$waits
    .out_valid(out_valid), .out_data(out_data)
  );
$always

  // Every sample in the core, the oldest first in line.
  reg [$in_top:0] samples [0:$most];
  reg [7:0] sent = 0, received = 0;
  wire [$in_top:0] sample = samples[received % $room];
  wire [$out_top:0] expected = $function;
  wire take = in_valid && in_ready, give = out_valid && out_ready;

  // How long the oldest sample has been the oldest, and how long none was taken though all wait.
  reg [7:0] age = 0, refused = 0;
  reg started = 0, waiting = 0;
  reg [$out_top:0] offered = 0;

  always @(posedge clk) begin
    started <= 1;
    if (!started) assume (rst);
    else begin
$resets
    end
    waiting <= started && !rst && out_valid && !out_ready;
    offered <= out_data;
    if (rst) begin
      sent <= 0;
      received <= 0;
      age <= 0;
      refused <= 0;
    end else begin
      if (take) begin
        samples[sent % $room] <= in_data;
        sent <= sent + 1;
      end
      if (give) received <= received + 1;
      age <= give || sent == received ? 0 : age + 1;
      refused <= out_ready && !in_ready ? refused + 1 : 0;
    end
    if (started && !rst) begin
      // One result for each sample, in order, and none that no sample asked for.
      if (out_valid) assert (sent != received);
      if (out_valid) assert (out_data == expected);
      // Once offered, a result stays.
      if (waiting) assert (out_valid && out_data == offered);
      // A result comes in time, whether or not anyone is ready for it.
      if (age >= $latency - 1 && sent != received) assert (out_valid);
      // Room is made in time, where results are taken.
      assert (refused < $latency + $interval);
    end
  end
endmodule
""")


def function_rule(in_width: int, out_width: int, latency: int, function: str) -> str:
    """A module `rules` with a core in it that any one sample goes through, alone and at once."""
    return _FUNCTION.substitute(
        in_top=in_width - 1, out_top=out_width - 1, latency=latency, function=function
    )


_FUNCTION = Template("""\
module rules(input clk);
  (* anyconst *) wire [$in_top:0] sample;
  wire out_valid;
  wire [$out_top:0] out_data;
  wire [$out_top:0] expected = $function;
  reg [7:0] cycle = 0;
  scm_core core(
    .clk(clk), .rst(cycle == 0), .in_valid(cycle == 1), .in_data(sample),
    .out_valid(out_valid), .out_ready(1'b1), .out_data(out_data)
  );
  always @(posedge clk) begin
    cycle <= cycle + 1;
    if (cycle == $latency + 1) assert (out_valid && out_data == expected);
  end
endmodule
""")
