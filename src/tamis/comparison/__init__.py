"""All families on the same folds: what sparsity costs, and which model to take."""

from tamis.comparison.comparison import Comparison, Settings, compare
from tamis.comparison.final import fit_final
from tamis.comparison.problem import Problem, make_problem

__all__ = ["Comparison", "Problem", "Settings", "compare", "fit_final", "make_problem"]
