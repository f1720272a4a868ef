"""Family 4: datum-wise classification, features asked for one at a time."""
