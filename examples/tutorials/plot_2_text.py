"""
Text: the words that matter
===========================

Word counts are wide and nearly empty: thousands of columns, a dozen values per row. tamis takes
CSR and CSC matrices as they are and never makes them dense.

The reviews here are generated: 4,000 rows over a vocabulary of 20,000 words, in which a few
hundred words are used more often in one of the two classes.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse
from sklearn.model_selection import train_test_split

from tamis import PanelClassifier, SparseCenterClassifierCV
from tamis.selectors import OddsRatioSelector

rng = np.random.default_rng(0)
n_reviews, n_words = 4_000, 20_000
frequency = 1.0 / np.arange(10, n_words + 10)  # Zipf's law
tilt = np.ones((2, n_words))
good_words, bad_words = np.split(rng.choice(np.arange(20, 2_000), 400, replace=False), 2)
tilt[1, good_words] = tilt[0, bad_words] = 3.0
y = rng.integers(0, 2, n_reviews)
probability = frequency * tilt
probability /= probability.sum(axis=1, keepdims=True)
lengths = rng.integers(8, 40, n_reviews)
words = [rng.choice(n_words, n, p=probability[c]) for c, n in zip(y, lengths, strict=True)]
rows = np.repeat(np.arange(n_reviews), lengths)
X = sparse.coo_array(
    (np.ones(rows.size), (rows, np.concatenate(words))), shape=(n_reviews, n_words)
).tocsr()
vocabulary = np.array([f"word{index}" for index in range(n_words)])
vocabulary[good_words] = [f"good{index}" for index in range(200)]
vocabulary[bad_words] = [f"bad{index}" for index in range(200)]
labels = np.array(["bad", "good"])[y]
X_train, X_test, y_train, y_test = train_test_split(X, labels, random_state=0)
print(f"{X.shape[0]:,} x {X.shape[1]:,}, {X.nnz / X.shape[0]:.0f} stored values per row")

# %%
# One pass, every number of words
# -------------------------------
# Sparse centers order all words in one pass; cross-validation then scores a few hundred sizes at
# once. With ``rule="sparsest"`` the smallest size that is good enough is chosen.

model = SparseCenterClassifierCV(rule="sparsest").fit(X_train, y_train)
print(f"{model.n_features_} words, accuracy on new rows {model.score(X_test, y_test):.3f}")
print(vocabulary[model.feature_order_[:10]].tolist())

# %%
# A panel trains a small classifier on the words that it selects, here ridge-logistic regression.
# It pays where words depend on each other; in these data they do not, and both are about equal.

sizes = [10, 30, 100, 300, 1000]
panel = PanelClassifier(head="logistic").fit_path(X_train, y_train, levels=sizes)
panel_scores = [panel.model(i).score(X_test, y_test) for i in range(len(sizes))]

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.plot(sizes, model.path_score(X_test, y_test, ks=sizes), "o-", label="sparse centers")
ax.plot(sizes, panel_scores, "s-", label="panel, logistic head")
ax.set(xscale="log", xlabel="number of words", ylabel="accuracy on new rows")
ax.legend()

# %%
# Why does this review have its label?
# ------------------------------------
# Contributions sum to the decision. They are relative to zero, so absent words contribute
# nothing.

row = int(X_test[:, model.support_].sum(axis=1).argmax())  # the review with most of these words
why = model.explain(X_test[[row]])
contributions = why.values.toarray()[0]
for word in np.argsort(-np.abs(contributions))[:5]:
    print(f"{vocabulary[word]:>10} {contributions[word]:+.2f}")
print("predicted:", model.predict(X_test[[row]])[0])

# %%
# As a filter in front of any classifier
# --------------------------------------
# ``tamis.selectors`` has odds ratios and sparse naive Bayes, which scikit-learn lacks.

selector = OddsRatioSelector(100).fit(X_train, y_train)
print(vocabulary[selector.get_support()][:8].tolist())

# %%
# Real text in a table needs no counting by hand: ``tamis fit reviews.csv --target stars --text
# review``, or ``TableClassifier(text=["review"])`` in Python.
