"""Data: loaders of the papers' files."""

from tamis.datasets.papers import load_genes, load_libsvm, load_text, read_text

__all__ = ["load_genes", "load_libsvm", "load_text", "read_text"]
