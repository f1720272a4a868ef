"""A questionnaire as plain values, which the script of the page follows."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

import tamis
from tamis._base import plain
from tamis.datumwise.costs import as_integers, whole_costs
from tamis.report.questionnaire.conversation import Questionnaire
from tamis.report.questionnaire.engines import InOrder
from tamis.report.questionnaire.terms import After
from tamis.tables.classifying.prevalence import why_not_likeliest

# What the script needs of the stages of a forest policy.
_OF_STAGE = ("forest", "rule", "targets", "new", "means", "row_of", "table")
_OF_LINEAR = ("bias", "for_known", "for_value", "columns", "block_of", "scaling", "max_blocks")


def make_form(
    questionnaire: Questionnaire, *, digest: str = "", about: str | None = None
) -> dict[str, Any]:
    """The questions, the model and the settings of a questionnaire, as JSON can hold them."""
    model, engine = questionnaire.model, questionnaire.engine
    make = _sum_or_distance if isinstance(engine, InOrder) else _policy
    return {
        "target": model.target,
        "classes": [str(label) for label in model.classes_.tolist()],
        "version": tamis.__version__,
        "digest": digest,
        "about": about or "",
        "settings": {
            "max_questions": questionnaire.max_questions,
            "reject": questionnaire.reject,
            "reject_where": questionnaire.reject_where,
            "flip_risk": questionnaire.flip_risk,
        },
        "without_answers": questionnaire.without_answers,
        "prevalence": questionnaire.prevalence.sentence(on_page=True),
        "reasons": _reasons(model),
        "after": asdict(After.of(model, questionnaire.prevalence)),
        "questions": [
            {"name": question.name, "fields": [asdict(one) for one in question.fields]}
            for question in questionnaire.questions
        ],
        "model": make(engine, model.estimator),
    }


def _reasons(model):
    """Why a label is not the most probable class: one sentence, or one per label and class."""
    if model.misclassification is None:
        return why_not_likeliest(model, 0, 1)
    places = range(model.classes_.size)
    return [[why_not_likeliest(model, label, best) for best in places] for label in places]


def _sum_or_distance(engine, estimator):
    if engine.terms is not None:
        return {
            "kind": "sum",
            "base": engine.terms.base.tolist(),
            "fields": [
                {
                    "curves": [curve.record() for curve in one.curves],
                    "candidates": one.candidates.tolist(),
                    "directions": one.directions.tolist(),
                }
                for one in engine.terms.fields
            ],
        }
    columns = np.flatnonzero(estimator.support_)
    return {
        "kind": "distance",
        "columns": columns.tolist(),
        "mean": estimator.mean_[columns].tolist(),
        "scale": estimator.scale_[columns].tolist(),
        "weights": estimator.weights_[columns].tolist(),
        "centers": estimator.centers_.tolist(),
        "dispersion": float(estimator.dispersion_),
        "temperature": float(estimator.temperature_),
        "distance": "l2" if estimator._euclidean else "l1",
        "draws": engine.draws[:, columns].tolist(),
    }


def _policy(engine, estimator):
    record = estimator.to_record()
    policy, forests = record["policy"], record["forests"]
    if policy["kind"] == "linear":
        limit = float(policy["max_cost"])
        given = [*map(float, estimator.policy_.costs), *([] if limit == np.inf else [limit])]
        costs, _ = as_integers(given)
        return {
            "kind": "linear",
            **{name: policy[name] for name in _OF_LINEAR},
            "n_classes": len(record["classes"]),
            "temperature": policy["temperature"],
            # Decimal digits: JavaScript reads them as integers of any size.
            "costs": [str(cost) for cost in costs[: len(policy["blocks"])]],
            "money": None if limit == np.inf else str(costs[-1]),
        }
    costs, unit = whole_costs(estimator.policy_.costs)
    used = list(dict.fromkeys(stage["forest"] for stage in policy["stages"]))
    stages = [{name: stage[name] for name in _OF_STAGE} for stage in policy["stages"]]
    return {
        "kind": "forest",
        "columns": policy["columns"],
        "class_losses": policy["class_losses"],
        "temperature": policy["temperature"],
        "costs": plain(costs),
        "unit": policy["cost_weight"] * unit,
        "stages": [stage | {"forest": used.index(stage["forest"])} for stage in stages],
        "forests": [forests[at] for at in used],
    }
