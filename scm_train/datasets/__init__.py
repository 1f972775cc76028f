"""Data sets by name: public files, generated functions, simulated plants."""
