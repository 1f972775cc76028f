#!/bin/sh
# The self-checking test bench in Vivado's simulator. Exit code 0 where it passes.
set -eu
cd "$(dirname "$0")"
BENCH={{ names.testbench }}
SOURCES="{{ names.core }}.v {{ names.testbench_file }}"
LOG=sim_xsim.log
xvlog $SOURCES
xelab --timescale 1ns/1ps --snapshot "$BENCH" work.$BENCH
xsim "$BENCH" --runall | tee "$LOG"
grep -Eq '^(# *|KERNEL: *)*PASS' "$LOG"
