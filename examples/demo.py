"""The main job on an embedded data set: what `make demo` runs.

Prints the sparsity path of the sparse center classifier on scikit-learn's breast-cancer data, the
chosen number of features and the chosen features by name.
"""

import numpy as np
from sklearn.datasets import load_breast_cancer

from tamis import SparseCenterClassifierCV

data = load_breast_cancer(as_frame=False)
names = data.feature_names
model = SparseCenterClassifierCV(rule="1se", random_state=0).fit(data.data, data.target)
path = model.path_

print(f"breast cancer: {data.data.shape[0]} samples, {data.data.shape[1]} features, 2 classes")
print("\nsparsity path, balanced accuracy in 5-fold cross-validation (mean, standard error)\n")
best = int(np.argmax(path["mean"]))
low = path["mean"].min() - 0.01
for k, mean, error in zip(path["k"], path["mean"], path["se"], strict=True):
    marks = [
        name for name, at in (("best", path["k"][best]), ("chosen", model.n_features_)) if k == at
    ]
    bar = "#" * round(60 * (mean - low) / (path["mean"].max() - low))
    print(f"{k:4d}  {mean:.3f} +- {error:.3f}  {bar} {', '.join(marks)}".rstrip())

print(
    f"\nchosen k = {model.n_features_}: the fewest features within one standard error of the best"
)
print(
    f"\n{'feature':<24}{'gain':>7}{'stable':>8}" + "".join(f"{n:>12}" for n in data.target_names)
)
for j in model.ranking_[: model.n_features_]:
    values = "".join(f"{v:12.4g}" for v in model.centers_[:, j])
    print(f"{names[j]:<24}{model.gains_[j]:7.3f}{model.stability_[j]:8.2f}{values}")
print(
    "\ngain: share of the feature's spread that the classes explain; stable: how often half of the"
    "\nsamples choose it; then the class centers. The balanced accuracy of the chosen k is "
    f"{model.best_score_:.3f}\nin the folds that chose it, so a little optimistic."
)
