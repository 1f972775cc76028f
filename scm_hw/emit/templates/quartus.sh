#!/bin/sh
# {{ core }} in Quartus, and whether it meets its clock: sh build.sh
set -e
cd "$(dirname "$0")"
quartus_sh --flow compile {{ core }}
quartus_sta -t check_slack.tcl
