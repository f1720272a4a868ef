"""Simulations for `benchmarks/guarantees.py`: designs, procedures, and how they are judged."""
