"""Models that can be read: linear and kernel panels as two candidates, and only readable ones."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tamis import compare
from tamis.comparison.choosing.readable import CARD_FEATURES, find_readable
from tamis.comparison.methods import panel as panel_method
from tamis.comparison.methods.baselines import find_method
from tamis.comparison.methods.families import METHODS
from tamis.comparison.methods.method import RankingMethod
from tamis.comparison.options import Options
from tamis.comparison.running.tasks import Task, compute_together, run_tasks
from tamis.comparison.settings import find_methods
from tamis.models import make_sql
from tamis.paths.folds import make_folds
from tamis.report.card.card import card_fields
from tamis.report.questionnaire.conversation import Questionnaire
from tamis.tables import TableModel
from tamis.tables.errors import InputError
from tests.comparison.problems import blobs, make

BOTH = ("panel", "panel-kernel")


def ring(n=120, seed=0):
    """Two classes, one around the other: no line separates them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, np.where((X[:, :2] ** 2).sum(axis=1) > 1.4, "outside", "inside")


def fast(X, y, **options):
    return compare(
        X, y, **{"methods": ["panel", "most-frequent"], "cv": 3, "repeats": 1, **options}
    )


@pytest.fixture(scope="module")
def of_ring():
    return fast(*ring())


def tasks_of(problem, names=BOTH):
    folds = make_folds(problem.codes, None, 3, 1, 0)
    levels = tuple(find_method("panel").levels(problem, 4))
    return [Task("cv", name, levels, fold) for name in names for fold in folds]


def test_panels_are_selected_once_for_both_heads_and_are_those_of_each_alone(monkeypatch):
    problem = make(*blobs(90, 8))
    calls = []
    original = panel_method._make_panel

    def count(part):
        calls.append(part)
        return original(part)

    monkeypatch.setattr(panel_method, "_make_panel", count)
    together = {
        task.key: outcome for task, outcome in run_tasks(problem, tasks_of(problem), seed=0)
    }
    assert len(calls) == 3  # folds
    assert len(together) == 6
    for name in BOTH:
        for task in tasks_of(problem, [name]):
            (alone,) = compute_together(problem, [task], 0)
            assert_array_equal(together[task.key].used, alone.used)
            assert_allclose(together[task.key].probabilities, alone.probabilities, atol=1e-6)


def test_heads_are_linear_in_one_method_and_kernels_in_the_other():
    problem = make(*ring())
    part = problem.train_part(np.arange(problem.n_rows), problem.codes, 0)
    linear, kernel = find_method("panel").train_with([find_method("panel-kernel")], part, [1, 2])
    assert {linear.model(i).head_ for i in range(2)} <= {"lda", "logistic"}
    assert {kernel.model(i).head_ for i in range(2)} == {"kernel"}
    assert [linear.model(0).head, kernel.model(0).head] == ["linear", "kernel"]


def test_both_are_candidates_of_the_rule_and_of_its_nested_score(of_ring):
    assert [r.method.name for r in of_ring.results if not r.method.is_baseline] == [*BOTH]
    assert of_ring.choice.method == "panel-kernel" and not of_ring.is_readable
    assert of_ring.honest_score.is_nested
    assert of_ring.honest_score.score > 0.75  # which no line reaches
    table = of_ring.table
    heads = dict(zip(table["method"], table["head"], strict=True))
    assert heads == {"panel": "linear", "panel-kernel": "kernel", "most-frequent": ""}
    readable = dict(zip(table["method"], table["is_readable"], strict=True))
    assert readable == {"panel": True, "panel-kernel": False, "most-frequent": False}
    size = f"{of_ring.choice.n_features:.0f}"
    assert f"panel, kernel head, {size} features, balanced_accuracy" in repr(of_ring)


def test_a_linear_panel_is_recommended_where_a_kernel_with_as_many_features_is_no_better():
    found = fast(*blobs(90, 6))
    assert found.choice.method == "panel" and found.is_readable
    model = found.model  # trained
    assert f", {found.head_name}, balanced" in repr(found)
    assert found.head_name in ("logistic", "linear discriminant")
    assert found.metrics["model"]["head"] == found.head_name
    assert model.model_.head_name == found.head_name


def test_only_models_that_can_be_read_are_compared_if_asked_for():
    found = fast(*ring(), methods=["panel", "centers", "landmarks"], readable=True)
    assert {r.method.name for r in found.results if not r.method.is_baseline} == {
        "panel",
        "centers",
    }
    assert found.is_readable
    (note,) = [note for note in found.data.notes if "readable=True" in note]
    assert note.endswith(": panel-kernel, landmarks") and "SQL" in note
    with pytest.raises(ValueError, match=r"readable=True.*these can: centers, medians, primal-"):
        fast(*ring(), methods=["landmarks"], readable=True)
    with pytest.raises(ValueError, match="max_error needs datum-wise models, which readable=True"):
        fast(*ring(), methods="auto", readable=True, calibration_share=0.3, max_error=0.1)


def test_the_best_model_that_can_be_read_is_picked(of_ring):
    choice = find_readable(of_ring)
    told = of_ring.metrics["readable"]
    assert choice.method == told["best"]["method"] == "panel"
    assert (
        choice.n_features == told["best"]["features_overall"] == told["card"]["features_overall"]
    )
    assert told["best"]["score"] == of_ring.result("panel").scores[choice.place]
    model = of_ring.pick(readable=True).model_
    assert model.method == "panel" and model.head_name != "kernel"
    least = find_readable(of_ring, n_features=1)
    assert least.n_features == 1
    for wrong in ({"method": "panel-kernel"}, {"n_features": 0}):
        with pytest.raises(InputError, match=r"readable=True: no model.*models can: panel\."):
            find_readable(of_ring, **wrong)
    again = of_ring.pick(readable=True, without=["x0"]).model_
    assert "x0" not in again.preparation.required and again.head_name != "kernel"


def test_cards_are_offered_of_models_with_few_features(of_ring, monkeypatch):
    monkeypatch.setattr("tamis.comparison.choosing.readable.CARD_FEATURES", 1)
    assert of_ring.result("panel").overall.max() > 1
    from tamis.comparison.choosing.readable import describe_readable

    assert describe_readable(of_ring)["card"]["features_overall"] == 1
    assert CARD_FEATURES == 12


READABLE = [method.name for method in METHODS if method.is_readable]


@pytest.mark.parametrize("name", READABLE)
def test_every_method_that_says_so_can_be_read(name):
    found = fast(*blobs(80, 5), methods=[name, "most-frequent"], max_features=3, readable=True)
    model: TableModel = found.pick(name, 2).model_
    assert hasattr(model.estimator, "explain")
    assert Questionnaire(model).next_question() is not None
    assert 1 <= len(card_fields(model)) <= 3
    assert make_sql(model).startswith("-- A model of tamis")


def test_the_panel_means_both_panels():
    def names(methods):
        found = find_methods(Options(methods=methods))
        return [name for name in found if isinstance(find_method(name), RankingMethod)]

    assert names("panel") == names(["panel"]) == [*BOTH]
    assert names("panel-kernel, centers") == ["centers", "panel-kernel"]
    assert names("panel,panel-kernel") == [*BOTH]


def test_kernels_are_left_out_for_rare_words():
    rng = np.random.default_rng(0)
    X = (rng.random((60, 150)) < 0.01) * 1.0
    y = np.arange(60) % 2
    X[y == 1, 0] = 1.0
    found = fast(X, y, max_features=2)
    assert [r.method.name for r in found.results] == ["panel", "most-frequent"]
    assert not any("kernel" in note for note in found.data.notes)
    with pytest.raises(ValueError, match="sparse data; use panel"):
        fast(X, y, methods=["panel-kernel"])
    told = fast(X, y, methods=["panel-kernel", "centers"], max_features=1).data.notes
    assert any(note.startswith("panel-kernel is not run") for note in told)


def test_a_kernel_that_fails_leaves_the_linear_panel(monkeypatch):
    def fail(*data):
        raise ArithmeticError("no kernel")

    monkeypatch.setattr("tamis.panel.settings.fit_kernel", fail)
    found = fast(*blobs(60, 4))
    assert found.failed == {"panel-kernel": "no kernel (ArithmeticError)"}
    assert found.choice.method == "panel"


def test_checkpoints_of_another_format_are_discarded_with_a_message(tmp_path):
    said = []

    class Listen:
        def on_message(self, message):
            said.append(message)

        def __getattr__(self, name):
            return lambda *words: None

    X, y = blobs(60, 4)
    first = fast(X, y, checkpoints=tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    del manifest["format"]
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    again = fast(X, y, checkpoints=tmp_path, callbacks=[Listen()])
    assert repr(again) == repr(first)
    (line,) = said
    assert "another version of tamis" in line and "computed again" in line
    assert json.loads((tmp_path / "manifest.json").read_text())["format"] == 2
