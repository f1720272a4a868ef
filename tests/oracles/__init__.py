"""Slow, obvious versions of what tamis computes. They share no code with it."""
