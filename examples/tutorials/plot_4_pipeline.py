"""
Pipelines: a step among others
==============================

Every estimator of tamis follows scikit-learn's interface, so it fits where you already have a
pipeline: as a feature selector in front of your own classifier, as the classifier at the end, or
inside a search.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tamis import (
    PanelClassifier,
    PanelClassifierCV,
    SparseCenterClassifier,
    TableClassifier,
    load_model,
    save_model,
)

X, y = load_breast_cancer(return_X_y=True, as_frame=True)

# %%
# A selector in front of your classifier
# --------------------------------------
# Sparse centers (class centroids that differ in few features) select the features in one pass;
# ``set_output`` keeps their names.

pipeline = make_pipeline(
    SparseCenterClassifier(n_features_to_select=5), HistGradientBoostingClassifier(max_iter=30)
).set_output(transform="pandas")
pipeline.fit(X, y)
print(pipeline[0].get_feature_names_out().tolist())
pipeline

# %%
# The number of features is a parameter like any other. A search over it is honest as long as the
# selector is *inside* the pipeline, so that each fold selects its own features.

sizes = [1, 2, 3, 5, 8, 12, 20]
search = GridSearchCV(
    pipeline, {"sparsecenterclassifier__n_features_to_select": sizes}, cv=3, scoring="roc_auc"
).fit(X, y)
found = search.cv_results_

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.errorbar(sizes, found["mean_test_score"], found["std_test_score"] / np.sqrt(3), marker="o")
_ = ax.set(
    xlabel="number of features", ylabel="area under the ROC curve", title="Gradient boosting"
)

# %%
# A classifier that chooses its own size
# --------------------------------------
# ``tamis.PanelClassifierCV`` repeats prefilter, selection and head in outer folds and takes
# the smallest panel that is good enough. ``cross_val_score`` repeats all of this and gives a
# score that you can report.

panel = make_pipeline(
    StandardScaler(), PanelClassifierCV([1, 2, 3, 5, 8], rule="sparsest", head="lda")
)
scores = cross_val_score(panel, X, y, cv=3, scoring="balanced_accuracy")
print(f"{scores.mean():.3f} +- {scores.std(ddof=1) / np.sqrt(3):.3f}")

# %%
# Raw tables
# ----------
# ``tamis.TableClassifier`` encodes categories and fills missing values, learned from the
# training rows alone, so it is safe in cross-validation too.

visits = X.assign(clinic=pd.Series(["north", "south", None] * 190)[: len(X)])
table = TableClassifier(PanelClassifier(3, head="lda")).fit(visits, y)
print(table.notes_)

# %%
# Save and load
# -------------
# The model file is documented JSON: no pickle, so it can be read by another version, or another
# language.

with tempfile.TemporaryDirectory() as folder:
    save_model(table, Path(folder, "panel.json"))
    again = load_model(Path(folder, "panel.json"))
print("same predictions:", np.array_equal(again.predict(visits), table.predict(visits)))

# %%
# Callbacks, ``sample_weight``, ``groups`` and metadata routing work as in scikit-learn.
# More about Python: ``docs/python.md``.
