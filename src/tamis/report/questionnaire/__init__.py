"""Conversations with one person, in the terminal and on a page."""
