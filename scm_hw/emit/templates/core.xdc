create_clock -name clk -period {{ period }} [get_ports clk]
# Registers of the same clock drive the inputs and take the outputs, near by: their clock-to-out
# with a net, and their setup.
set_input_delay -clock clk {{ arrival }} [get_ports {rst in_valid in_data[*] out_ready}]
set_output_delay -clock clk {{ setup }} [get_ports {in_ready out_valid out_data[*]}]
