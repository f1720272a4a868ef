"""Files: one reader per format."""
