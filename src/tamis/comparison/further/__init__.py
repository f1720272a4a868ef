"""Sites, time, subgroups, fewer rows, measurement errors, other data."""
