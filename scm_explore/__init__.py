"""The search for the best designs of a data set: the one place where trainer and compiler meet.

`python -m scm_hw explore` finds it by the entry point group `scm_hw.commands`, so that neither of
the two packages imports it, or the other.
"""
