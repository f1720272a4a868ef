"""Imputation, encoding and words: learned once per training set."""
