create_clock -name clk -period {{ period }} [get_ports clk]
# A global buffer outside drives the clock: skew and insertion delay are those of its place.
set_property HD.CLK_SRC BUFGCTRL_X0Y0 [get_ports clk]
# Registers of the same clock drive the inputs and take the outputs, near by: their clock-to-out
# with a net, and their setup.
set_input_delay -clock clk {{ arrival }} [get_ports {rst in_valid in_data[*]{% if ready %} out_ready{% endif %}}]
set_output_delay -clock clk {{ setup }} [get_ports { {%- if ready %}in_ready {% endif %}out_valid out_data[*]}]
