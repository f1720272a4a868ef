r"""What the conformal calibration set guarantees about the model of a comparison.

Calibration rows are set aside before anything else: they fill no gap, count no word, train nothing
and choose nothing. The model is trained on the other rows and never refitted. Then the calibration
rows, one random row of each sample group, say

- which classes a prediction set may leave out (`tamis.tables.classifying.prediction_sets`);
- which threshold keeps a sensitivity with confidence (`tamis.guarantees.sensitivity`);
- which of the datum-wise models, from many questions to few, errs rarely enough
  (`tamis.paths.fixed_sequence`). Their order is that of the cost weights, fixed in advance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tamis.comparison.choosing.choice import Choice
from tamis.comparison.choosing.results import whole
from tamis.comparison.fitted.promises import ASKING, Promised, QuestionLimits
from tamis.comparison.options import Options
from tamis.paths.calibration_rows import one_row_per_group
from tamis.paths.fixed_sequence import make_limits, rows_needed
from tamis.paths.intervals import wilson
from tamis.paths.path import Usage
from tamis.tables.classifying.prediction_sets import SetCalibration
from tamis.tables.columns.table import Table
from tamis.tables.errors import InputError, counted, listed

if TYPE_CHECKING:
    from tamis.comparison.choosing.results import MethodResult
    from tamis.tables.classifying.table_model import TableModel

__all__ = ["CalibrationRows"]

# The confidence of --max-error and --max-miss, and the coverage that is described after a fit.
CONFIDENCE, COVERAGE = 0.95, 0.95
# A threshold is lowered by this much: probabilities of equal rows may differ in the last digits.
_TIES = 1e-9


@dataclass(frozen=True, eq=False)
class CalibrationRows:
    """Rows that were set aside before anything else."""

    table: Table  # the rows
    groups: NDArray | None  # (n_rows,) or None: their sample groups, with copies of a row in one
    options: Options
    places: NDArray  # (n_rows,): of the rows in the table that they were set aside from
    # Labels of the training rows, once these are known.
    classes: NDArray = field(default_factory=lambda: np.empty(0))
    questions: QuestionLimits | None = None  # the answer to --max-error and --max-miss

    @property
    def codes(self) -> NDArray[np.intp]:
        """Class indices of the rows."""
        return np.searchsorted(self.classes, self.labels)

    @property
    def labels(self) -> NDArray:
        """Labels of the rows."""
        assert self.table.y is not None
        return self.table.y

    @property
    def confidence(self) -> float:
        """The confidence that was asked for."""
        return CONFIDENCE if self.options.confidence is None else self.options.confidence

    @property
    def limits_questions(self) -> bool:
        """Whether --max-error or --max-miss was given."""
        return self.options.max_error is not None or self.options.max_miss is not None

    def _rng(self, purpose):
        return np.random.default_rng([self.options.seed, purpose])

    def rows_of_classes(self) -> list[NDArray]:
        """Rows that count for each class: one random row of each sample group."""
        rng, codes = self._rng(1), self.codes
        rows = [np.flatnonzero(codes == c) for c in range(self.classes.size)]
        return [one_row_per_group(some, self.groups, rng) for some in rows]

    def limits(self) -> list:
        """The limits of --max-error and --max-miss, with the rows that count for each."""
        misses = None
        if self.options.max_miss is not None:
            misses = {self.classes[self._positive()].item(): self.options.max_miss}
        return make_limits(
            self.codes, self.classes, self.options.max_error, misses, self.groups, self._rng(2)
        )

    def _positive(self):
        return [str(label) for label in self.classes.tolist()].index(str(self.options.positive))

    # Before any model is trained.

    def announce(self, codes: NDArray, methods: Sequence[str]) -> list[str]:
        """What will be guaranteed; raises InputError if the rows are too few for it.

        `codes`: classes of the training rows; `methods`: methods that take part.
        """
        classes = self.classes
        lost = np.union1d(np.setdiff1d(self.labels, classes), classes[np.bincount(codes) < 2])
        if lost.size:
            raise InputError(
                f"--calibration-share {self.options.calibration_share:g}: fewer than 2 rows of "
                f"class {lost[0]} would be left for training. Set fewer aside, or drop that class."
            )
        counts = np.bincount(self.codes, minlength=classes.size)
        shares = [f"{label} {n:,}" for label, n in zip(classes.tolist(), counts, strict=True)]
        notes = [
            f"{counted(self.table.n_rows, 'row')} set aside as a conformal calibration set "
            f"({listed(shares, 8)}); {counted(codes.size, 'row')} left to train and choose the "
            "model"
        ]
        if self.table.weights is not None:
            notes.append(
                "sample weights are used for training and scores, but not for the guarantees from "
                "the calibration set, which hold for rows as they occur in the table"
            )
        if self.options.min_sensitivity is not None and self.options.confidence is not None:
            label, c = self.options.positive, self._positive()
            self._require(
                f"--min-sensitivity {self.options.min_sensitivity:g}",
                f"rows of class {label} in the calibration set",
                1 - self.options.min_sensitivity,
                self.rows_of_classes()[c].size,
                notes,
            )
        if self.limits_questions:
            if ASKING not in methods:
                raise InputError(
                    f"--max-error and --max-miss need the method {ASKING}, which does not take "
                    "part because of sample weights."
                )
            for limit in self.limits():
                kind = "rows in the calibration set"
                if limit.rate != "error rate":
                    kind = f"rows of class {self.options.positive} in the calibration set"
                what = "max-error" if limit.rate == "error rate" else "max-miss"
                self._require(f"--{what} {limit.most:g}", kind, limit.most, limit.rows.size, notes)
        return notes

    def _require(self, option, kind, most, n_rows, notes):
        needed = rows_needed(most, self.confidence)
        if self.groups is not None:
            kind = f"sample groups with {kind}"
        sure = f"{option} with {100 * self.confidence:.4g} % confidence needs {needed} {kind}"
        if n_rows < needed:
            share = self.options.calibration_share * needed / max(n_rows, 1)
            advice = "Collect more rows"
            if n_rows and share < 0.9:
                advice = (
                    f"Set more rows aside (--calibration-share {np.ceil(100 * share) / 100:g})"
                )
            raise InputError(f"{sure}, and there are {n_rows}. {advice}, or ask for less.")
        notes.append(f"{sure}; there are {n_rows}")

    # With a trained model.

    def calibrate(self, model: TableModel) -> tuple[TableModel, Promised]:
        """A model with what its prediction sets need, and the threshold that was asked for.

        `model`: trained on the other rows.
        """
        if self.limits_questions:  # rows that choose a model cannot calibrate its sets as well
            return model, Promised()
        probabilities = model.tempered(self._probabilities(model))
        sets = SetCalibration.of(probabilities, self.rows_of_classes())
        if self.options.min_sensitivity is None or self.options.confidence is None:
            return replace(model, calibration=sets), Promised()
        from tamis.guarantees.sensitivity import find_sensitivity_threshold

        c = self._positive()
        scores = probabilities[:, c]
        found = find_sensitivity_threshold(
            scores[self.rows_of_classes()[c]],
            sensitivity=self.options.min_sensitivity,
            confidence=self.options.confidence,
        )
        # Above one half, rows would be missed that are found without a threshold.
        threshold = max(0.0, min(found.threshold, 0.5) - _TIES)
        others = one_row_per_group(np.flatnonzero(self.codes != c), self.groups, self._rng(3))
        promised = Promised(found, _share(scores[others] < threshold))
        return replace(model, calibration=sets, threshold=threshold), promised

    def _probabilities(self, model):
        return model.estimator.predict_proba(model.prepare(self._columns(model)))

    def _columns(self, model):
        return self.table.columns.select(model.preparation.required)

    def answers(self, model: TableModel, uncounted: set[str]) -> tuple[NDArray, NDArray, NDArray]:
        """What a model that asks does with the rows: which are wrong, questions and costs.

        `uncounted`: features that are not counted as questions. Returns `is_wrong` (n_rows,);
        `n_questions`, `cost` (n_rows,).
        """
        acquired = model.estimator.acquire(model.prepare(self._columns(model)))
        labels, _ = model.decided(acquired.probabilities)
        is_free = np.isin(model.estimator.process_.names.astype(str), list(uncounted))
        is_counted = acquired.order >= 0
        is_counted &= ~is_free[acquired.order]
        return labels != self.codes, is_counted.sum(axis=1), acquired.cost

    def test_questions(
        self, models: Sequence[TableModel], result: MethodResult, uncounted: set[str]
    ) -> CalibrationRows:
        """The rows with the model of the fewest questions whose errors they show to be rare.

        `models`: of all levels of the datum-wise method, from few questions to many; `result`: of
        the method; `uncounted`: features that are not counted as questions.
        """
        from tamis.datumwise.calibration import calibrate_levels  # here, so that others start fast

        answers = [self.answers(model, uncounted) for model in models]
        is_wrong, n_questions, cost = (np.array(values) for values in zip(*answers, strict=True))
        rows = one_row_per_group(np.arange(self.table.n_rows), self.groups, self._rng(4))
        usage = Usage(n_questions, cost)
        found = calibrate_levels(is_wrong, usage, self.limits(), rows, self.confidence)
        choice, test = None, found[0]
        if test.chosen is not None:
            place = len(models) - 1 - test.chosen
            n_features = whole(result.overall[place])
            choice = Choice(ASKING, place, float(result.levels[place]), n_features)
        return replace(self, questions=QuestionLimits(test, choice, *found[1:]))

    # Words.

    def conclude(
        self, metrics: dict[str, Any], model: TableModel, choice: Choice, usual: Choice | None
    ) -> TableModel:
        """Calibrate a model, and add what is guaranteed about it to the results.

        `metrics`: the content of `metrics.json`, which is being made. `model`: trained on the
        other rows. `choice`, `usual`: method and level of the model, and of the ordinary
        recommendation. Returns `model`: calibrated.
        """
        model, promised = self.calibrate(model)
        told = self.describe(metrics["data"]["rows"], model, promised)
        metrics["calibration"] = told
        if promised.threshold is not None:
            metrics["model"]["threshold"]["is"] = "for thresholds that were chosen in the folds"
        if self.questions is None or self.questions.choice not in (None, choice):
            return model
        told["questions"] = self.questions.describe()
        if usual is not None and choice == self.questions.choice != usual:
            method = metrics["methods"][usual.method]
            path = method["path"][usual.place]
            told["questions"]["ordinary"] = {"title": method["title"], **path}
            metrics["model"]["chosen_by"] = "conformal calibration set"
            metrics["model"]["selection_score"]["is"] = (
                "chosen by the conformal calibration set: the simultaneous lower limit is valid "
                "whichever model is picked"
            )
        return model

    def describe(self, n_train: int, model: TableModel | None, promised: Promised) -> dict:
        """Plain values about the rows, and what they guarantee about the model."""
        counts = np.bincount(self.codes, minlength=self.classes.size)
        independent = [rows.size for rows in self.rows_of_classes()]
        labels = [str(label) for label in self.classes.tolist()]
        told: dict[str, Any] = {
            "share": self.options.calibration_share,
            "rows": {"training": int(n_train), "calibration": int(self.table.n_rows)},
            "sample_groups": None if self.groups is None else int(np.unique(self.groups).size),
            "rows_of_class": dict(zip(labels, counts.tolist(), strict=True)),
            "counted_of_class": dict(zip(labels, independent, strict=True)),
            "used_for": "only for calibration; the model was not refitted",
        }
        if model is not None and model.calibration is not None:
            coverage = model.calibration.coverage(self.classes, COVERAGE)
            told["sets"] = {
                "coverage": COVERAGE,
                "rows_needed": coverage.n_needed,
                "in_every_set": [str(label) for label in coverage.small_classes.tolist()],
                "statements": list(coverage.sentences()),
            }
        if promised.threshold is not None and model is not None:
            found = promised.threshold
            told["sensitivity"] = {
                "positive": str(self.options.positive),
                "at_least": found.sensitivity,
                "confidence": found.confidence,
                "threshold": model.threshold,
                "rank": found.rank,
                "positives": found.n_positives,
                "specificity": promised.specificity,
            }
        return told


def _share(hits):
    """A share of rows, with its 95 % interval."""
    if not hits.size:
        return None
    low, high = wilson(int(hits.sum()), hits.size)
    return {"share": float(hits.mean()), "interval_95": [low, high], "rows": int(hits.size)}
