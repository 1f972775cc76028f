"""Files, arguments, disks and processes that mean no good."""
