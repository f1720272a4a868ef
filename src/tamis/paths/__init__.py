"""Paths over sparsity levels: folds, copies of rows, standard errors and the selection rule."""

from tamis.paths.copies import find_copies
from tamis.paths.folds import Fold, leave_one_batch_out, make_folds
from tamis.paths.rule import Counted, Drawn, choose

__all__ = [
    "Counted",
    "Drawn",
    "Fold",
    "choose",
    "find_copies",
    "leave_one_batch_out",
    "make_folds",
]
