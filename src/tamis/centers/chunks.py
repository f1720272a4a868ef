"""Training on chunks of rows: summaries of chunks that are merged in a fixed tree.

Means need one pass over the chunks (`tamis.centers.statistics`). Medians of dense chunks need two
(`tamis.centers.brackets`), others one for each digit (`tamis.centers.median_search`), and all one
more for the deviations from them, so the chunks must be readable again. A pass (`tamis._passes`)
is a task, which summarises one chunk, and a function that merges two summaries.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import column_or_1d

from tamis._array import Matrix, is_sparse
from tamis._base import (
    WeightSummary,
    check_finite,
    decode_labels,
    require_two_classes,
    resolve_n_features,
)
from tamis._passes import NO_ROWS, Passes
from tamis.centers._training import scaled_model, spread_over
from tamis.centers.brackets import BracketSample, BracketSearch, Inside
from tamis.centers.median_search import MedianSearch, Survey, plan_search, survey
from tamis.centers.ranking import from_medians
from tamis.centers.segments import ClassMedians, HalfRule
from tamis.centers.statistics import ClassMoments, summarise
from tamis.centers.units import divide

# Sums of numbers up to this size do not overflow.
_LARGEST = 2.0**900


@dataclass
class _Found:
    """What the first pass finds in some chunks."""

    number: int  # the first chunk
    n_features: int
    names: NDArray | None
    labels: NDArray  # (n_classes,): the classes, in order
    weights: WeightSummary
    survey: Survey | None
    moments: ClassMoments | None
    sample: BracketSample | None  # for medians of dense chunks

    def merge(self, other: _Found) -> _Found:
        """Of the rows and classes of both."""
        if self.n_features != other.n_features:
            raise ValueError(
                f"Chunks {self.number} and {other.number} have different numbers of features: "
                f"{self.n_features} and {other.n_features}."
            )
        if not _same_names(self.names, other.names):
            raise ValueError(
                f"Chunks {self.number} and {other.number} have different feature names."
            )
        labels = np.union1d(self.labels, other.labels)
        pairs = zip(self._spread(labels), other._spread(labels), strict=True)
        merged = [None if None in (one, two) else one.merge(two) for one, two in pairs]
        weights = self.weights.merge(other.weights)
        return _Found(self.number, self.n_features, self.names, labels, weights, *merged)

    def _spread(self, labels):
        """Survey, moments and sample for all of these classes."""
        places = np.searchsorted(labels, self.labels)
        parts = self.survey, self.moments, self.sample
        if places.size == labels.size:
            return parts
        return [None if part is None else part.spread(places, labels.size) for part in parts]

    @property
    def state(self):
        """Labels, weights, survey and sample as arrays."""
        assert self.survey is not None
        whole, *numbers = astuple(self.survey)
        numbers = np.array(numbers)
        weights = np.array(astuple(self.weights), dtype=np.float64)
        state = {"labels": self.labels, "weights": weights, "whole": whole, "numbers": numbers}
        sample = {} if self.sample is None else vars(self.sample)
        return {**state, **{f"sample_{name}": np.asarray(v) for name, v in sample.items()}}

    @classmethod
    def of(cls, state):
        """What the arrays tell of chunks without names."""
        survey = Survey(state["whole"], *state["numbers"].tolist())
        weights = WeightSummary(*state["weights"].tolist())
        drawn = {name[7:]: v for name, v in state.items() if name.startswith("sample_")}
        sample = BracketSample(**drawn) if drawn else None
        return cls(0, survey.n_features, None, state["labels"], weights, survey, None, sample)

    @property
    def weight(self):
        return self.moments.weight if self.survey is None else self.survey.weight


def _same_names(one, other):
    return one is other or (one is not None and other is not None and np.array_equal(one, other))


@dataclass
class ChunkTask:
    """Summarises one chunk; holds an estimator that is not fitted."""

    estimator: Any
    classes: NDArray | None
    _advice: ClassVar[str] = " Name it in classes=, or leave classes= out."

    def check(self, number, X, y, sample_weight):
        """Checked chunk, and the estimator that knows its features and classes."""
        checker = clone(self.estimator)
        try:
            X, codes, sample_weight = checker._validate(
                X, y, sample_weight, classes=self.classes, is_part=True, advice=self._advice
            )
            if checker.metric == "l1" and is_sparse(X):
                check_finite((X.data,), X)
        except ValueError as error:
            raise ValueError(f"Chunk {number}: {error}") from error
        return checker, X, codes, sample_weight


@dataclass
class _Look(ChunkTask):
    """The first pass."""

    max_bytes: float

    def __call__(self, number, X, y, sample_weight):
        checker, X, codes, sample_weight = self.check(number, X, y, sample_weight)
        n_classes, has_medians = len(checker.classes_), checker.metric == "l1"
        moments = sample = None
        if has_medians:
            rows = number, X, codes, n_classes, sample_weight
            sample = BracketSample.of(*rows, self.max_bytes)
        if not has_medians or checker.scaling in ("std", "variance"):
            try:
                moments = summarise(X, codes, n_classes, sample_weight)
            except ValueError as error:
                raise ValueError(f"Chunk {number}: {error}") from error
        return _Found(
            number,
            X.shape[1],
            getattr(checker, "feature_names_in_", None),
            checker.classes_,
            WeightSummary.of(X.shape[0] if sample_weight is None else sample_weight),
            survey(X, codes, n_classes, sample_weight) if has_medians else None,
            moments,
            sample,
        )


@dataclass
class _Search(ChunkTask):
    """A later pass, for medians."""

    # (n_classes,): place of each class among those that have weight; -1 for the others.
    place: NDArray
    unit: NDArray | None  # units that columns are divided by
    search: MedianSearch | BracketSearch
    _advice: ClassVar[str] = " The chunks must be the same in every pass."

    def __call__(self, number, X, y, sample_weight):
        _, X, codes, sample_weight = self.check(number, X, y, sample_weight)
        rows = np.flatnonzero(self.place[codes] >= 0)
        if rows.size < codes.size:
            X, codes = X[rows], codes[rows]
            sample_weight = None if sample_weight is None else sample_weight[rows]
        part: tuple[Matrix, NDArray, NDArray | None]
        part = divide(X, self.unit), self.place[codes], sample_weight
        if isinstance(self.search, BracketSearch):
            return self.search.count(number, *part)
        if not self.search.is_found:
            return self.search.count(*part)
        with np.errstate(over="ignore", invalid="ignore"):
            return self.search.deviations(*part)


def train_passes(
    estimator: Any, passes: Passes, classes: ArrayLike | None, max_bytes: float
) -> None:
    """Fit a `SparseCenterClassifier` on chunks.

    `estimator`: gets its fitted attributes. `classes` (n_classes,) or None: all classes; None:
    those that occur. `max_bytes`: memory for counts.
    """
    if classes is not None:
        classes = np.unique(column_or_1d(decode_labels(classes)))
    model, n_rows, unit = _train(estimator, passes, classes, max_bytes)
    # Centers do not depend on the scale of the weights; only their sums do.
    model.statistics = replace(model.statistics, weight=model.statistics.weight / unit)
    k = resolve_n_features(estimator.n_features_to_select, estimator._n_choices)
    estimator._keep(model, k, estimator.n_features_to_select)
    estimator._n_rows, estimator._weight_unit = n_rows, unit


def _train(estimator, passes, classes, max_bytes):
    """Model, number of rows, unit of weight; sets the estimator's classes, features, groups."""
    estimator._check_parameters()
    # Groups and kept features concern the choice, which is made of the merged summaries.
    plain = clone(estimator).set_params(feature_groups=None, keep=None)
    found = _first_pass(passes, _Look(plain, classes, max_bytes))
    unit = found.weights.require_precise().unit
    estimator.classes_, estimator.n_features_in_ = found.labels, found.n_features
    names = found.names if passes.feature_names is None else passes.feature_names
    if names is None:
        vars(estimator).pop("feature_names_in_", None)
    else:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    estimator._set_groups()
    require_two_classes(estimator)
    if np.count_nonzero(found.weight) < 2:
        raise ValueError("Fewer than two classes have samples with weight; two are needed.")
    if found.survey is None:
        assert found.moments is not None
        return estimator._train_moments(found.moments), found.moments.n_rows, unit
    model = _train_medians(estimator, plain, passes, found, max_bytes)
    return model, found.survey.n_rows, unit


def _first_pass(passes, look):
    """What the first pass finds; it is remembered if others follow."""
    seen = []

    def make():
        found = passes.run(look, _merge_found)
        if found is None:
            raise ValueError(NO_ROWS)
        seen.append(found)
        return {} if found.survey is None else found.state

    state = make() if look.estimator.metric == "l2" else passes.remember(make)
    return seen[0] if seen else _Found.of(state)


def _merge_found(one, other):
    return one.merge(other)


def _train_medians(estimator, plain, passes, found, max_bytes):
    weight, moments = found.weight, found.moments
    seen = np.flatnonzero(weight > 0)
    place = np.full(weight.size, -1)
    place[seen] = np.arange(seen.size)
    unit = None if moments is None else moments.unit
    whole = replace(found.survey, weight=weight[seen])
    if unit is not None:
        whole = replace(whole, width=64)
    task = _Search(plain, found.labels, place, unit, None)
    bits, blocks = plan_search(whole.n_features, seen.size, whole.width, max_bytes)
    medians = _search_brackets(passes, task, found.sample, whole, max_bytes)
    if medians:
        blocks = [slice(0, whole.n_features)]
    parts = []
    for block in blocks:
        task.search = search = MedianSearch(block, whole, bits)
        if medians:
            search.resume({**medians, "left": np.array(0)})
        while not search.is_found:
            search.resume(passes.remember(partial(_descend, passes, task)))
        sums = passes.remember(partial(_deviate, passes, task))["sums"]
        parts.append(search.finish(sums))
    names = ("median", "common", "dispersion", "gain")
    columns = [np.concatenate([getattr(p, name) for p in parts], axis=-1) for name in names]
    medians = ClassMedians(parts[0].weight, *columns)
    _require_ordinary_size(medians)
    statistics = from_medians(medians)
    statistics.unit = unit
    log_prior = estimator._log_prior(weight)
    moments = None if moments is None else moments.take(seen)
    model = scaled_model("l1", statistics, estimator.scaling, moments, log_prior[seen])
    model.groups = estimator._groups
    return model if seen.size == weight.size else spread_over(model, seen, log_prior)


def _search_brackets(passes, task, sample, whole, max_bytes):
    """Medians by brackets; nothing if they are to be found digit by digit."""
    if sample is None or task.unit is not None:
        return {}
    sample = replace(sample, codes=task.place[sample.codes], n_rows=sample.n_rows[task.place >= 0])
    search = BracketSearch(HalfRule(whole.weight, whole.is_whole, whole.n_rows), max_bytes)
    search.start(sample)
    task.search = search
    while search.is_open:
        search.resume(passes.remember(partial(_narrow, passes, task)))
    return search.medians


def _narrow(passes, task):
    task.search.narrow(passes.run(task, Inside.merge))
    return task.search.state


def _descend(passes, task):
    task.search.descend(passes.run(task, task.search.merge_counts))
    return task.search.state


def _deviate(passes, task):
    return {"sums": passes.run(task, np.add)}


def _require_ordinary_size(medians):
    spread = medians.dispersion.sum(axis=0) + medians.gain
    safe = (spread == 0) | ((spread > 1 / _LARGEST) & (spread < _LARGEST))
    wrong = np.flatnonzero(~safe)
    if wrong.size:
        raise ValueError(
            f"Column {wrong[0]} has values so large or small that sums over chunks overflow or "
            "vanish. Multiply the column by a constant, or call fit on all data."
        )
