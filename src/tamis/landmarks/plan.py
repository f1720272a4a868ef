"""A search without its estimator: what is evaluated, the ranking, and the choice of members.

A `SearchPlan` has everything that a search needs besides the rows: configurations, folds, seeds
and parameters. The levels of a path over the number of features share one plan.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from tamis._array import Matrix
from tamis._base.shared import Shared, call
from tamis.landmarks import evaluation
from tamis.landmarks.choose import SAMPLERS
from tamis.landmarks.ensemble import choose_size, member_weights, pick_greedily
from tamis.landmarks.importances import measure_importances
from tamis.landmarks.model import train_model
from tamis.landmarks.outcomes import Outcomes
from tamis.landmarks.scaling import fit_scaling
from tamis.paths.scoring import is_counted, score_decisions


class SearchTask(NamedTuple):
    """A branch of configurations in one fold, and the places of the configurations."""

    branch: evaluation.Branch
    fold: int
    places: NDArray


class Ranking(NamedTuple):
    """Configurations from the best to the worst."""

    places: NDArray  # places in the list of configurations
    columns: NDArray  # the out-of-fold predictions that were used
    scores: NDArray  # (n_ranked,)
    fold_scores: NDArray  # (n_folds, n_ranked)


@dataclass(frozen=True)
class SearchPlan:
    """Everything that a search needs, except the rows."""

    configurations: list
    rows: NDArray  # (n_samples,): rows of the data that are used
    codes: NDArray  # (n_samples,): their classes
    classes: NDArray  # (n_classes,): labels, for scorers
    splits: list
    class_weight: Any  # (n_classes,)
    seed: int  # seed of the samplers and of the members
    scoring: Any
    # selection, vote, ensemble_size: as in `LandmarkSearchCV`.
    selection: str
    vote: str
    ensemble_size: Any
    n_jobs: int | None
    device: str | None = None

    @property
    def soft(self) -> bool:
        """Whether the search needs probabilities besides labels."""
        return self.selection == "greedy" or not is_counted(self.scoring)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    def take_rows(self, X):
        """The rows that are used, from all rows."""
        return X if self.rows.size == X.shape[0] else X[self.rows]

    def start(self) -> Outcomes:
        """Outcomes without any predictions yet."""
        return Outcomes(
            self.configurations,
            self.codes,
            self.splits,
            self.n_classes,
            self.class_weight,
            self.soft,
        )

    def scalings(self, X: Matrix) -> dict:
        """Learn each scaling of the configurations in each fold."""
        names = dict.fromkeys(c.scaling for c in self.configurations)
        return {
            (name, f): fit_scaling(name, X[train])
            for name in names
            for f, (train, _) in enumerate(self.splits)
        }

    def tasks(self, outcomes: Outcomes) -> list[SearchTask]:
        """Tasks that are not done yet; all folds of a branch follow each other.

        So a search that is stopped has configurations evaluated on all folds.
        """
        tasks = []
        for f in range(len(self.splits)):
            missing = np.flatnonzero(~outcomes.done[:, f])
            for branch in evaluation.list_branches([self.configurations[p] for p in missing]):
                tasks.append(SearchTask(branch, f, missing[list(branch.places)]))
        by_branch: dict[str, list[SearchTask]] = {}
        for task in tasks:
            by_branch.setdefault(str(task.branch), []).append(task)
        return [task for group in by_branch.values() for task in group]

    def run(self, X: Matrix, tasks: list[SearchTask], scalings: dict) -> Iterator[tuple]:
        """Yield labels and probabilities of each task, computed as they are needed."""
        seeds = self._streams()[0]

        def one(task):
            fold = evaluation.FoldData(
                X,
                self.codes,
                self.n_classes,
                *self.splits[task.fold],
                seeds[task.fold],
                self.class_weight,
                self.device,
            )
            scaling = scalings[task.branch.scaling, task.fold]
            return evaluation.evaluate_branch(task.branch, fold, self.soft, scaling)

        if self.n_jobs in (None, 1):
            return map(one, tasks)
        shared = Shared(one)
        return Parallel(n_jobs=self.n_jobs, prefer="threads", return_as="generator")(
            delayed(call)(shared, task) for task in tasks
        )

    def rank(self, outcomes: Outcomes, X: Matrix) -> Ranking:
        """Rank the evaluated configurations, best first; ties in the order of the list."""
        places, columns, folds = outcomes.usable()
        parts = [outcomes.folds[f] for f in folds]
        if is_counted(self.scoring):
            fold_scores = np.stack([self._count_right(outcomes, places, part) for part in parts])
            scores = self._count_right(outcomes, places, columns)
        else:
            fold_scores = np.stack([self._score_fold(outcomes, places, f, X) for f in folds])
            scores = fold_scores.mean(axis=0)
        if np.isnan(scores).all():
            raise ValueError("Every score is NaN: this scoring cannot be used on these folds.")
        order = np.argsort(-np.nan_to_num(scores, nan=-np.inf), kind="stable")
        return Ranking(places[order], columns, scores[order], fold_scores[:, order])

    def _count_right(self, outcomes, places, columns):
        labels, truth = outcomes.labels[np.ix_(places, columns)], outcomes.truth[columns]
        if self.scoring == "accuracy":
            return (labels == truth).mean(axis=1)
        return 1.0 - evaluation.balanced_errors(labels, truth, outcomes.importance)

    def _score_fold(self, outcomes, places, fold, X):
        test = self.splits[fold][1]
        samples, y, known = X[test], self.classes[self.codes[test]], np.arange(self.n_classes)
        with np.errstate(divide="ignore"):
            decisions = np.log(outcomes.probabilities[np.ix_(places, outcomes.folds[fold])])
        return np.array(
            [score_decisions(self.scoring, d, self.classes, known, samples, y) for d in decisions]
        )

    def choose_members(self, outcomes: Outcomes, ranking: Ranking) -> tuple[NDArray, NDArray]:
        """Places of the configurations that join the ensemble, best first, and their weights."""
        places, columns = ranking.places, ranking.columns
        truth = outcomes.truth[columns]
        if self.selection == "greedy":
            shares = outcomes.probabilities[np.ix_(places, columns)]
            picked, weights = pick_greedily(shares, truth, outcomes.importance, self.ensemble_size)
            return places[picked], weights
        size = self.ensemble_size
        if size == "auto":
            labels = outcomes.labels[np.ix_(places, columns)]
            size = choose_size(labels, truth, outcomes.importance)
        chosen = places[:size]
        return chosen, member_weights(chosen.size, self.vote)

    def train_members(
        self, X: Matrix, places, weights, scalings: dict | None = None
    ) -> list[dict]:
        """Train the chosen configurations on all rows, each with its own seed."""
        configurations = [self.configurations[place] for place in places]
        seeds = self._streams()[1].randint(2**31 - 1, size=len(configurations))
        if scalings is None:
            scalings = {name: fit_scaling(name, X) for name in {c.scaling for c in configurations}}

        def one(c, seed):
            model = train_model(
                c,
                X,
                self.codes,
                self.n_classes,
                int(seed),
                self.class_weight,
                scaling=scalings[c.scaling],
            )
            landmarks = model["map"]
            row_codes = self.codes[landmarks["rows"]]
            landmarks["rows"] = self.rows[landmarks["rows"]]
            return model, row_codes

        pairs = zip(configurations, seeds, strict=True)
        if self.n_jobs in (None, 1):
            trained = [one(c, seed) for c, seed in pairs]
        else:
            shared = Shared(one)
            trained = Parallel(n_jobs=self.n_jobs, prefer="threads")(
                delayed(call)(shared, c, seed) for c, seed in pairs
            )
        return [
            {
                "configuration": c.as_dict(),
                "seed": int(seed),
                "weight": float(weight),
                "model": model,
                "row_codes": row_codes,
            }
            for c, seed, weight, (model, row_codes) in zip(
                configurations, seeds, weights, trained, strict=True
            )
        ]

    def importances(self, X: Matrix, ranking: Ranking) -> NDArray[np.float64]:
        """Importances of the features, by the best configuration."""
        best = self.configurations[ranking.places[0]]
        return measure_importances(
            best, X, self.codes, self.splits, self.class_weight, self.n_classes, self.seed
        )

    def _streams(self):
        """Seeds of the samplers, one row per fold, and the stream of the members' seeds."""
        random_state = np.random.RandomState(self.seed)
        shape = (len(self.splits), len(SAMPLERS))
        return random_state.randint(2**31 - 1, size=shape), random_state
