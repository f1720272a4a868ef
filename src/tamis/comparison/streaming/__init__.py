"""A sample chooses, all rows train and verify."""
