"""What is solved rather than drawn: linear part, readout, and the removal of nodes."""
