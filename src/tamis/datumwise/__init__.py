"""Datum-wise classification: features are asked for one at a time.

Dulac-Arnold, Denoyer, Preux and Gallinari, "Datum-wise classification: a sequential approach to
sparsity" (ECML PKDD 2011). Classifying a sample is a decision process: ask for one more feature,
or name a class and stop. We look for a policy that makes few errors at a low cost; the user sets
costs, feature groups, budgets and class weights (`process`). Sums of costs are exact (`costs`),
and so are budgets (`budgets`). A *block* is what one question asks for: a feature, or a feature
group.

Data flow: `process` -> a learner -> a policy, which asks samples until it names a label ->
`path` -> `classifier`, `classifier_cv` -> `acquisition`, for many samples or for one in a
conversation. `calibration` finds the fewest questions of a path with which errors are shown to be
rare. `learners` lists the learners by name: the paper's (`linear`, with `candidates`,
`rollouts`, `runs` and `regression`), and forests on a lattice of feature sets (`forest_learner`,
with `lattice`, `forest`, `evidence`, `induction` and `forest_policy`).
"""

from tamis.datumwise.acquisition import Acquired, Acquisition, Questions
from tamis.datumwise.calibration import CalibratedQuestions
from tamis.datumwise.classifier import DatumWiseClassifier
from tamis.datumwise.classifier_cv import DatumWiseClassifierCV
from tamis.datumwise.path import DatumWisePath

__all__ = [
    "Acquired",
    "Acquisition",
    "CalibratedQuestions",
    "DatumWiseClassifier",
    "DatumWiseClassifierCV",
    "DatumWisePath",
    "Questions",
]
