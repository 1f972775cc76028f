# {{ name }} behind the processors of {{ board }}: vivado -mode batch -source build.tcl
# It packages the IP, and leaves {{ prefix }}.bit, {{ prefix }}.hwh (for PYNQ) and {{ prefix }}.xsa (for Vitis) here.
set folder [file dirname [file normalize [info script]]]
cd $folder
source package_ip.tcl
set board_files [lindex [lsort -dictionary [get_board_parts -quiet {{ "{" }}{{ board_files }}}]] end]
if {$board_files eq ""} {
  puts "ERROR: board files must be installed for {{ board }}; get them in Tools, Vivado Store, Boards"
  exit 1
}
create_project -force {{ prefix }} project -part {{ part }}
set_property board_part $board_files [current_project]
set_property ip_repo_paths $folder/ip [current_project]
update_ip_catalog
create_bd_design system

# Processors, their memory and pins as the board files have them; their first clock is the bus'.
set ps [create_bd_cell -type ip -vlnv xilinx.com:ip:processing_system7:5.5 ps7]
apply_bd_automation -rule xilinx.com:bd_rule:processing_system7 -config { \
    make_external "FIXED_IO, DDR" apply_board_preset "1" Master "Disable" Slave "Disable"} $ps
set_property -dict [list \
    CONFIG.PCW_FPGA0_PERIPHERAL_FREQMHZ { {{- bus_mhz -}} } \
    CONFIG.PCW_USE_M_AXI_GP0 {1} \
{% if dma %}
    CONFIG.PCW_USE_S_AXI_HP0 {1} \
{% else %}
    CONFIG.PCW_USE_FABRIC_INTERRUPT {1} \
    CONFIG.PCW_IRQ_F2P_INTR {1} \
{% endif %}
{% if crossing %}
    CONFIG.PCW_EN_CLK1_PORT {1} \
    CONFIG.PCW_FPGA1_PERIPHERAL_FREQMHZ { {{- core_mhz -}} } \
{% endif %}
] $ps
create_bd_cell -type ip -vlnv xilinx.com:ip:proc_sys_reset:5.0 resets
create_bd_cell -type ip -vlnv xilinx.com:ip:smartconnect:1.0 control_bus
set_property -dict [list CONFIG.NUM_SI {1} CONFIG.NUM_MI {1}] [get_bd_cells control_bus]
create_bd_cell -type ip -vlnv scm-hw:user:{{ name }}:{{ version }} {{ name }}_0
{% if dma %}
create_bd_cell -type ip -vlnv xilinx.com:ip:axi_dma:7.1 dma
set_property -dict [list \
    CONFIG.c_include_sg {0} \
    CONFIG.c_sg_include_stscntrl_strm {0} \
    CONFIG.c_sg_length_width { {{- length_bits -}} } \
    CONFIG.c_m_axi_mm2s_data_width { {{- memory_bits -}} } \
    CONFIG.c_m_axis_mm2s_tdata_width { {{- tdata -}} } \
    CONFIG.c_m_axi_s2mm_data_width { {{- memory_bits -}} } \
] [get_bd_cells dma]
create_bd_cell -type ip -vlnv xilinx.com:ip:smartconnect:1.0 memory_bus
set_property -dict [list CONFIG.NUM_SI {2} CONFIG.NUM_MI {1}] [get_bd_cells memory_bus]
{% endif %}

{% for driver, sink in buses %}
connect_bd_intf_net [get_bd_intf_pins {{ driver }}] [get_bd_intf_pins {{ sink }}]
{% endfor %}
{% for driver, sinks in nets %}
{% for sink in sinks %}
connect_bd_net [get_bd_pins {{ driver }}] [get_bd_pins {{ sink }}]
{% endfor %}
{% endfor %}
assign_bd_address
validate_bd_design
save_bd_design
puts "clock: [get_property CONFIG.PCW_ACT_FPGA{{ core_clock }}_PERIPHERAL_FREQMHZ $ps] MHz of {{ core_mhz }}"

add_files -norecurse [make_wrapper -files [get_files system.bd] -top]
set_property top system_wrapper [get_filesets sources_1]
update_compile_order -fileset sources_1
launch_runs impl_1 -to_step write_bitstream -jobs 2
wait_on_run impl_1
if {[get_property PROGRESS [get_runs impl_1]] ne "100%"} {
  puts "ERROR: can't implement the block design; see the logs in project/{{ prefix }}.runs"
  exit 1
}
open_run impl_1
report_timing_summary -max_paths 10 -file system_timing.rpt
report_utilization -hierarchical -file system_utilization.rpt
report_power -file system_power.rpt
{% include "check_slack.tcl" %}
# PYNQ finds the description of the hardware by the name of the bitstream.
file copy -force project/{{ prefix }}.runs/impl_1/system_wrapper.bit {{ prefix }}.bit
set handoff sources_1/bd/system/hw_handoff/system.hwh
# Up to Vivado 2020.1 it is among the sources.
file copy -force [lindex [glob project/{{ prefix }}.{gen,srcs}/$handoff] 0] {{ prefix }}.hwh
write_hw_platform -fixed -include_bit -force {{ prefix }}.xsa
quit
