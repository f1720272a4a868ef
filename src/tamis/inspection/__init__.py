"""Pictures of models and comparisons, in the form of scikit-learn's Displays.

They need matplotlib (``pip install 'tamis[plot]'``), which is imported when a picture is drawn.
"""

from tamis.inspection.sparsity_path import Curve, SparsityPathDisplay

__all__ = ["Curve", "SparsityPathDisplay"]
