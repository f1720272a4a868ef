"""A model of a comparison and what is said about it: the model first, its description after.

`fit_model` trains and calibrates; everything that `describe` adds may fail part by part
(`tamis.comparison.attempts`), or be interrupted, after the model has been saved.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from tamis.comparison.attempts import attempt
from tamis.comparison.choosing.choice import Choice
from tamis.comparison.choosing.predictions import tabulate
from tamis.comparison.fitted.final import describe_features, fit_final, outline_features
from tamis.comparison.fitted.metrics import summarise
from tamis.comparison.folder import RunFolder
from tamis.comparison.further.clinical import describe_picked
from tamis.comparison.methods.method import Trained
from tamis.models.privacy import holds_training_rows
from tamis.tables.classifying.prevalence import tell_assumed
from tamis.tables.classifying.table_model import TableModel

if TYPE_CHECKING:
    from tamis.comparison.comparison import Comparison
    from tamis.panel.proof.search import ProofProgress

__all__ = ["Description", "FittedModel", "describe", "fit_model", "save_first", "save_rest"]

# The part of `not_described` that stands for all others until they are done.
_PENDING = {"description": "the run ended before the model was described; repeat the command"}


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A model of a comparison, with what is known of it without further work."""

    model: TableModel
    # Its features: see `tamis.comparison.fitted.final.outline_features`.
    records: list[dict[str, Any]]
    metrics: dict[str, Any]  # the content of `metrics.json`, as far as it is known
    trained: Trained  # the path that it is from
    # The model that was trained on the rows of the comparison, if the table is a sample.
    of_sample: TableModel
    trained_on: str | None  # rows that the model was trained on, if the table is a sample


@dataclass(frozen=True, eq=False)
class Description:
    """All that is said about a fitted model."""

    # Its features: see `tamis.comparison.fitted.final.describe_features`.
    records: list[dict[str, Any]]
    metrics: dict[str, Any]  # the content of `metrics.json`


def fit_model(comparison: Comparison, choice: Choice) -> FittedModel:
    """Train and calibrate the model of one method and level."""
    model, trained = fit_final(comparison, choice, comparison.memo.trained.get(choice.method))
    of_sample, trained_on = model, None
    if comparison.streamed is not None:
        finished = comparison.streamed.train_final(comparison, choice, model, trained)
        model, trained, trained_on = finished
    records = outline_features(comparison, choice, trained)
    metrics = summarise(comparison, choice, records)
    if model.head_name:  # that of this model, where the method knows only its kind
        metrics["model"]["head"] = model.head_name
    metrics["not_described"] = dict(_PENDING)
    if comparison.kept is not None:
        model = comparison.kept.conclude(metrics, model, choice, comparison.recommended)
    metrics["model"]["privacy"] = holds_training_rows(model)
    scores = {name: metrics["model"].get(name) for name in ("honest_score", "selection_score")}
    model = replace(model, scores=scores)
    return FittedModel(model, records, metrics, trained, of_sample, trained_on)


def describe(
    comparison: Comparison,
    choice: Choice,
    fitted: FittedModel,
    proof_callbacks: Iterable[Callable[[ProofProgress], object]] = (),
) -> Description:
    """Describe a model in its records and metrics; parts that fail are in "not_described".

    `proof_callbacks`: hear of the proof of a panel, as in `tamis.panel.certify`.
    """
    failed = dict(comparison.not_described)
    if fitted.metrics["model"]["recommended"]:
        clinical, without = comparison.clinical_parts
        failed |= without
    else:
        pick = partial(describe_picked, comparison, choice)
        clinical = attempt(failed, "misclassification", pick, {})
    records, guarantees = describe_features(
        comparison, choice, fitted.trained, failed, proof_callbacks
    )
    told = None
    if fitted.trained_on is not None:
        assert comparison.streamed is not None
        told, checks = comparison.streamed.describe(
            comparison, fitted.of_sample, fitted.trained_on, failed
        )
    for part, found in (*clinical.items(), *guarantees.items()):
        # A number that no JSON can hold would cost all metrics.
        if attempt(failed, part, partial(json.dumps, found, allow_nan=False)) is None:
            (guarantees if part in guarantees else clinical)[part] = {"reason": failed[part]}
    known = {part: found for part, found in clinical.items() if part not in failed}
    model = fitted.metrics["model"] | known | {"guarantees": guarantees}
    metrics = fitted.metrics | {"model": model, "not_described": failed}
    if told is not None:
        metrics["streaming"] = told
        metrics["checks"] = [*metrics["checks"], *(check.as_dict() for check in checks)]
    return Description(records, metrics)


def save_first(
    comparison: Comparison,
    choice: Choice,
    folder: RunFolder,
    guard: bool,
    predictions: bool = False,
) -> tuple[list[str], dict[str, str]]:
    """Write the model, and what needs no further work, before anything else can fail.

    `guard`: whether to quote cells of tables that a spreadsheet would read as formulas;
    `predictions`: whether to write the honest predictions of all rows. Returns `messages`:
    messages about the files; `failed`: what could not be written, with the reason.
    """
    fitted = comparison.fit_choice(choice)
    assert comparison.data is not None
    columns = comparison.data.columns
    told = folder.write_results(fitted.model, fitted.records, fitted.metrics, columns, guard)
    failed: dict[str, str] = {}
    if predictions and (folder.path / "predictions.csv").is_file():
        # Those of an earlier run would not belong to this model.
        (folder.path / "predictions.csv").unlink()
    if predictions and comparison.honest is not None:

        def write():
            folder.write_predictions(tabulate(comparison), guard)
            told.append(f"predictions.csv: {tell_assumed(fitted.model)}")

        attempt(failed, "predictions", write)
    return told, failed


def save_rest(
    comparison: Comparison, choice: Choice, folder: RunFolder, guard: bool, failed: dict[str, str]
) -> None:
    """Describe the model, and write its features and metrics again.

    `comparison`, `choice`, `folder`, `guard`, `failed`: as in `save_first`.
    """
    _, records, metrics = comparison.fitted(choice)
    folder.write_features(records, guard)
    not_described = metrics["not_described"] | failed
    folder.write_json("metrics.json", metrics | {"not_described": not_described})
