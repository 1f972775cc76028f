"""Families: all nodes on one support of a few bits, as one table, one family at a time."""
