"""Panels of data and parameters that leave little or nothing to learn."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from tamis import PanelClassifier, PanelClassifierCV
from tests.panel.test_classifier import make_data

both = pytest.mark.parametrize("Estimator", [PanelClassifier, PanelClassifierCV])


@pytest.mark.parametrize(
    "parameters, message",
    [
        ({"selection": "backward"}, "selection must be one of 'auto', .*'backward'"),
        (
            {"head": "svm"},
            "head must be one of 'auto', 'linear', 'lda', 'logistic', 'kernel', got 'svm'",
        ),
        ({"head": None}, "head must be one of"),
        ({"alpha": 0.0}, "alpha must be a positive number, got 0.0"),
        ({"alpha": np.inf}, "alpha must be a positive number"),
        ({"alpha": "3"}, "alpha must be a positive number"),
        ({"n_screened": 0}, "n_screened must be an integer >= 1, got 0"),
        ({"n_screened": 2.5}, "n_screened must be an integer >= 1"),
        ({"max_per_group": 1}, "max_per_group needs feature_groups"),
        ({"max_per_group": 0, "feature_groups": [[0, 1]]}, "max_per_group must be an integer"),
        ({"feature_costs": [1.0, 2.0]}, "feature_costs must be 12 positive numbers"),
        ({"feature_costs": np.zeros(12)}, "feature_costs must be 12 positive numbers"),
        ({"feature_costs": ["a"] * 12}, "feature_costs must be 12 positive numbers"),
        ({"class_weight": "even"}, "class_weight"),
        ({"class_weight": {"no such class": 2.0}}, "class_weight"),
        ({"cv": 1}, "cv must be at least 2 folds"),
        ({"cv": True}, "cv"),
        ({"keep": [40]}, "40"),
        ({"keep": "no such name"}, "no such name"),
    ],
    ids=str,
)
@both
def test_wrong_parameters_say_what_was_expected(Estimator, parameters, message):
    X, y = make_data()
    with pytest.raises(ValueError, match=message):
        Estimator(**parameters).fit(X, y)


@pytest.mark.parametrize("k", [0, -1, 1.5, "all", True])
def test_wrong_numbers_of_features_say_what_was_expected(k):
    X, y = make_data()
    with pytest.raises(ValueError, match="n_features_to_select"):
        PanelClassifier(k).fit(X, y)


@pytest.mark.parametrize("levels", [[0, 1], [1.5], [], [[1], [2]], "all"])
def test_wrong_levels_say_what_was_expected(levels):
    X, y = make_data()
    with pytest.raises(ValueError, match="levels must be a list of integers >= 1"):
        PanelClassifier().fit_path(X, y, levels)


@both
def test_sample_groups_must_be_as_many_as_rows(Estimator):
    X, y = make_data()
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[120, 2\]"):
        Estimator().fit(X, y, groups=[0, 1])


@both
@pytest.mark.parametrize("case", ["two rows", "one sample group"])
def test_rows_that_cannot_be_left_out_are_refused(Estimator, case):
    X, y = make_data(2)
    groups = None
    if case == "two rows":
        X, y = X[:2], np.array([0, 1])
    else:
        groups = np.zeros(y.size)
    with pytest.raises(ValueError, match="No outer fold leaves two classes to train on"):
        Estimator().fit(X, y, groups=groups)


@both
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_rows_without_any_difference_are_refused_by_that_name(Estimator, make):
    X, y = make_data()
    rows = np.r_[np.zeros(1), np.ones(y.size - 1)]
    constant = make(np.where(rows[:, None] == 1, 3.0, X))
    with pytest.raises(ValueError, match="No feature varies: each of the"):
        Estimator().fit(constant, y, sample_weight=rows)


@both
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_class_of_one_row_is_learned(Estimator, n_classes):
    X, y = make_data(n_classes)
    rows = np.append(np.flatnonzero(y > 0), np.flatnonzero(y == 0)[0])
    model = Estimator(2, head="lda") if Estimator is PanelClassifier else Estimator([2])
    model.fit(X[rows], y[rows])
    assert model.classes_.tolist() == list(range(n_classes))
    assert np.all(np.isfinite(model.predict_proba(X)))


@both
@pytest.mark.parametrize("head", ["auto", "lda", "logistic", "kernel"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_without_any_gain_no_feature_is_selected(Estimator, head, n_classes):
    X = np.repeat(make_data()[0][:20], n_classes, axis=0)
    y = np.tile(np.arange(n_classes), 20)  # every row in every class
    model = Estimator(2 if Estimator is PanelClassifier else [2], head=head).fit(X, y)
    assert model.n_features_ == 0
    assert_allclose(model.predict_proba(X), 1 / n_classes)
