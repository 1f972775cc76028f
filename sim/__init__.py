"""cocotb coroutines and their runner; imported as scm_hw.sim."""
