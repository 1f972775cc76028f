# The core as IP for the block designer: vivado -mode batch -source package_ip.tcl
# Then add the folder ip/ to the IP repositories of a project.
set folder [file dirname [file normalize [info script]]]
cd $folder
create_project -force {{ name }}_ip ip_project -part {{ part }}
add_files -fileset sources_1 { {{- core }}.v {{ name }}.v {{- "}" }}
set_property top {{ name }} [get_filesets sources_1]
update_compile_order -fileset sources_1
ipx::package_project -root_dir ip -vendor scm-hw -library user -taxonomy /UserIP \
    -import_files -force
set core [ipx::current_core]
set_property name {{ name }} $core
set_property display_name { {{- display -}} } $core
set_property description {scm-hw design {{ digest }}} $core
set_property version {{ version }} $core
set_property supported_families { {{- families -}} } $core
{# Vivado finds bus interfaces, clocks and resets by the names of their ports. #}
foreach bus { {{- buses -}} } {
  ipx::associate_bus_interfaces -busif $bus -clock aclk $core
}
ipx::associate_bus_interfaces -clock aclk -reset aresetn $core
{% if crossing %}
if {![llength [ipx::get_bus_interfaces -quiet core_clk -of_objects $core]]} {
  ipx::infer_bus_interface core_clk xilinx.com:signal:clock_rtl:1.0 $core
}
{% endif %}
{% if registers %}
set irq [ipx::infer_bus_interface irq xilinx.com:signal:interrupt_rtl:1.0 $core]
set_property value LEVEL_HIGH [ipx::add_bus_parameter SENSITIVITY $irq]
# The memory map, with the registers in it for those who read the IP's description.
set map [ipx::get_memory_maps -quiet s_axi -of_objects $core]
if {![llength $map]} {
  set map [ipx::add_memory_map s_axi $core]
  set_property slave_memory_map_ref s_axi [ipx::get_bus_interfaces s_axi -of_objects $core]
}
set block [lindex [ipx::get_address_blocks -quiet -of_objects $map] 0]
if {$block eq ""} { set block [ipx::add_address_block reg0 $map] }
set_property usage register $block
set_property range {{ range }} $block
set_property width 32 $block
foreach {name address access meaning} {
{% for register in registers %}
  {{ register.name }} {{ register.address }} {{ register.access }} { {{- register.meaning -}} }
{% endfor %}
} {
  set register [ipx::add_register $name $block]
  set_property address_offset $address $register
  set_property size 32 $register
  set_property access $access $register
  set_property description $meaning $register
}
{% endif %}
ipx::update_checksums $core
ipx::check_integrity $core
ipx::save_core $core
close_project
