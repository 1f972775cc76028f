"""Stimulus, protocol rules and scoreboard of the core's streams, and their cocotb test bench.

Imported as scm_hw.sim. Only `checks` needs a running simulator; the rest is plain Python, and
serves Amaranth's simulator as well.
"""

from scm_hw.sim.model import Mismatch, Scoreboard
from scm_hw.sim.scenario import Outcome, Scenario, all_scenarios
from scm_hw.sim.vectors import Probe, Vectors

__all__ = ["Mismatch", "Outcome", "Probe", "Scenario", "Scoreboard", "Vectors", "all_scenarios"]
