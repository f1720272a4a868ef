"""
How close to the optimum? The duality gap
=========================================

Most solvers stop when they no longer move. The primal-dual family stops when a *certificate* shows
how far its objective can be from the optimum at most, whichever algorithm found it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from tamis import PrimalDualClassifier
from tamis.inspection import ConvergenceDisplay
from tamis.projections import project_l1_ball, project_l21_ball

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
model = PrimalDualClassifier(radius=0.5, ball="l21", tol=1e-8).fit(X, y)
print(f"{model.n_features_} features, relative gap {model.relative_gap_:.0e}")
ConvergenceDisplay.from_estimator(model)

# %%
# What a ball does
# ----------------
# Projecting a matrix (features times classes) on a ball makes it sparse. The l1 ball makes entries
# zero; the l2,1 ball makes whole rows zero, so that all classes share their features.

rng = np.random.default_rng(0)
W = rng.normal(size=(12, 4)) * rng.exponential(size=(12, 1))
fig, axes = plt.subplots(1, 3, figsize=(8, 4), layout="constrained", sharey=True)
for ax, title, matrix in zip(
    axes,
    ["before", "l1 ball", "l2,1 ball"],
    [W, project_l1_ball(W, 8.0), project_l21_ball(W, 4.0)],
    strict=True,
):
    ax.imshow(np.where(matrix == 0, np.nan, matrix), cmap="PuOr", vmin=-3, vmax=3)
    ax.set(title=title, xlabel="class", xticks=range(4))
axes[0].set_ylabel("feature")
