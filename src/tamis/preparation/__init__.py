"""From raw columns to a matrix: imputing, encoding, vectorising, learned inside the folds."""
