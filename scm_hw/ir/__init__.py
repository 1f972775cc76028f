"""The integer-exact program: named operations on integers, and what they mean."""
