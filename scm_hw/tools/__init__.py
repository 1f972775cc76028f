"""Programs from outside: processes, Yosys, place and route, and where the simulators are."""
