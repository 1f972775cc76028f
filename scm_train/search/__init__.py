"""The search for the next node among random candidates."""
