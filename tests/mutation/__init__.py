"""Faults planted in emitted Verilog, and whether the checks of a build notice them."""
