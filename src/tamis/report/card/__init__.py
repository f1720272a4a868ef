"""Points cards."""
