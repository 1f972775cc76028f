set late 0
foreach {kind delay} {set-up max hold min} {
  set path [get_timing_paths -delay_type $delay -max_paths 1]
  set slack [expr {[llength $path] ? [get_property SLACK $path] : ""}]
  puts "worst $kind slack: $slack ns"
  # Without a number nothing was checked.
  if {![string is double -strict $slack] || $slack < 0} {
    incr late
    report_timing -delay_type $delay -max_paths 1
  }
}
if {$late && !([info exists argv] && "{{ allow }}" in $argv)} {
  puts "ERROR: slack must not be negative; lower --clock, or give -tclargs {{ allow }}"
  exit 1
}
