/* verilator lint_off UNUSEDPARAM */
module IBUF(input I, output O); assign O = I; endmodule
module OBUFT(input I, T, output O); assign O = T ? 1'bz : I; endmodule
module STARTUPE2(output EOS); assign EOS = 1'b1; endmodule
module BUFGCTRL #(parameter SIM_DEVICE = "7SERIES")
  (input I0, I1, S0, S1, CE0, CE1, IGNORE0, IGNORE1, output O);
  assign O = S0 && CE0 ? I0 : I1;
endmodule
module FDPE #(parameter INIT = 1'b1) (input C, CE, D, PRE, output reg Q);
  initial Q = INIT;
  always @(posedge C or posedge PRE) if (PRE) Q <= 1'b1; else if (CE) Q <= D;
endmodule
module BUFG(input I, output O); assign O = I; endmodule
// A clock is a clock here, whatever its frequency.
module MMCME2_BASE #(
    parameter real CLKIN1_PERIOD = 0.0, CLKFBOUT_MULT_F = 5.0, CLKOUT0_DIVIDE_F = 1.0,
    parameter integer DIVCLK_DIVIDE = 1)
  (input CLKIN1, CLKFBIN, RST, PWRDWN, output CLKFBOUT, CLKOUT0, LOCKED);
  assign CLKFBOUT = CLKIN1;
  assign CLKOUT0 = CLKIN1;
  assign LOCKED = !(RST || PWRDWN || (CLKFBIN && !CLKFBIN));
endmodule
module IB(input I, output O); assign O = I; endmodule
module OBZ(input I, T, output O); assign O = T ? 1'bz : I; endmodule
module SGSR(input CLK, GSR); wire unused = CLK ^ GSR; endmodule
module FD1S3AX #(parameter GSR = "ENABLED") (input CK, D, output reg Q);
  initial Q = 1'b0;
  always @(posedge CK) Q <= D;
endmodule
module SB_GB_IO #(parameter IO_STANDARD = "", parameter [5:0] PIN_TYPE = 6'd0)
  (inout PACKAGE_PIN, output GLOBAL_BUFFER_OUTPUT);
  assign GLOBAL_BUFFER_OUTPUT = PACKAGE_PIN;
endmodule
module SB_IO #(parameter IO_STANDARD = "", parameter [5:0] PIN_TYPE = 6'd0, parameter PULLUP = 1'b0)
  (inout PACKAGE_PIN, input D_OUT_0, OUTPUT_ENABLE, output D_IN_0);
  // Outputs that may be turned off, or inputs.
  assign PACKAGE_PIN = PIN_TYPE[5:4] == 2'b10 && OUTPUT_ENABLE ? D_OUT_0 : 1'bz;
  assign D_IN_0 = PACKAGE_PIN;
endmodule
