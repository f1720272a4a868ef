"""Numbers of features: of the model itself, in the choice, the table and the output."""

from functools import cache

import numpy as np

import tamis
from tamis.comparison.choosing.choice import Candidates
from tamis.comparison.fitted.final import train_final
from tests.comparison.problems import compare


@cache
def uneven():
    """Methods whose number of features depends on the rows, on weak signals in several columns."""
    rng = np.random.default_rng(3)
    y = np.arange(48) % 2
    X = rng.normal(size=(48, 10)) + 0.6 * y[:, None] * (np.arange(10) < 6)
    options = {"methods": ["primal-dual", "l1-logistic"], "cv": 3, "repeats": 1}
    return tamis.compare(X, y, **options)


def test_every_size_is_that_of_the_model_on_all_rows():
    comparison = uneven()
    for result in comparison.results:
        trained = train_final(comparison, result)
        sizes = [trained.features(place).size for place in range(len(result.levels))]
        assert result.overall.tolist() == sizes
    folds = np.concatenate([r.fold_sizes for r in comparison.results])
    overall = np.concatenate([r.overall for r in comparison.results])
    assert (folds.mean(axis=1) != overall).any()  # else nothing was tested
    choice = comparison.choice
    told = comparison.fit_choice(choice).metrics["model"]
    assert choice.n_features == told["features"] == told["features_overall"]


def test_the_choice_without_a_fold_sees_sizes_of_models_without_the_fold(monkeypatch):
    comparison, seen = uneven(), []

    class Watched(Candidates):
        def __init__(self, results, *words, **options):
            seen.append([result.overall for result in results])
            super().__init__(results, *words, **options)

    monkeypatch.setattr("tamis.comparison.choosing.nested.Candidates", Watched)
    problem, settings = comparison.problem, comparison.settings
    compare(problem, settings)
    assert len(seen) == 3
    for fold in comparison.folds:
        part = problem.train_part(fold.train, problem.codes, fold.seed)
        for result, sizes in zip(comparison.results, seen[fold.number], strict=True):
            trained = result.method.train(part, list(result.levels))
            expected = [trained.features(i).size for i in range(len(result.levels))]
            np.testing.assert_array_equal(sizes, expected)


def test_a_picked_model_has_at_most_the_features_that_were_asked_for():
    comparison = uneven()
    sizes = comparison.result("primal-dual").overall
    for n in range(int(sizes.min()), 11):
        choice = comparison.find("primal-dual", n)
        assert choice.n_features == max(size for size in sizes if size <= n)


def test_a_datum_wise_model_counts_the_features_that_its_file_needs():
    rng = np.random.default_rng(0)
    y = np.arange(48) % 2
    X = rng.normal(size=(48, 12)) + 0.8 * y[:, None] * (np.arange(12) < 3)
    comparison = tamis.compare(X, y, methods=["datum-wise"], cv=2, repeats=1)
    result = comparison.result("datum-wise")
    assert (result.most_per_sample <= result.overall).all()
    fitted = comparison.fit_choice(comparison.choice)
    told, n_required = fitted.metrics["model"], len(fitted.model.preparation.required)
    assert n_required == len(fitted.records) == told["features"] == told["features_overall"]
    trained = train_final(comparison, result)
    asked = trained.path.features(trained.places[comparison.choice.place])
    assert asked.size < n_required  # else nothing was tested
