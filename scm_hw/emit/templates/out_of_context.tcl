# The core alone, placed and routed out of context: vivado -mode batch -source build.tcl
create_project -in_memory -part {{ part }}
read_verilog {{ core }}.v
read_xdc -mode out_of_context {{ core }}.xdc
synth_design -top {{ core }} -part {{ part }} -mode out_of_context
report_timing_summary -file {{ core }}_timing_synth.rpt
report_utilization -file {{ core }}_utilization_synth.rpt
write_checkpoint -force {{ core }}_synth.dcp
opt_design
place_design
phys_opt_design
route_design
write_checkpoint -force {{ core }}_route.dcp
report_utilization -hierarchical -file {{ core }}_utilization.rpt
report_drc -file {{ core }}_drc.rpt
report_timing_summary -max_paths 10 -file {{ core }}_timing.rpt
{% include "read_activity.tcl" %}
report_power -file {{ core }}_power.rpt
{% include "check_slack.tcl" %}
quit
