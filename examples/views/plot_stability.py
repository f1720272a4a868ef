"""
Which features would be chosen again?
=====================================

A panel of five genes is worth little if the next study finds five others. Three pictures show what
to expect: the score for every number of features, how often each feature is selected when the
data change, and how far apart the classes are in it.
"""

from sklearn.datasets import load_breast_cancer

from tamis import SparseCenterClassifier, SparseCenterClassifierCV
from tamis.inspection import CentersDisplay, SparsityPathDisplay, StabilityDisplay

data = load_breast_cancer(as_frame=True)
X, y = data.data, data.target_names[data.target]
chosen = SparseCenterClassifierCV(rule="sparsest").fit(X, y)

# %%
# The score for every number of features, with one standard error to either side. The choice is the
# smallest number that is good enough.

SparsityPathDisplay.from_estimator(chosen)

# %%
# The proportion of folds that select each feature at the chosen number. Features that only some
# folds select have substitutes: here, several measure the size of the cells.

StabilityDisplay.from_estimator(chosen)

# %%
# Class centroids of ten features, in units of their spread.

CentersDisplay.from_estimator(SparseCenterClassifier(10).fit(X, y))
