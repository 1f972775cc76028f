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
foreach bus { {{- buses -}} } {
  ipx::associate_bus_interfaces -busif $bus -clock aclk $core
}
ipx::associate_bus_interfaces -clock aclk -reset aresetn $core
{% if interrupt %}
{# Vivado finds the other bus interfaces, and the memory map, by the names of their ports. #}
set irq [ipx::infer_bus_interface irq xilinx.com:signal:interrupt_rtl:1.0 $core]
set_property value LEVEL_HIGH [ipx::add_bus_parameter SENSITIVITY $irq]
{% endif %}
ipx::update_checksums $core
ipx::check_integrity $core
ipx::save_core $core
close_project
