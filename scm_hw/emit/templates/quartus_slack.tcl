# Whether the clock is met at all corners: quartus_sta -t check_slack.tcl
project_open {{ core }}
create_timing_netlist
read_sdc
set late 0
foreach_in_collection corner [get_available_operating_conditions] {
  set_operating_conditions $corner
  update_timing_netlist
  foreach check {setup hold} {
    set slack ""
    foreach_in_collection path [get_timing_paths -$check -npaths 1] {
      set slack [get_path_info $path -slack]
    }
    puts "$check slack at $corner: $slack ns"
    # Without a number nothing was checked.
    if {![string is double -strict $slack] || $slack < 0} { incr late }
  }
}
project_close
if {$late} {
  puts "ERROR: slack must not be negative; lower --clock"
  qexit -error
}
