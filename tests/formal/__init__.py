"""Proofs for all inputs, with SymbiYosys and z3."""
