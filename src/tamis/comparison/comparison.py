"""The result of a comparison: the curve of each method, the choice, its honest score and model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from importlib import import_module
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tamis._base import make_frame
from tamis.comparison.choosing.choice import Candidates, Choice, Honest
from tamis.comparison.choosing.picking import find_choice, pick_choice
from tamis.comparison.choosing.predictions import tabulate
from tamis.comparison.choosing.restricted import exclude_features
from tamis.comparison.choosing.results import MethodResult
from tamis.comparison.fitted.calibrated import CalibrationRows
from tamis.comparison.fitted.describing import (
    FittedModel,
    describe,
    fit_model,
    save_first,
    save_rest,
)
from tamis.comparison.fitted.final import make_model, train_final
from tamis.comparison.fitted.metrics import kept_alone, summarise, tabulate_paths
from tamis.comparison.fitted.promises import ASKING, Promised
from tamis.comparison.folder import RunFolder
from tamis.comparison.further.clinical import describe_clinical
from tamis.comparison.further.held_out import HeldOut
from tamis.comparison.methods.naming import name_model
from tamis.comparison.notebook import notebook_view
from tamis.comparison.problem.problem import Problem
from tamis.comparison.settings import Settings
from tamis.paths.folds import Fold
from tamis.tables.classifying.table_classifier import TableClassifier
from tamis.tables.classifying.table_model import TableModel
from tamis.tables.columns.table import Table

if TYPE_CHECKING:
    from tamis.comparison.checks.check import Check
    from tamis.comparison.streaming.streamed import Streamed
    from tamis.panel.proof.search import ProofProgress

__all__ = ["Comparison"]


class Memo:
    """Models that were trained, so that none is trained twice; no output depends on it."""

    def __init__(self) -> None:
        self.trained: dict = {}  # by method
        self.fitted: dict = {}  # by choice
        self.described: dict = {}  # by choice
        self.tested: dict = {}


@dataclass(frozen=True, eq=False)
class Comparison:
    """The result of `tamis.compare` and `tamis fit`.

    Attributes
    ----------
    problem : Problem
        The encoded data.
    settings : Settings
    folds : list of Fold
    results : list of MethodResult
        Of the methods that were finished, baselines last.
    unfinished : list of str
        Methods that were not finished.
    failed : dict of str to str
        Methods that failed on these data, with their error messages.
    left_out : dict of str to float
        Methods that were not run because they would take too long, with estimated seconds.
    candidates : Candidates or None
        All levels of the finished methods.
    recommended : Choice or None
        As `choice`; None where no method was finished.
    honest : Honest or None
        As `honest_score`; None where there is none.
    held_out : dict of str to HeldOut
        Predictions of "batch", one held out at a time, and of "time", by earlier rows.
    learning_curve, assay : dict or None
        Scores with fewer rows, and with measurement errors; see `clinical`.
    p_value : float or None
        Of the permutations.
    shuffled_scores : list of float
        Scores of the choice with shuffled labels.
    n_left : int
        Tasks that were not done.
    why_stopped : str or None
        What ended the comparison early.
    data : Table or None
        The data.
    name : str
        Name of the data.
    descriptions : dict of str to dict
        Descriptions of the features.
    checks : list of Check
        Findings about the data and the result.
    without : tuple of str
        Features that were excluded after the comparison (`excluding`).
    not_described : dict of str to str
        Parts of the description that failed, with the reason; the model is not affected.
    seconds : float or None
        How long the comparison took.
    kept : CalibrationRows or None
        Rows that were set aside before anything else.
    streamed : Streamed or None
        The table, if the data are only a sample of its rows.
    backend : module or None
        Library of the frames that are returned; None: the first that is installed.
    """

    problem: Problem
    settings: Settings
    folds: list[Fold]
    results: list[MethodResult] = field(default_factory=list)
    unfinished: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, float] = field(default_factory=dict)
    candidates: Candidates | None = None
    recommended: Choice | None = None
    honest: Honest | None = None
    held_out: dict[str, HeldOut] = field(default_factory=dict)
    learning_curve: dict[str, Any] | None = None
    assay: dict[str, Any] | None = None
    p_value: float | None = None
    shuffled_scores: list[float] = field(default_factory=list)
    n_left: int = 0
    why_stopped: str | None = None
    data: Table | None = None
    name: str = "data"
    descriptions: dict[str, dict[str, Any]] = field(default_factory=dict)
    checks: list[Check] = field(default_factory=list)
    without: tuple[str, ...] = ()
    not_described: dict[str, str] = field(default_factory=dict)
    seconds: float | None = None
    kept: CalibrationRows | None = None
    streamed: Streamed | None = None
    backend: Any = None
    memo: Memo = field(default_factory=Memo, repr=False)

    @classmethod
    def of(cls, outcome: Any, recommendation: Any, **more: Any) -> Comparison:
        """The view of an `Outcome` and a `Recommendation`, with what else is known."""
        known = {
            f.name: getattr(one, f.name) for one in (outcome, recommendation) for f in fields(one)
        }
        failed = {**recommendation.not_described, **more.pop("not_described", {})}
        return cls(**known | more | {"not_described": failed})

    # Results.

    @property
    def notes(self) -> list[str]:
        """Messages about what was recognised, dropped or changed while the data were read."""
        return [] if self.data is None else list(self.data.notes)

    def result(self, name: str) -> MethodResult | None:
        """Result of a method, or None."""
        return next((r for r in self.results if r.method.name == name), None)

    @property
    def chosen(self) -> tuple[MethodResult, int]:
        """Result and place of the choice."""
        choice = self.choice
        result = self.result(choice.method)
        assert result is not None
        return result, choice.place

    @property
    def choice(self) -> Choice:
        """The recommended method and model size; ValueError where no method was finished."""
        if self.recommended is None:
            raise ValueError(
                "No method was finished, so there is no recommendation. Failed: "
                f"{self.failed or 'none'}; not finished: {self.unfinished or 'none'}."
            )
        return self.recommended

    @property
    def honest_score(self) -> Honest:
        """Score of the whole procedure, with its 95 % interval; ValueError where there is none."""
        if self.honest is None:
            raise ValueError(f"There is no honest score of the {self.choice.method} models.")
        return self.honest

    @property
    def final_choice(self) -> Choice:
        """The choice of the calibration set, if it made one; otherwise `choice`."""
        choice = self.choice
        questions = None if self.kept is None else self.kept.questions
        return choice if questions is None or questions.choice is None else questions.choice

    @property
    def head_name(self) -> str:
        """Classifier on the features of the recommended model, such as "logistic".

        Before the model is trained, the kind that its method has: "linear" or "kernel". Empty if
        the model has no separate one.
        """
        choice = self.final_choice
        result = self.result(choice.method)
        known = self.memo.fitted.get(choice)
        told = "" if known is None else known.model.head_name
        return told or ("" if result is None else result.method.head_name)

    @property
    def is_readable(self) -> bool:
        """Whether the recommended model can be explained, asked, carded and exported to SQL."""
        result = self.result(self.final_choice.method)
        return result is not None and result.method.is_readable

    @property
    def table(self) -> Any:
        """One row per method and model size, as a frame of the caller's kind.

        Columns: method, is_baseline, is_readable (whether its models can be explained, asked,
        turned into a card and exported to SQL), head (its kind of classifier), level (what
        sets the model size), n_features, n_features_per_sample, cost_per_sample, score,
        standard_error, is_chosen. Scores were used to select the model.
        """
        return self._as_frame(tabulate_paths(self))

    @property
    def honest_predictions(self) -> Any:
        """One row per row of the data, predicted by a choice and a model that did not see it.

        A frame of the caller's kind. Columns: row (its number in the table, from 1), id (its name,
        if rows have names), fold (of the model that predicts it, from 1), weight (if rows have
        weights), label, prediction, and ``p_`` with each class: probabilities for the class
        frequencies that the model decides by, as `tamis predict` writes them. They are of the
        procedure that recommends the model, and give its honest score.
        """
        return self._as_frame(tabulate(self))

    @property
    def kept_alone(self) -> dict[str, float] | None:
        """Score of the kept columns alone, and what the recommended model adds to them.

        With "score" and "standard_error", and "added" with its "added_standard_error", from paired
        predictions; None where no columns are kept. Scores were used to select the model.
        """
        return None if self.recommended is None else kept_alone(self, self.recommended)

    @property
    def features(self) -> Any:
        """The features of the recommended model, best first, as a frame of the caller's kind."""
        return self.features_of(self.final_choice)

    def features_of(self, choice: Choice) -> Any:
        """The features of one method and level: see `features`."""
        records = self.fitted(choice)[1]
        names = list(records[0]) if records else ["rank", "feature"]
        return self._as_frame({name: [record[name] for record in records] for name in names})

    @property
    def guarantees(self) -> dict[str, Any]:
        """What is guaranteed about the features of the recommended model.

        "true_features", "frequencies" and, for features that are ranked one by one, "rule" and
        "alternatives"; each with its numbers and a "statement", or the "reason" why there is none.
        """
        return self.metrics["model"]["guarantees"]

    def _as_frame(self, columns):
        columns = {
            name: [str(v) if isinstance(v, dict) else v for v in values]
            for name, values in columns.items()
        }
        return make_frame(columns, self.backend)

    # Models.

    @property
    def model(self) -> TableClassifier:
        """The recommended model, fitted on all rows but those set aside for calibration."""
        return TableClassifier.from_model(self.table_model(self.final_choice))

    def pick(
        self,
        method: str | None = None,
        n_features: float | None = None,
        without: Sequence[str] = (),
        readable: bool = False,
    ) -> TableClassifier:
        """The model of another method or size, fitted on all rows.

        Parameters
        ----------
        method : str or None
            Name of a method; None: that of the recommended model.
        n_features : float or None
            Largest number of features; per sample for methods that ask each sample for its own.
            None: that of the recommended model.
        without : sequence of str
            Features that the model must not use; the method is then cross-validated again.
        readable : bool
            Whether to take the best model that can be read, by the rule of the recommendation:
            of all methods, and of all numbers of features, that the others do not exclude.

        Returns
        -------
        model : TableClassifier
        """
        found, choice = pick_choice(self, method, n_features, without, readable)
        return TableClassifier.from_model(found.table_model(choice))

    def excluding(self, method: str, without: Sequence[str]) -> Comparison:
        """Cross-validate one method again without some features.

        Parameters
        ----------
        method : str
            Name of a method.
        without : sequence of str
            Features, feature groups, or columns they come from.

        Returns
        -------
        comparison : Comparison
            Its `find`, `fitted` and `save` are those of models without the features. They were
            named after seeing the results, so there is no recommendation and no honest score.
        """
        return exclude_features(self, method, [without] if isinstance(without, str) else without)

    def find(self, method: str, n_features: float) -> Choice:
        """The fullest level of a method with at most `n_features` features."""
        return find_choice(self, method, n_features)

    def table_model(self, choice: Choice) -> TableModel:
        """The fitted `TableModel` of one method and level."""
        return self.fit_choice(choice).model

    def fit_choice(self, choice: Choice) -> FittedModel:
        """The model of one method and level, fitted once, and not described yet."""
        if choice not in self.memo.fitted:
            self.memo.fitted[choice] = fit_model(self, choice)
        return self.memo.fitted[choice]

    def fitted(
        self, choice: Choice, proof_callbacks: Iterable[Callable[[ProofProgress], object]] = ()
    ) -> tuple[TableModel, list[dict], dict]:
        """Model, feature records and metrics of one method and level, described once.

        `proof_callbacks`: hear of the proof of a panel, as in `tamis.panel.certify`.
        """
        fitted = self.fit_choice(choice)
        if choice not in self.memo.described:
            self.memo.described[choice] = describe(self, choice, fitted, proof_callbacks)
        described = self.memo.described[choice]
        return fitted.model, described.records, described.metrics

    def with_questions(self) -> Comparison:
        """The comparison with datum-wise models tested on the calibration rows."""
        result = self.result(ASKING)
        assert self.kept is not None
        if result is None:
            return self
        trained = self.memo.trained[ASKING] = train_final(self, result)
        models = [make_model(self, result, i, trained) for i in range(len(result.levels))]
        names = {
            name for name, kept in zip(self.problem.names, self.problem.kept, strict=True) if kept
        }
        return replace(self, kept=self.kept.test_questions(models, result, names))

    # Reports.

    @property
    def metrics(self) -> dict:
        """All results as plain values: the content of `metrics.json`."""
        if self.recommended is None:
            metrics = summarise(self, None, [])
            if self.kept is not None:
                rows = metrics["data"]["rows"]
                metrics["calibration"] = self.kept.describe(rows, None, Promised())
            return metrics
        return self.fitted(self.final_choice)[2]

    def save(
        self, folder: str | PathLike, choice: Choice | None = None, guard: bool = True
    ) -> list[str]:
        """Write `model.json`, `model.skops`, `features.csv` and `metrics.json`.

        Parameters
        ----------
        folder : str or path-like
            Created if it does not exist; results in it are replaced.
        choice : Choice or None
            Method and level; None: the recommended ones.
        guard : bool
            Whether to quote cells of `features.csv` that a spreadsheet would read as formulas.

        Returns
        -------
        messages : list of str
            Messages about the files.
        """
        choice, run = choice or self.final_choice, RunFolder(folder)
        messages, failed = save_first(self, choice, run, guard)
        save_rest(self, choice, run, guard, failed)
        return messages

    def to_html(self, path: str | PathLike | None = None, **options: Any) -> str:
        """The report as HTML; the options are those of `tamis.report.page.page.write_report`."""
        return import_module("tamis.report.page.page").write_report(self, path, **options)

    def __repr__(self):
        if self.recommended is None:
            return f"Comparison({self.name}: no method was finished)"
        choice, honest = self.final_choice, self.honest
        result = self.result(choice.method)
        described = {"title": choice.method if result is None else result.method.title}
        told = name_model(choice.method, described, choice.n_features, self.head_name)
        told = told if self.name == "data" else f"{self.name}: {told}"
        if honest is None:
            return f"Comparison({told}, without an honest score)"
        if choice != self.recommended:  # the honest score is of another model
            return f"Comparison({told}, chosen by the conformal calibration set)"
        score = f"{honest.score:.3f} [{honest.low:.3f}, {honest.high:.3f}]"
        n = sum(check.severity == "warning" for check in self.checks)
        told += f", {self.settings.scoring} {score}"
        told += f"; {n} warning{'' if n == 1 else 's'}, see .checks" if n else ""
        return f"Comparison({told})"

    def _repr_html_(self) -> str:
        """The recommendation and one row per method, for notebooks."""
        return notebook_view(self)

    # Shared by the reports.

    @property
    def clinical(self) -> dict[str, Any]:
        """Other sites, later rows, subgroups, costs of errors, more rows, measurement errors.

        Plain values under "left_out_batches", "time_order", "subgroups", "misclassification",
        "learning_curve" and "assay", as far as they were asked for.
        """
        return self.clinical_parts[0]

    @cached_property
    def clinical_parts(self) -> tuple[dict[str, Any], dict[str, str]]:
        """`clinical`, and why some of it could not be made."""
        assert self.chosen  # raises without a recommendation
        return describe_clinical(self)

    @cached_property
    def lower_band(self) -> NDArray[np.float64]:
        """Lower limits that hold for the scores of all candidates together."""
        assert self.candidates is not None
        return self.candidates.lower_band()
