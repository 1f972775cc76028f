"""What a build writes: Verilog, test bench, board top, Vivado scripts."""

from scm_hw.emit.testbench import testbench_files


__all__ = ["testbench_files"]
