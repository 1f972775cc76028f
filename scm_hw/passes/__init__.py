"""Rewrites of a Program that keep its integers."""
