"""The rows, labels and features that all methods see."""
