"""`python -m scm_hw design`: from a table to a checked design within a budget."""
