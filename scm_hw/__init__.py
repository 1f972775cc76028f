"""From a model file to a bit-exact FPGA design."""
