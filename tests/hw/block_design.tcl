# Vivado's commands for block designs, beside those of the stub in test_emit_vivado.py: cells have
# the pins of their IP, what is connected twice, not at all, or the wrong way round is an error.
# Before it: ip_inputs, ip_outputs, ip_buses (with their side), and installed, the board files.
set properties [concat $properties {board_part ip_repo_paths}]
array set cells {}
array set config {}
array set joined {}

proc get_board_parts {args} { lsearch -all -inline -glob $::installed [lindex $args end] }
proc current_project {} { return project }
proc update_ip_catalog {} {}
proc create_bd_design {name} { set ::design $name }
proc create_bd_cell {type ip vlnv name cell} {
  if {[list $type $ip $vlnv] ne {-type ip -vlnv}} { error "create_bd_cell: $type $ip $vlnv" }
  set kind [lindex [split $name :] 2]
  if {$kind ni {processing_system7 proc_sys_reset smartconnect axi_dma} && $name ne $::vlnv} {
    error "create_bd_cell: no IP $name"
  }
  set ::cells($cell) $kind
  return $cell
}
proc apply_bd_automation {args} { set ::automated [lindex $args end] }
proc get_bd_cells {name} {
  if {![info exists ::cells($name)]} { error "no cell $name" }
  return $name
}
rename set_property vivado_set_property
proc set_property {args} {
  if {[lindex $args 0] ne "-dict"} { return [uplevel 1 [list vivado_set_property {*}$args]] }
  lassign $args _ pairs cell
  get_bd_cells $cell
  foreach {key value} $pairs { set ::config($cell,[regsub CONFIG. $key ""]) $value }
}
proc told {cell key} { expr {[info exists ::config($cell,$key)] ? $::config($cell,$key) : 0} }

# Of a cell: its inputs, its outputs, its buses as masters and as slaves.
proc pins {cell} {
  switch $::cells($cell) {
    processing_system7 {
      set pins {{M_AXI_GP0_ACLK} {FCLK_CLK0 FCLK_RESET0_N} M_AXI_GP0 {}}
      if {[told $cell PCW_USE_S_AXI_HP0]} { lset pins 3 S_AXI_HP0; lset pins 0 {M_AXI_GP0_ACLK S_AXI_HP0_ACLK} }
      if {[told $cell PCW_EN_CLK1_PORT]} { lset pins 1 {FCLK_CLK0 FCLK_RESET0_N FCLK_CLK1} }
      if {[told $cell PCW_USE_FABRIC_INTERRUPT] && [told $cell PCW_IRQ_F2P_INTR]} {
        lset pins 0 [concat [lindex $pins 0] IRQ_F2P]
      }
    }
    proc_sys_reset { set pins {{slowest_sync_clk ext_reset_in} peripheral_aresetn {} {}} }
    smartconnect {
      set pins {{aclk aresetn} {} {} {}}
      for {set i 0} {$i < [told $cell NUM_MI]} {incr i} { lset pins 2 [concat [lindex $pins 2] M0${i}_AXI] }
      for {set i 0} {$i < [told $cell NUM_SI]} {incr i} { lset pins 3 [concat [lindex $pins 3] S0${i}_AXI] }
    }
    axi_dma {
      if {[told $cell c_include_sg]} { error "dma: no clock for its descriptors" }
      if {[told $cell c_m_axis_mm2s_tdata_width] > [told $cell c_m_axi_mm2s_data_width]} {
        error "dma: a stream wider than memory"
      }
      set pins {
        {s_axi_lite_aclk m_axi_mm2s_aclk m_axi_s2mm_aclk axi_resetn} {}
        {M_AXI_MM2S M_AXI_S2MM M_AXIS_MM2S} {S_AXI_LITE S_AXIS_S2MM}
      }
    }
    default { set pins [list $::ip_inputs $::ip_outputs $::ip_masters $::ip_slaves] }
  }
  return $pins
}
proc pin {path places} {
  lassign [split $path /] cell name
  get_bd_cells $cell
  foreach place $places { if {$name in [lindex [pins $cell] $place]} { return $path } }
  error "no pin $path"
}
proc get_bd_pins {path} { pin $path {0 1} }
proc get_bd_intf_pins {path} { pin $path {2 3} }
proc side {path} {
  lassign [split $path /] cell name
  for {set place 0} {$place < 4} {incr place} { if {$name in [lindex [pins $cell] $place]} { return $place } }
}
proc join_pins {driver sink drives} {
  if {[side $driver] != $drives || [side $sink] != ($drives == 1 ? 0 : 3)} { error "$driver can't drive $sink" }
  if {[info exists ::joined($sink)]} { error "$sink is driven twice" }
  if {$drives == 2 && [info exists ::joined($driver)]} { error "$driver has two slaves" }
  set ::joined($sink) $driver
  if {$drives == 2} { set ::joined($driver) $sink }
}
proc connect_bd_net {driver sink} { join_pins $driver $sink 1 }
proc connect_bd_intf_net {master slave} { join_pins $master $slave 2 }
proc assign_bd_address {} {}
proc validate_bd_design {} {
  if {![info exists ::automated]} { error "the processors have no pins" }
  foreach cell [array names ::cells] {
    lassign [pins $cell] inputs outputs masters slaves
    foreach name [concat $inputs $masters $slaves] {
      if {![info exists ::joined($cell/$name)]} { error "$cell/$name is left open" }
    }
  }
  # Each clock of a bus is the clock of what it meets; only the core has another.
  foreach {sink driver} [array get ::joined] {
    if {[regexp {(aclk|ACLK|slowest_sync_clk)$} $sink] && $driver ne "ps7/FCLK_CLK0"} { error "$sink has another clock" }
    if {[regexp {resetn$} $sink] && $driver ne "resets/peripheral_aresetn"} { error "$sink has no reset" }
  }
  lappend ::called validate_bd_design
}
proc save_bd_design {} {}
proc get_files {name} { return $name }
proc make_wrapper {args} {
  if {"validate_bd_design" ni $::called} { error "make_wrapper: nothing was validated" }
  close [open system_wrapper.v w]
  return system_wrapper.v
}
rename add_files vivado_add_files
proc add_files {args} {
  if {[lindex $args 0] ne "-norecurse"} { return [vivado_add_files {*}$args] }
  if {![file exists [lindex $args 1]]} { error "add_files: no file [lindex $args 1]" }
}
proc launch_runs {run step name args} {
  lappend ::called launch_runs
  set name [lindex [glob -nocomplain -directory . -tails {*.ipynb}] 0]
  set prefix [file rootname $name]
  file mkdir project/$prefix.runs/impl_1 project/$prefix.gen/sources_1/bd/system/hw_handoff
  close [open project/$prefix.runs/impl_1/system_wrapper.bit w]
  close [open project/$prefix.gen/sources_1/bd/system/hw_handoff/system.hwh w]
}
proc wait_on_run {run} {}
proc open_run {run} { lappend ::called open_run }
rename get_property vivado_get_property
proc get_property {name object} {
  if {$name eq "PROGRESS"} { return $::progress }
  return [vivado_get_property $name $object]
}
proc write_hw_platform {fixed bit force file} { lappend ::called write_hw_platform; close [open $file w] }
