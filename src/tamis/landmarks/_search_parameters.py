"""Make folds, rows and configurations from the parameters of `LandmarkSearchCV`."""

import warnings
from numbers import Integral

import numpy as np

from tamis._array import is_sparse
from tamis._base import check_class_weight, check_device
from tamis.landmarks._parameters import check_name
from tamis.landmarks.plan import SearchPlan
from tamis.landmarks.space import check_space, draw_configurations, is_count, list_configurations
from tamis.paths.scoring import check_scoring
from tamis.paths.splits import make_splits

_N_CONFIGURATIONS = 128


def check_search(estimator):
    """Raise ValueError for invalid parameters of a search."""
    check_name("search", estimator.search, ("random", "grid"))
    check_name("selection", estimator.selection, ("best", "greedy"))
    check_name("vote", estimator.vote, ("majority", "soft"))
    check_name("warm_start", estimator.warm_start, (False, True))
    check_scoring(estimator.scoring)
    check_device(estimator.device)
    if estimator.search == "grid" and estimator.n_configurations is not None:
        raise ValueError(
            f"n_configurations={estimator.n_configurations!r} is for search='random'; "
            "search='grid' evaluates all configurations. Omit it."
        )
    for name in ("n_configurations", "max_samples"):
        value = getattr(estimator, name)
        if value is not None and not is_count(value):
            raise ValueError(f"{name} must be an integer >= 1 or None, got {value!r}.")
    size = estimator.ensemble_size
    if not is_count(size) and not (isinstance(size, str) and size == "auto"):
        raise ValueError(f"ensemble_size must be an integer >= 1 or 'auto', got {size!r}.")
    if estimator.selection == "greedy" and estimator.vote != "soft":
        raise ValueError(
            "selection='greedy' picks members for the average of their probabilities: use it "
            f"with vote='soft', got vote={estimator.vote!r}."
        )
    if estimator.selection == "greedy" and size == "auto":
        raise ValueError(
            "ensemble_size='auto' is for selection='best'; with selection='greedy' the size "
            "is the number of picks. Give a number, for instance 25."
        )


def make_plan(estimator, X, codes, classes, groups, seed):
    """The plan of a search on validated rows and class indices."""
    class_weight = check_class_weight(estimator.class_weight, classes)
    values = check_space(estimator.space, is_sparse(X))
    streams = np.random.RandomState(seed).randint(2**31 - 1, size=4)
    splits = _split(estimator.cv, X, codes, classes, groups, streams[0])
    kept = _choose_rows(estimator.max_samples, codes, len(classes), streams[1])
    if kept.size < codes.size:
        codes, splits = codes[kept], _restrict(splits, kept, codes.size)
    return SearchPlan(
        configurations=_list_candidates(estimator, values, streams[2]),
        rows=kept,
        codes=codes,
        classes=classes,
        splits=splits,
        class_weight=class_weight,
        seed=int(streams[3]),
        scoring=estimator.scoring or "accuracy",
        selection=estimator.selection,
        vote=estimator.vote,
        ensemble_size=estimator.ensemble_size,
        n_jobs=estimator.n_jobs,
        device=estimator.device,
    )


def _split(cv, X, codes, classes, groups, seed):
    """Training and test rows of each fold."""
    if not isinstance(cv, Integral):
        return make_splits(cv, X, classes[codes], groups)
    if isinstance(cv, bool) or cv < 2:
        raise ValueError(f"cv must be an integer >= 2, a splitter or splits, got {cv!r}.")
    if np.bincount(codes).max() < cv:
        raise ValueError(
            f"cv={cv} folds need a class with at least {cv} samples, and n_samples={codes.size} "
            f"in {len(classes)} classes are too few. Use fewer folds, or LandmarkClassifier, "
            "which needs none."
        )
    with warnings.catch_warnings():
        # A class with fewer rows than folds is fine here: other folds can predict it.
        warnings.filterwarnings("ignore", message="The least populated class")
        return make_splits(cv, X, codes, groups, int(seed))


def _choose_rows(max_samples, codes, n_classes, seed):
    """All rows, or a share of each class so that there are `max_samples`, at least one each."""
    n = codes.size
    if max_samples is None or max_samples >= n:
        return np.arange(n)
    random_state = np.random.RandomState(seed)
    kept = []
    for c in range(n_classes):
        rows = np.flatnonzero(codes == c)
        share = max(1, int(rows.size * max_samples / n))
        kept.append(random_state.permutation(rows)[:share])
    kept = np.sort(np.concatenate(kept))
    warnings.warn(
        f"max_samples={max_samples}: {kept.size} of {n} rows are used, for the search and for "
        "the members.",
        UserWarning,
        stacklevel=5,
    )
    return kept


def _restrict(splits, kept, n_samples):
    """Convert splits of `n_samples` rows to splits of those that are kept."""
    position = np.full(n_samples, -1)
    position[kept] = np.arange(kept.size)
    parts = [tuple(position[part][position[part] >= 0] for part in one) for one in splits]
    if any(train.size == 0 or test.size == 0 for train, test in parts):
        raise ValueError(
            f"max_samples keeps {kept.size} rows, and a split has no training or no test rows. "
            "Allow more rows."
        )
    return parts


def _list_candidates(estimator, values, seed):
    """The configurations that a search evaluates."""
    if estimator.search == "grid":
        return list_configurations(values)
    wanted = estimator.n_configurations
    wanted = _N_CONFIGURATIONS if wanted is None else wanted
    return draw_configurations(values, wanted, np.random.RandomState(seed))
