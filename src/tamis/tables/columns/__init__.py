"""Columns: their kinds, roles, words, categories and missing values."""
