// SPDX-License-Identifier: BSD-2-Clause
// Generated. Do not edit.
// {{ core }} between registers of the same clock, all of them on three pins: to place and route it alone.
`timescale 1ns / 1ps
`default_nettype none

module {{ top }}(clk, serial_in, serial_out);
  input clk;
  input serial_in;
  output reg serial_out;
  reg [{{ in_width - 1 }}:0] shifted, held;
  reg [{{ out_width - 1 }}:0] taken;
{% for port in inputs + outputs %}
  wire {% if port.width > 1 %}[{{ port.width - 1 }}:0] {% endif %}{{ port.name }};
{% endfor %}
  assign { {{- inputs | map(attribute="name") | join(", ") -}} } = held;

  always @(posedge clk) begin
    shifted <= {shifted[{{ in_width - 2 }}:0], serial_in};
    held <= shifted;
    // Every so often the results go out.
    taken <= shifted[0] ? { {{- outputs | map(attribute="name") | join(", ") -}} } : taken >> 1;
    serial_out <= taken[0];
  end

  {{ core }} core (
    .clk(clk),
{% for port in inputs + outputs %}
    .{{ port.name }}({{ port.name }}){{ "" if loop.last else "," }}
{% endfor %}
  );
endmodule

`default_nettype wire
