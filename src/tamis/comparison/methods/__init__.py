"""One object per method: families, panel, baselines."""
