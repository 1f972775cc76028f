"""Stochastic configuration machines: learners that end in a model file."""
