"""Synthesis figures and the report of a build."""
