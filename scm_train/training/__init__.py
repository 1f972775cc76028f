"""One training run: parameters, rows and targets in, a model and its history out."""
