"""What a trained machine is worth: scores, repeated runs, figures, complexity."""
