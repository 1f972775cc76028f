"""What a build writes: Verilog, test bench, board top, Vivado scripts."""
