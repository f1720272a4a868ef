"""Data: loaders of the papers' files and generators whose best policy is known."""

from tamis.datasets.generators import make_context, make_cube, make_xor
from tamis.datasets.papers import load_genes, load_libsvm, load_text, read_text

__all__ = [
    "load_genes",
    "load_libsvm",
    "load_text",
    "make_context",
    "make_cube",
    "make_xor",
    "read_text",
]
