"""Generated data on which the best sequence of questions is known."""

from tamis.datasets.generators import make_context, make_cube, make_xor

__all__ = ["make_context", "make_cube", "make_xor"]
