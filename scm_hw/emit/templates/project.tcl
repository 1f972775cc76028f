{# The hex files are named in full to the test bench, since Vivado runs it in a folder of its own. #}
# A project for the GUI: vivado -mode batch -source project.tcl, then vivado project/{{ top }}.xpr
set folder [file dirname [file normalize [info script]]]
cd $folder
create_project -force {{ top }} project -part {{ part }}
add_files -fileset sources_1 { {{- sources -}} }
set_property top {{ top }} [get_filesets sources_1]
add_files -fileset constrs_1 { {{- constraints -}} }
add_files -fileset sim_1 { {{- testbench }} {{ inputs }} {{ outputs -}} }
set_property top {{ bench }} [get_filesets sim_1]
set_property -name {xsim.simulate.runtime} -value {all} -objects [get_filesets sim_1]
set_property -name {xsim.simulate.xsim.more_options} \
    -value "-testplusarg inputs=$folder/{{ inputs }} -testplusarg outputs=$folder/{{ outputs }}" \
    -objects [get_filesets sim_1]
# The simulator's own record of what switches, for read_saif -strip_path {{ scope }}.
set_property -name {xsim.simulate.saif_scope} -value { {{- scope -}} } -objects [get_filesets sim_1]
set_property -name {xsim.simulate.saif_all_signals} -value {true} -objects [get_filesets sim_1]
set_property -name {xsim.simulate.saif} -value "$folder/xsim.saif" -objects [get_filesets sim_1]
{% if out_of_context %}
set_property -name {STEPS.SYNTH_DESIGN.ARGS.MORE OPTIONS} -value {-mode out_of_context} \
    -objects [get_runs synth_1]
{% endif %}
update_compile_order -fileset sources_1
update_compile_order -fileset sim_1
close_project
