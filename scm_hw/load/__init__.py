"""From a model file to a Program."""
