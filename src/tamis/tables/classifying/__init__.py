"""Classifiers of tables, and what is said about their predictions."""
