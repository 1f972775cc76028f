"""Tests of scm_train."""
