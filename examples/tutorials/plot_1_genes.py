"""
Genes: a small panel out of 20,000
==================================

You have measured 20,000 genes in 100 people, and you want the few that tell two groups apart:
few enough for a cheap test, and with a score that will hold on the next hundred people.

This tutorial generates such data, so the truth is known: a pathway of five genes that rise
together, one gene that rises alone, and one that falls.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from tamis import compare
from tamis.guarantees import StableSelector, true_features
from tamis.inspection import SparsityPathDisplay

rng = np.random.default_rng(0)
n_people, n_genes = 100, 20_000
y = np.where(np.arange(n_people) % 2, "tumour", "healthy")
is_tumour = y == "tumour"
values = rng.normal(7.0, 1.0, size=(n_people, n_genes))
values[:, :5] += rng.normal(size=(n_people, 1))  # a pathway: five genes that vary together
values[is_tumour, :5] += 1.5
values[is_tumour, 5] += 2.0
values[is_tumour, 6] -= 1.5
X = pd.DataFrame(values, columns=[f"g{gene}" for gene in range(n_genes)])

# %%
# Compare and choose
# ------------------
# ``tamis.compare`` trains each method with one gene, two genes, three, and so on, in the
# same folds. We name two methods and one baseline to keep this page quick; without ``methods``
# all of them take part. On the command line the same is ``tamis fit genes.csv --target group -o
# run``.

comparison = compare(
    X, y, methods=["centers", "panel", "most-frequent"], max_features=10, repeats=1
)
comparison

# %%
# The recommended model is the sparsest one that is about as good as the best. Its
# selection-corrected ("honest") score repeats the whole selection and scores it on rows that it
# did not use: this is the number to report.

honest = comparison.honest_score
print(f"{comparison.choice.method}, {comparison.choice.n_features:.0f} genes")
print(f"balanced accuracy {honest.score:.2f}, 95 % interval {honest.low:.2f} to {honest.high:.2f}")
comparison.features[["feature", "stands_out", "stability", "q"]].round(3)

# %%
# We made the data, so we know that every gene beyond g6 is noise. With 20,000 genes and 100
# people, chance offers some that seem to help. A low ``stability`` (proportion of folds)
# and a large ``q`` are warnings; a guarantee follows below.
#
# The curves show how little is at stake: differences between sizes are about as large as the
# standard errors.

fig, ax = plt.subplots(figsize=(8, 4.5), layout="constrained")
SparsityPathDisplay.from_comparison(comparison, ax=ax)

# %%
# How many of these genes are real?
# ---------------------------------
# A gene that was chosen *because* it differs will always look significant. The bound of
# ``tamis.guarantees.true_features`` survives the choice: it holds for every set of genes at
# once.

genes = [X.columns.get_loc(name) for name in comparison.features["feature"]]
found = true_features(values, y, random_state=0)
print(found.statement(genes))

# %%
# Would another study choose the same genes? A gene that only some half-samples select has
# substitutes, or was selected by chance.

selector = StableSelector(expected_false=1.0, random_state=0).fit(values, y)
print(X.columns[selector.get_support()].tolist())
print(selector.statement(genes))

# %%
# Use the model
# -------------
# The model needs only its own columns, as they are in your file, and it can be saved as a small,
# documented JSON file.

model = comparison.model
print(model.required_)
model.predict_proba(X.loc[:2, model.required_]).round(2)

# %%
# Where to go next
# ----------------
# - What the score means: ``docs/statistics.md``; how sure you can be: ``docs/how_sure.md``
# - Several rows per patient: ``groups="patient"``. Several laboratories:
#   ``batches="laboratory"``.
# - All commands: ``docs/command_line.md``
