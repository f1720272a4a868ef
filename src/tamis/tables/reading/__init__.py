"""Whole tables, rows for predictions, chunks and streams."""
