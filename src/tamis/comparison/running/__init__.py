"""Tasks, workers and checkpoints."""
