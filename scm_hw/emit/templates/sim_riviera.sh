#!/bin/sh
# The self-checking test bench in Riviera-PRO. Exit code 0 where it passes.
set -eu
cd "$(dirname "$0")"
BENCH={{ names.testbench }}
SOURCES="{{ names.core }}.v {{ names.testbench_file }}"
LOG=sim_riviera.log
vlib work
vlog -timescale 1ns/1ps $SOURCES
vsim -c -do "run -all; quit" work.$BENCH | tee "$LOG"
grep -Eq '^(# *|KERNEL: *)*PASS' "$LOG"
