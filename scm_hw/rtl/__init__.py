"""From a scheduled Program to Amaranth."""

from scm_hw.rtl.core import Probe, ScmCore

__all__ = ["Probe", "ScmCore"]
