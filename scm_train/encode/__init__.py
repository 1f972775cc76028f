"""From raw inputs to the coded inputs of the first layer."""
