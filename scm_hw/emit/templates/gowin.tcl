# {{ core }} alone, synthesised with Gowin's tools (it has more ports than a package has pins): gw_sh build.tcl
set_device {{ part }}
add_file -type verilog {{ core }}.v
add_file -type sdc {{ core }}.sdc
set_option -top_module {{ core }}
set_option -verilog_std v2001
set_option -output_base_name {{ core }}
run syn
