{# Pins change at the falling edge and are read at the rising one, so that no simulator's order of
   events can matter. #}
// Self-checking test bench of {{ core }}: all vectors at full speed, and the first of them again with
// stalls on both sides, into a sink that waits for out_valid, and with resets in mid-stream. Run it
// from the folder of its vectors, or name them: +inputs=FILE +outputs=FILE. The last line begins
// with PASS or FAIL. With +activity=FILE it only writes what switches in the first cycles at full
// speed, as a waveform. As SystemVerilog and with SYSTEMVERILOG_FATAL defined, a failing run also
// ends with a non-zero exit code.
`timescale 1ns / 1ps

module tb_{{ core }} #(
  // Of the vectors in the files.
  parameter COUNT = {{ count }}
);
  localparam IN_WIDTH = {{ in_width }};
  localparam OUT_WIDTH = {{ out_width }};
  // Vectors of a run with stalls: enough to cross every state of the pipeline.
  localparam STALLED = COUNT < {{ stalled }} ? COUNT : {{ stalled }};
  localparam LATENCY = {{ latency }};
  localparam INTERVAL = {{ interval }};
  // Cycles without a transfer after which a sample counts as lost.
  localparam PATIENCE = 4 * (LATENCY + INTERVAL) + 1000;
  // Cycles after the last result in which a doubled one would show.
  localparam DRAIN = 2 * (LATENCY + INTERVAL);
  // Cycles of a run in which it may be reset: while the pipeline fills, and twice when it is full.
  localparam FIRST_RESET = 2 + LATENCY / 2;
  localparam SECOND_RESET = 4 * (LATENCY + INTERVAL) + 7;
  localparam THIRD_RESET = SECOND_RESET + 3;
  localparam MAX_ERRORS = 20;
  // Cycles of the waveform.
  localparam ACTIVITY = {{ activity }};

  reg clk = 1'b0;
  reg rst = 1'b1;
  reg in_valid = 1'b0;
  reg out_ready = 1'b0;
  reg [IN_WIDTH-1:0] in_data = {IN_WIDTH{1'b0}};
{% if ready %}
  wire in_ready, out_valid;
{% else %}
  // It has no ready on either side.
  wire in_ready = 1'b1;
  wire out_valid;
{% endif %}
  wire [OUT_WIDTH-1:0] out_data;

  {{ core }} dut (
    .clk(clk), .rst(rst),
{% if reload %}
    // Nothing is loaded: the readout stays the one that was built in.
    .load_start(1'b0), .load_valid(1'b0), .load_data(8'd0), .load_revert(1'b0), .load_status(),
{% endif %}
{% if ready %}
    .in_valid(in_valid), .in_ready(in_ready), .in_data(in_data),
    .out_valid(out_valid), .out_ready(out_ready), .out_data(out_data)
{% else %}
    .in_valid(in_valid), .in_data(in_data), .out_valid(out_valid), .out_data(out_data)
{% endif %}
  );

  reg [IN_WIDTH-1:0] inputs [0:COUNT-1];
  reg [OUT_WIDTH-1:0] outputs [0:COUNT-1];
  reg [8*512-1:0] inputs_file, outputs_file, activity_file;

  integer cycle = 0;
  integer count = COUNT;
  integer sent = 0;
  integer received = 0;
  integer errors = 0;
  integer quiet = 0;
  integer step = 0;
  integer last_sent = 0;
  integer sent_at [0:COUNT-1];
  integer recorded = 0;
  reg record = 1'b0;
  reg stalling = 1'b0;
  reg patient = 1'b0;
  reg waiting = 1'b0;
  reg [OUT_WIDTH-1:0] waiting_data = {OUT_WIDTH{1'b0}};
  reg [15:0] lfsr = 16'hACE1;

  always #5 clk = ~clk;

  task finish;
    begin
      if (errors == 0) begin
        $display("PASS: %0d vectors, %0d cycles", COUNT, LATENCY);
        $finish;
      end else begin
        $display("FAIL: %0d errors, %0d vectors, %0d cycles", errors, COUNT, LATENCY);
`ifdef SYSTEMVERILOG_FATAL
        $fatal(0);
`else
        $finish;
`endif
      end
    end
  endtask

  // Inputs, at the falling edge.
  task drive;
    begin
      lfsr = {lfsr[14:0], lfsr[15] ^ lfsr[13] ^ lfsr[12] ^ lfsr[10]};
      // Once offered, a sample stays until it is taken.
      if (!in_valid) in_valid = sent < count && (!stalling || lfsr[3] || lfsr[7]);
      if (in_valid) in_data = inputs[sent];
      else in_data = {IN_WIDTH{lfsr[1]}};
      out_ready = {% if ready %}!stalling || (lfsr[0] && (patient ? waiting : lfsr[5])){% else %}1'b1{% endif %};
    end
  endtask

  task check_result;
    begin
      if (received >= sent) begin
        $display("error: cycle %0d: a result that no sample asked for", cycle);
        errors = errors + 1;
      end else begin
        if (out_data !== outputs[received]) begin
          $display("error: vector %0d gave %h, not %h", received, out_data, outputs[received]);
          errors = errors + 1;
        end
        if (!stalling && cycle - sent_at[received] != LATENCY) begin
          $display("error: vector %0d took %0d cycles, not %0d", received,
                   cycle - sent_at[received], LATENCY);
          errors = errors + 1;
        end
        received = received + 1;
      end
    end
  endtask

  task check_offer;
    begin
      if (waiting && (out_valid !== 1'b1 || out_data !== waiting_data)) begin
        $display("error: cycle %0d: a waiting result changed", cycle);
        errors = errors + 1;
      end
      waiting = out_valid && !out_ready;
      waiting_data = out_data;
    end
  endtask

  task take_sample;
    begin
      if (!stalling && sent > 0 && cycle - last_sent != INTERVAL) begin
        $display("error: vector %0d was taken after %0d cycles, not %0d", sent,
                 cycle - last_sent, INTERVAL);
        errors = errors + 1;
      end
      last_sent = cycle;
      sent_at[sent] = cycle;
      sent = sent + 1;
    end
  endtask

  // What a reset finds in the core is gone, and must not come out later.
  task forget_samples;
    begin
{%- if records %}
      // The history is gone as well: on with the next sample that begins a record.
      if (sent > 0 && sent < count && !inputs[sent][IN_WIDTH-1]) begin
        in_valid = 1'b0;
        while (sent < count && !inputs[sent][IN_WIDTH-1]) sent = sent + 1;
      end
{%- endif %}
      received = sent;
      waiting = 1'b0;
      quiet = 0;
    end
  endtask

  // All that a rising edge shows.
  task check_edge;
    begin
      quiet = quiet + 1;
      if (out_valid !== 1'b0 && out_valid !== 1'b1) begin
        $display("error: cycle %0d: out_valid is undefined", cycle);
        errors = errors + 1;
      end
      check_offer;
      // The result first: a sample taken at this edge can't be what comes out at it.
      if (out_valid && out_ready) begin
        check_result;
        quiet = 0;
      end
      if (in_valid && in_ready) begin
        take_sample;
        quiet = 0;
        #1 in_valid = 1'b0;
      end
    end
  endtask

  // From the first result on, so that there is no signal that has no value yet.
  task record_activity;
    begin
      if (recorded == 0 && received > 0) begin
        $dumpfile(activity_file);
        $dumpvars(0, dut);
        recorded = 1;
      end else if (recorded >= ACTIVITY || (received >= count - 1 && recorded > 1)) begin
        $dumpoff;
        $finish;
      end else if (recorded > 0) recorded = recorded + 1;
    end
  endtask

  // One run over the vectors, from a reset.
  task play;
    input stalls, waits, resets;
    begin
      stalling = stalls;
      count = stalls ? STALLED : COUNT;
      patient = waits;
      sent = 0;
      received = 0;
      quiet = 0;
      step = 0;
      waiting = 1'b0;
      rst = 1'b1;
      in_valid = 1'b0;
      repeat (3) @(negedge clk);
      rst = 1'b0;
      while (errors < MAX_ERRORS && quiet < (received == count ? DRAIN : PATIENCE)) begin
        drive;
        rst = resets && (step == FIRST_RESET || step == SECOND_RESET || step == THIRD_RESET);
        @(posedge clk);
        if (rst) forget_samples;
        else check_edge;
        cycle = cycle + 1;
        step = step + 1;
        @(negedge clk);
        if (record) record_activity;
      end
      if (received != count && errors < MAX_ERRORS) begin
        $display("error: %0d of %0d vectors have no result", count - received, count);
        errors = errors + 1;
      end
    end
  endtask

  initial begin
    if (!$value$plusargs("inputs=%s", inputs_file)) inputs_file = "{{ inputs }}";
    if (!$value$plusargs("outputs=%s", outputs_file)) outputs_file = "{{ outputs }}";
    if ($value$plusargs("activity=%s", activity_file)) record = 1'b1;
    $readmemh(inputs_file, inputs);
    $readmemh(outputs_file, outputs);
    play(1'b0, 1'b0, 1'b0);
    if (errors < MAX_ERRORS) play(1'b1, 1'b0, 1'b0);
    if (errors < MAX_ERRORS) play(1'b1, 1'b1, 1'b0);
    if (errors < MAX_ERRORS) play(1'b1, 1'b0, 1'b1);
    finish;
  end
endmodule
