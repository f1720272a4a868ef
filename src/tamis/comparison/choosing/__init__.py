"""Scores, the rule, the nested choice, the honest score."""
