"""Tests of scm_hw."""
