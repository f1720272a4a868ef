"""The final model: its guarantees, alternatives, calibration and description."""
