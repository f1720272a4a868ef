"""LandmarkSearchCV: KMS and KMSE, the search for good configurations and their ensemble."""

import warnings
from numbers import Integral

import joblib
import numpy as np
from joblib import Parallel, delayed
from scipy import sparse
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from tamis._base import check_class_weight, steps, with_callbacks
from tamis.landmarks._fitted import FittedLandmarks, find_nearest
from tamis.landmarks._parameters import check_name
from tamis.landmarks.choose import SAMPLERS
from tamis.landmarks.ensemble import choose_size, combine, member_weights, pick_greedily
from tamis.landmarks.evaluation import balanced_errors, evaluate_branch, list_branches
from tamis.landmarks.model import model_shares, train_model
from tamis.landmarks.outcomes import Outcomes
from tamis.landmarks.scaling import fit_scaling
from tamis.landmarks.space import (
    PARAMETERS,
    check_space,
    draw_configurations,
    is_count,
    list_configurations,
)
from tamis.paths.seeds import as_seed
from tamis.paths.splits import make_splits

__all__ = ["LandmarkSearchCV"]


class LandmarkSearchCV(FittedLandmarks):
    """Ensemble of the landmark classifiers that cross-validation finds best: KMS and KMSE.

    Evaluates many configurations of `LandmarkClassifier` (how landmarks are chosen, how many,
    their kind, distance, kernel, the classifier and its parameters) by the balanced error of their
    pooled out-of-fold predictions, and trains the best ones on all data. Configurations are
    evaluated as a tree of shared work: the paper's whole space costs about as much as 128
    configurations one at a time, and gives the same numbers.

    Parameters
    ----------
    space : {"paper", "extended"} or dict, default="paper"
        Configurations to choose from: Table 1 of [1]_ (3,900 distinct ones); or scaled features,
        128 to 512 landmarks, also per class, and neighbours, ridge regression and discriminant
        analysis, best with ``selection="greedy"``. A dict has lists of values for some
        parameters; the others are as in the paper.
    search : {"random", "grid"}, default="random"
        Draw configurations (each parameter by itself), or evaluate all of them.
    n_configurations : int or None, default=None
        How many are drawn; None: 128. With ``search="random"`` only.
    ensemble_size : int or "auto", default=15
        Number of members: 1 is the paper's KMS, 15 its KMSE. "auto": the odd number up to 31
        whose majority errs least on out-of-fold predictions.
    selection : {"best", "greedy"}, default="best"
        The members with the least errors; or picked one at a time, with repetition, each the one
        that brings the average of out-of-fold probabilities nearest to the truth (needs
        ``vote="soft"``; `ensemble_size` is then the number of picks).
    vote : {"majority", "soft"}, default="majority"
        Whether members vote or their probabilities are averaged. Equal votes: the better-ranked
        members decide.
    class_weight : {"balanced"}, dict or None, default=None
        Weights of the classes in every member, and in the errors that rank the configurations:
        None and "balanced" rank by the balanced error, a dict by the error weighted so.
    cv : int, splitter or iterable of (train, test), default=3
        Folds; an integer means that many shuffled stratified ones. Landmarks are chosen anew in
        every fold.
    max_samples : int or None, default=None
        Use at most so many rows, drawn by class, for search and members; a warning says so. None:
        all rows.
    warm_start : bool, default=False
        Keep all out-of-fold predictions, and go on from those of the last `fit` of the same data
        and seed: after a stop, or with more configurations.
    n_jobs : int or None, default=None
        Threads. Results do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of folds, draws and landmarks.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    configurations_ : dict of ndarray
        What was evaluated, a column for every parameter and "balanced_error" (weighted where
        `class_weight` is a dict), best first; a table for ``pandas.DataFrame``.
    best_configuration_ : dict
        Parameters of the best configuration, for ``LandmarkClassifier(**best_configuration_)``.
    best_score_ : float
        One minus its error on out-of-fold predictions, the balanced accuracy without weights:
        good for choosing, too optimistic as an estimate.
    members_ : list of dict
        "configuration", "seed", "weight" and "model" of every member, as plain records.
    path_ : dict of ndarray
        "n_landmarks", and the least "balanced_error" with so many.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, when they have names that are strings.

    Notes
    -----
    A callback that asks to stop ends the search; the configurations evaluated until then choose
    the members. A keyboard interrupt does the same and is then raised again, so that in an
    interactive session the estimator is ready for use, and with ``warm_start=True`` another `fit`
    goes on.

    References
    ----------
    .. [1] Ortiz-Bejar, Tellez and Graff, "Improving classification performance by feature space
       transformations and model selection", arXiv 1907.06258.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamis import LandmarkSearchCV
    >>> X, y = load_iris(return_X_y=True)
    >>> search = LandmarkSearchCV(n_configurations=20, random_state=0).fit(X, y)
    >>> round(search.best_score_, 3), len(search.members_)
    (0.987, 15)
    >>> search.best_configuration_["classifier"]
    'nb'
    """

    _fitted_attribute = "members_"

    def __init__(
        self,
        *,
        space="paper",
        search="random",
        n_configurations=None,
        ensemble_size=15,
        selection="best",
        vote="majority",
        class_weight=None,
        cv=3,
        max_samples=None,
        warm_start=False,
        n_jobs=None,
        random_state=None,
    ):
        self.space = space
        self.search = search
        self.n_configurations = n_configurations
        self.ensemble_size = ensemble_size
        self.selection = selection
        self.vote = vote
        self.class_weight = class_weight
        self.cv = cv
        self.max_samples = max_samples
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state

    @with_callbacks
    def fit(self, X, y, groups=None):
        """Search, then train the members on all data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples; sparse ones stay sparse.
        y : array-like of shape (n_samples,)
            Labels of any type, two classes or more.
        groups : array-like of shape (n_samples,), default=None
            Sample groups (patients, copies of a row): with a number of folds they stay whole, a
            splitter of yours gets them.

        Returns
        -------
        self : LandmarkSearchCV
        """
        self._check_parameters()
        X, codes = self._validate(X, y)
        class_weight = check_class_weight(self.class_weight, self.classes_)
        values = check_space(self.space, sparse.issparse(X))
        seed = self._seed()
        streams = np.random.RandomState(seed).randint(2**31 - 1, size=4)
        splits = self._splits(X, codes, groups, streams[0])
        kept = self._choose_rows(codes, streams[1])
        if kept.size < codes.size:
            X, codes, splits = X[kept], codes[kept], restrict(splits, kept, codes.size)
        configurations = self._configurations(values, streams[2])
        greedy = self.selection == "greedy"
        n_classes = len(self.classes_)
        outcomes = Outcomes(configurations, codes, splits, n_classes, class_weight, greedy)
        key = joblib.hash((X, codes, splits, class_weight, seed)) if self.warm_start else None
        self._resume(outcomes, key)

        members = np.random.RandomState(streams[3])
        samplers = members.randint(2**31 - 1, size=(len(splits), len(SAMPLERS)))
        # Products and factors are small: threads inside of them would only wait for each other.
        with threadpool_limits(1, user_api="blas"):
            try:
                self._evaluate(outcomes, X, codes, splits, samplers, class_weight)
            finally:
                # Also after an interrupt: what is known is put to use before it goes on.
                self._seed_used = seed
                self._known = {"key": key, **outcomes.as_record()} if self.warm_start else None
                if outcomes.done.any():
                    self._rank(outcomes)
                    self._train_members(outcomes, X, codes, kept, members, class_weight)
        return self

    def _check_parameters(self):
        check_name("search", self.search, ("random", "grid"))
        check_name("selection", self.selection, ("best", "greedy"))
        check_name("vote", self.vote, ("majority", "soft"))
        check_name("warm_start", self.warm_start, (False, True))
        if self.search == "grid" and self.n_configurations is not None:
            raise ValueError(
                f"n_configurations={self.n_configurations!r} is for search='random'; "
                "search='grid' evaluates all. Leave it out."
            )
        for name in ("n_configurations", "max_samples"):
            value = getattr(self, name)
            if value is not None and not is_count(value):
                raise ValueError(f"{name} must be an integer >= 1 or None, got {value!r}.")
        size = self.ensemble_size
        if not is_count(size) and not (isinstance(size, str) and size == "auto"):
            raise ValueError(f"ensemble_size must be an integer >= 1 or 'auto', got {size!r}.")
        if self.selection == "greedy" and self.vote != "soft":
            raise ValueError(
                "selection='greedy' picks members for the average of their probabilities: use it "
                f"with vote='soft', got vote={self.vote!r}."
            )
        if self.selection == "greedy" and size == "auto":
            raise ValueError(
                "ensemble_size='auto' is for selection='best'; with selection='greedy' the size "
                "is the number of picks. Give a number, for instance 25."
            )

    def _seed(self):
        going_on = self.warm_start and getattr(self, "_known", None) is not None
        if going_on and self.random_state is None:
            return self._seed_used
        return as_seed(self.random_state)

    def _splits(self, X, codes, groups, seed):
        labels = self.classes_[codes]
        if not isinstance(self.cv, Integral):
            return make_splits(self.cv, X, labels, groups)
        if isinstance(self.cv, bool) or self.cv < 2:
            raise ValueError(f"cv must be an integer >= 2, a splitter or splits, got {self.cv!r}.")
        if np.bincount(codes).max() < self.cv:
            raise ValueError(
                f"cv={self.cv} folds need a class with at least {self.cv} samples, and "
                f"n_samples={codes.size} in {len(self.classes_)} classes are too few. Use fewer "
                "folds, or LandmarkClassifier, which needs none."
            )
        with warnings.catch_warnings():
            # A class with fewer rows than folds is fine here: other folds can predict it.
            warnings.filterwarnings("ignore", message="The least populated class")
            return make_splits(self.cv, X, codes, groups, int(seed))

    def _choose_rows(self, codes, seed):
        """All rows, or as many of every class as `max_samples` leaves it, at least one."""
        n = codes.size
        if self.max_samples is None or self.max_samples >= n:
            return np.arange(n)
        random_state = np.random.RandomState(seed)
        kept = []
        for c in range(len(self.classes_)):
            rows = np.flatnonzero(codes == c)
            share = max(1, int(rows.size * self.max_samples / n))
            kept.append(random_state.permutation(rows)[:share])
        kept = np.sort(np.concatenate(kept))
        warnings.warn(
            f"max_samples={self.max_samples}: {kept.size} of {n} rows are used, for the search "
            "and for the members.",
            UserWarning,
            stacklevel=4,
        )
        return kept

    def _configurations(self, values, seed):
        if self.search == "grid":
            return list_configurations(values)
        wanted = 128 if self.n_configurations is None else self.n_configurations
        return draw_configurations(values, wanted, np.random.RandomState(seed))

    def _resume(self, outcomes, key):
        known = getattr(self, "_known", None)
        if not self.warm_start or known is None:
            return
        if known["key"] != key:
            warnings.warn(
                "warm_start=True, but data, folds, class weights or seed differ from those of the "
                "last fit: the search begins anew.",
                UserWarning,
                stacklevel=4,
            )
            return
        outcomes.adopt(known)

    def _evaluate(self, outcomes, X, codes, splits, samplers, class_weight):
        """Evaluate what is not known yet, a branch of the tree and a fold at a time."""
        tasks = []
        for f in range(len(splits)):
            missing = np.flatnonzero(~outcomes.done[:, f])
            for branch in list_branches([outcomes.configurations[p] for p in missing]):
                tasks.append((branch, f, missing[list(branch.places)]))
        # All folds of a branch one after the other: a stop then leaves whole configurations.
        order = {}
        for task in tasks:
            order.setdefault(str(task[0]), []).append(task)
        tasks = [task for group in order.values() for task in group]
        soft = outcomes.probabilities is not None
        scalings = {
            key: fit_scaling(key[0], X[splits[key[1]][0]])
            for key in dict.fromkeys((branch.scaling, f) for branch, f, _ in tasks)
        }
        done = Parallel(n_jobs=self.n_jobs, prefer="threads", return_as="generator")(
            delayed(evaluate_branch)(
                branch,
                X,
                codes,
                outcomes.n_classes,
                *splits[f],
                samplers[f],
                class_weight,
                soft,
                scalings[branch.scaling, f],
            )
            for branch, f, _ in tasks
        )
        names = [f"{branch}: fold {f}" for branch, f, _ in tasks]
        places = iter(tasks)
        for _ in steps(self, names, X=X, y=codes):
            _, f, where = next(places)
            outcomes.add(where, f, *next(done))

    def _rank(self, outcomes):
        """Set `configurations_` and what belongs to it, best first."""
        places, columns = outcomes.usable()
        errors = balanced_errors(
            outcomes.labels[np.ix_(places, columns)], outcomes.truth[columns], outcomes.importance
        )
        order = np.argsort(errors, kind="stable")
        self._order, self._columns = places[order], columns
        ranked = [outcomes.configurations[p] for p in self._order]
        table = {name: as_column([getattr(c, name) for c in ranked]) for name in PARAMETERS}
        table["balanced_error"] = errors[order]
        self.configurations_ = table
        self.best_configuration_ = ranked[0].as_dict()
        self.best_score_ = float(1.0 - errors[order[0]])
        sizes = np.unique(table["n_landmarks"])
        least = [table["balanced_error"][table["n_landmarks"] == k].min() for k in sizes]
        self.path_ = {"n_landmarks": sizes, "balanced_error": np.array(least)}

    def _train_members(self, outcomes, X, codes, kept, random_state, class_weight):
        """Train the chosen configurations on all rows, each with a seed of its own."""
        order, columns = vars(self).pop("_order"), vars(self).pop("_columns")
        truth = outcomes.truth[columns]
        if self.selection == "greedy":
            shares = outcomes.probabilities[np.ix_(order, columns)]
            chosen, weights = pick_greedily(shares, truth, outcomes.importance, self.ensemble_size)
        else:
            size = self.ensemble_size
            if size == "auto":
                labels = outcomes.labels[np.ix_(order, columns)]
                size = choose_size(labels, truth, outcomes.importance)
            chosen = np.arange(min(size, order.size))
            weights = member_weights(chosen.size, self.vote)
        configurations = [outcomes.configurations[order[m]] for m in chosen]
        seeds = random_state.randint(2**31 - 1, size=chosen.size)
        scalings = {name: fit_scaling(name, X) for name in {c.scaling for c in configurations}}
        models = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(train_model)(
                c,
                X,
                codes,
                outcomes.n_classes,
                int(seed),
                class_weight,
                scaling=scalings[c.scaling],
            )
            for c, seed in zip(configurations, seeds, strict=True)
        )
        self.members_ = []
        for c, seed, weight, model in zip(configurations, seeds, weights, models, strict=True):
            row_codes = codes[model["map"]["rows"]]
            model["map"]["rows"] = kept[model["map"]["rows"]]
            self.members_.append(
                {
                    "configuration": c.as_dict(),
                    "seed": int(seed),
                    "weight": float(weight),
                    "model": model,
                    "row_codes": row_codes,
                }
            )
        self._vote = self.vote  # the parameter may be set to another one after fit

    def _shares(self, X):
        weights = np.array([member["weight"] for member in self.members_])
        shares = (model_shares(member["model"], X) for member in self.members_)
        return combine(weights, shares, self._vote)

    def _decide(self, X):
        return self._shares(X)

    def explain(self, X, n_nearest=3, member=0):
        """The landmarks of one member that every sample is nearest to.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        n_nearest : int, default=3
            How many landmarks.
        member : int, default=0
            Which member; 0 is the best.

        Returns
        -------
        explanation : NearestLandmarks
            Training rows, their labels, and distances.
        """
        check_is_fitted(self, "members_")
        if not isinstance(member, Integral) or not 0 <= member < len(self.members_):
            raise ValueError(
                f"member must be an integer from 0 to {len(self.members_) - 1}, got {member!r}."
            )
        chosen = self.members_[member]
        labels = self.classes_[chosen["row_codes"]]
        return find_nearest(chosen["model"]["map"], self._check_X(X), labels, n_nearest)


def restrict(splits, kept, n_samples):
    """Splits of `n_samples` rows as splits of those that are kept."""
    position = np.full(n_samples, -1)
    position[kept] = np.arange(kept.size)
    parts = [tuple(position[part][position[part] >= 0] for part in split) for split in splits]
    if any(train.size == 0 or test.size == 0 for train, test in parts):
        raise ValueError(
            f"max_samples leaves {kept.size} rows, and a split without training or test rows. "
            "Allow more rows."
        )
    return parts


def as_column(values):
    """An array of numbers where all values are; otherwise of objects."""
    if all(isinstance(v, int | float) for v in values):
        return np.array(values)
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column
