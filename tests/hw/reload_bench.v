// Samples under random stalls beside events on the loading pins; prints every result and status.
`timescale 1ns / 1ps
module bench;
  reg clk = 0, rst = 0;
  always #5 clk = !clk;
  reg [`IN_WIDTH-1:0] samples [0:`SAMPLES-1];
  // Data, valid, start, revert, reset, and whether the status is printed.
  reg [12:0] events [0:`EVENTS-1];
  integer at_sample = 0, at_event = 0, seed = `SEED;
  reg offered = 0, takes = 0, plays = 0;
  wire in_ready, out_valid;
  wire [`OUT_WIDTH-1:0] out_data;
  wire [`STATUS_WIDTH-1:0] status;
  wire [12:0] now = plays ? events[at_event] : 13'd0;
  wire [12:0] noise = events[at_event];

  `CORE core(
    .clk(clk), .rst(now[11]), .in_valid(offered), .in_ready(in_ready),
    .in_data(offered ? samples[at_sample] : {`IN_WIDTH{1'b0}}),
    .out_valid(out_valid), .out_ready(takes), .out_data(out_data),
    .load_start(now[9]), .load_valid(now[8]), .load_data(noise[7:0]), .load_revert(now[10]),
    .load_status(status)
  );

  initial begin
    $readmemh("samples.hex", samples);
    $readmemh("events.hex", events);
  end

  always @(posedge clk) begin
    if (out_valid && takes) $display("result %h", out_data);
    if (offered && in_ready) at_sample <= (at_sample + 1) % `SAMPLES;
    if (plays) begin
      if (now[12]) $display("status %h", status);
      if (at_event == `EVENTS - 1) $finish;
      at_event <= at_event + 1;
    end
    // An offer stands until it is taken.
    offered <= (offered && !in_ready) || ($unsigned($random(seed)) % 100 < `OPEN);
    takes <= $unsigned($random(seed)) % 100 < `OPEN;
    plays <= $unsigned($random(seed)) % 100 < `EVENTS_OPEN;
  end
endmodule
