"""Family 4: datum-wise classification, features asked for one at a time.

Dulac-Arnold, Denoyer, Preux and Gallinari, "Datum-wise classification: a sequential approach to
sparsity" (ECML PKDD 2011). Classifying a sample is a decision process: buy one more feature, or
name a class and stop. A policy is wanted that makes few errors at a low price, where prices,
groups of features, budgets and class weights are the user's (`process`). Sums of prices are exact
(`prices`), and so are budgets (`budgets`).

Data flow: `process` -> a learner -> a policy, which runs samples from what is known to a label ->
`classifier`, `classifier_cv` -> `acquisition`, for many samples or for one in a conversation.
`learners` has the learners by name: the paper's (`linear`, with `candidates`, `rollouts`,
`runs` and `regression`), and forests on a lattice of feature sets (`forest_learner`, with
`lattice`, `forest`, `evidence`, `induction` and `forest_policy`).
"""

from tamis.datumwise.acquisition import Acquired, Acquisition, Questions
from tamis.datumwise.classifier import DatumWiseClassifier
from tamis.datumwise.classifier_cv import DatumWiseClassifierCV

__all__ = [
    "Acquired",
    "Acquisition",
    "DatumWiseClassifier",
    "DatumWiseClassifierCV",
    "Questions",
]
