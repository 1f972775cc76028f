# {{ names.core }} under cocotb, with nothing but cocotb and a simulator: make (SIM=verilator)
# With rows of your own (a header, then raw values): make ROWS=$PWD/rows.csv
SIM ?= icarus
TOPLEVEL_LANG := verilog
VERILOG_SOURCES := $(CURDIR)/../{{ names.core }}.v
# The names of cocotb 2, and those of 1.
COCOTB_TOPLEVEL := {{ names.core }}
COCOTB_TEST_MODULES := {{ module }}
ifneq ($(filter 1.%,$(shell cocotb-config --version)),)
TOPLEVEL := $(COCOTB_TOPLEVEL)
MODULE := $(COCOTB_TEST_MODULES)
endif
ifeq ($(SIM),verilator)
EXTRA_ARGS += -Wno-fatal
endif
export PYTHONPATH := $(CURDIR):$(CURDIR)/..:$(PYTHONPATH)
export ROWS

include $(shell cocotb-config --makefiles)/Makefile.sim
