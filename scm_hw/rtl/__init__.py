"""From a scheduled Program to Amaranth."""
