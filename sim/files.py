"""Files that a run of a simulator leaves in its folder."""

OUTCOMES = "outcomes.jsonl"
WAVES = {"icarus": "{top}.fst", "verilator": "dump.vcd"}
