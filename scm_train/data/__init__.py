"""Files of training data: reading them, and values outside the range of training."""
