"""Parts of the description of a model, each of which may fail alone.

A model that was chosen and trained is worth more than any sentence about it. What only describes
it is therefore attempted: a failure is a warning with its reason, and nothing else is lost.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any

from tamis.tables.errors import is_about_memory

__all__ = ["PARTS", "attempt", "tell_failure"]

#: What can fail without any harm to the model, by its name in `metrics.json`.
PARTS = {
    "data_checks": "the checks of the data",
    "honest_score": "the honest score",
    "left_out_batches": "the score on sites or batches left out in turn",
    "time_order": "the score on later rows",
    "permutations": "the permutation test",
    "learning_curve": "the learning curve",
    "assay": "the score with measurement errors",
    "misclassification": "the mean cost of errors",
    "subgroups": "the scores of subgroups",
    "result_checks": "the checks of the result",
    "model_checks": "the checks of the model",
    "true_features": "the bound on the number of true features",
    "frequencies": "how often half-samples select each feature again",
    "rule": "the rule of stability selection",
    "alternatives": "the feature sets that are nearly as good",
    "fit": "the proof of how well the panel fits",
    "interchangeable": "which features are interchangeable",
    "p_values": "the p-values of the features",
    "substitutes": "the features that are correlated with those of the model",
    "tells_batch": "which features differ between sites or batches",
    "centers": "the class centroids of the features",
    "outside_sample": "the score outside the sample",
    "predictions": "the table of honest predictions",
    "pictures": "the pictures of the report",
    "report": "the report",
    "results": "the printed results",
}


def attempt(
    failed: dict[str, str], part: str, make: Callable[[], Any], otherwise: Any = None
) -> Any:
    """What `make` returns; or a warning, and `otherwise`.

    `failed`: receives the reason of a failure; `part`: one of `PARTS`.
    """
    try:
        return make()
    except Exception as error:
        if os.environ.get("TAMIS_DEBUG"):
            raise
        line = " ".join(str(error).split())
        if is_about_memory(error):
            line = f"not enough memory{f': {line}' if line else ''}"
        failed[part] = f"{line} ({type(error).__name__})" if line else type(error).__name__
        warnings.warn(tell_failure(part, failed[part]), stacklevel=2)
        return otherwise


def tell_failure(part: str, reason: str) -> str:
    """One line about a part that failed."""
    return (
        f"{PARTS.get(part, part)} could not be made: {reason}; the model and the other results "
        "are not affected"
    )
