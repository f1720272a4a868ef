"""
Triage: ask each person only what is needed
===========================================

A form in an emergency room asks everybody the same questions. A datum-wise model asks for one
value at a time and stops when the class is clear: easy cases need one answer, hard ones need
more, and a laboratory panel is ordered only if it can change the decision.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from tamis import DatumWiseClassifier
from tamis.inspection import AcquisitionDisplay

# %%
# Made-up visits: vital signs decide most cases; in the grey area the blood panel does.
# The other questions of the form tell little.

rng = np.random.default_rng(0)
n_visits = 1_200
severity = rng.normal(size=n_visits)
visits = pd.DataFrame(
    {
        "age": rng.integers(18, 95, n_visits).astype(float),
        "temperature": 37.2 + 0.8 * severity + rng.normal(0, 0.4, n_visits),
        "pulse": 85 + 14 * severity + rng.normal(0, 10, n_visits),
        "pain": np.clip(np.round(4 + severity + rng.normal(0, 2.5, n_visits)), 0, 10),
        "lactate": 1.6 + 0.7 * severity + rng.normal(0, 0.15, n_visits),
        "crp": 20 + 18 * severity + rng.normal(0, 4, n_visits),
    }
).round(1)
outcome = np.where(severity + rng.normal(0, 0.1, n_visits) > 0.4, "admit", "home")
X_train, X_test, y_train, y_test = train_test_split(visits, outcome, random_state=0)

# %%
# Costs and feature groups
# ------------------------
# Costs are in any unit you like, here minutes. Values that come together are a feature group
# with one cost: who asks for lactate gets the C-reactive protein as well.

groups = ["age", "temperature", "pulse", "pain", "blood panel", "blood panel"]  # per column
model = DatumWiseClassifier(
    cost_weight=0.005,
    feature_groups=groups,
    feature_costs={"age": 0.2, "temperature": 1, "pulse": 1, "pain": 0.5, "blood panel": 10},
    random_state=0,
).fit(X_train, y_train)
acquired = model.acquire(X_test)
print(
    f"{acquired.n_questions.mean():.1f} questions and {acquired.cost.mean():.1f} minutes per visit"
)
print(f"accuracy {np.mean(acquired.labels == y_test):.3f}")
print(f"{acquired.mask[:, 4].mean():.0%} of the visits need the blood panel")

# %%
# Who is asked what, in which order? Each row is one visit.

fig, ax = plt.subplots(figsize=(7, 5), layout="constrained")
AcquisitionDisplay.from_estimator(model, X_test, ax=ax)

# %%
# One visit: a conversation
# -------------------------
# ``start`` returns a conversation. A value that is unavailable is skipped, and another one is
# asked for.

person = {"temperature": 37.5, "pulse": 92, "pain": 5, "blood panel": [1.9, 30]}
talk = model.start(known={"age": 71})
while question := talk.next_feature():
    talk.answer(person[question])
    print(f"{question}: {person[question]}")
prediction = talk.prediction()
print(f"{prediction.label}, probability {prediction.probabilities.max():.2f}")

# %%
# What does accuracy cost?
# ------------------------
# A path of cost weights is trained for little more than the cost of one model.

path = model.fit_path(X_train, y_train, levels=[0.05, 0.02, 0.01, 0.005, 0.002, 0.001])
new_visits = X_test.to_numpy()
usage = path.usage(new_visits)
right = path.classes[path.labels(new_visits)] == y_test
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.plot(usage.cost.mean(axis=1), right.mean(axis=1), "o-")
_ = ax.set(xlabel="minutes per visit", ylabel="accuracy on new visits")

# %%
# A guarantee before it is used
# -----------------------------
# ``calibrate`` sets rows aside and returns the model with the fewest questions whose errors are
# shown to be rare on them, or none.

guaranteed = DatumWiseClassifier(n_trees=20, n_sets=20, random_state=0).calibrate(
    visits, outcome, max_error=0.15, levels=4
)
print(guaranteed)

# %%
# On the command line: ``tamis fit triage.csv --target outcome --features questions.csv
# --minimize per-sample``, where ``questions.csv`` has the wording, the unit and the cost of
# every question. How it works: ``docs/datum_wise.md``.
