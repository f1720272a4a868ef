"""
Would a clinician use it? Calibration, net benefit, probabilities
=================================================================

A good accuracy is not enough for decisions about people. Reviewers ask whether the probabilities
are right (calibration), whether acting on them does more good than harm (a decision curve), and
how well they separate the classes. All three pictures use selection-corrected ("honest")
predictions: each row was predicted by models, and by a choice of models, that had not seen it.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

from tamis import compare
from tamis.inspection import CalibrationDisplay, DecisionCurveDisplay, ProbabilityDisplay

data = load_breast_cancer(as_frame=True)
X, y = data.data, data.target_names[data.target]
comparison = compare(X, y, methods=["centers", "most-frequent"], cv=3)
comparison

# %%
# Are the probabilities right?
# ----------------------------
# Of the rows with a probability of 0.8, eight in ten should be malignant. A slope below one
# means that the probabilities are too extreme, and one above that they are too cautious.
# Probabilities are re-based to the proportion of malignant rows in the data; ``prevalence=0.02``
# would re-base them to a screening population.

CalibrationDisplay.from_comparison(comparison, positive="malignant")

# %%
# Does acting on them do more good than harm?
# -------------------------------------------
# The threshold says how many false alarms one detected case is worth: at 0.1, nine. A model is
# useful where its curve is above both "treat all" and "treat none".

DecisionCurveDisplay.from_comparison(comparison, positive="malignant")

# %%
# How far are the classes apart?
# ------------------------------

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ProbabilityDisplay.from_comparison(comparison, positive="malignant", ax=ax)
