"""Heads: small classifiers of the features that a selection has left."""

from tamis.heads.head import Head, KernelHead, LinearHead, head_of
from tamis.heads.kernel import decide_kernels, fit_kernel
from tamis.heads.lda import fit_lda
from tamis.heads.logistic import fit_logistic
from tamis.heads.sparse_logistic import fit_sparse_logistic

__all__ = [
    "Head",
    "KernelHead",
    "LinearHead",
    "decide_kernels",
    "fit_kernel",
    "fit_lda",
    "fit_logistic",
    "fit_sparse_logistic",
    "head_of",
]
