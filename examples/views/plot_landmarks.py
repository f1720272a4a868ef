"""
Samples described by landmarks
==============================

Two rings cannot be told apart by a line, or by one centroid per class. Their distances to a few
landmarks can. Each landmark is a training row, so a prediction can be explained by example.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_circles
from sklearn.model_selection import train_test_split

from tamis import LandmarkClassifier, SparseCenterClassifier
from tamis.inspection import LandmarkDisplay

X, y = make_circles(400, noise=0.1, factor=0.5, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

model = LandmarkClassifier("kmeans", 16, random_state=0).fit(X_train, y_train)
print(f"landmarks: {model.score(X_test, y_test):.2f}")
print(f"centers:   {SparseCenterClassifier(2).fit(X_train, y_train).score(X_test, y_test):.2f}")

fig, ax = plt.subplots(figsize=(6, 5), layout="constrained")
LandmarkDisplay.from_estimator(model, X_train, y_train, ax=ax)

# %%
# The nearest landmarks of one sample, and their classes:

near = model.explain(X_test[:1], n_nearest=3)
print("training rows", near.rows[0].tolist(), "with labels", near.labels[0].tolist())
