import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from tamis import SparseCenterClassifier
from tamis._base import order_by_score
from tamis.centers.ranking import select_largest


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0]), min_size=1, max_size=30), st.integers(1, 40)
)
def test_selection_is_the_head_of_a_stable_order_without_zero_gains(gains, k):
    gains = np.array(gains)
    expected = sorted(range(gains.size), key=lambda j: (-gains[j], j))
    assert order_by_score(gains).tolist() == expected
    kept = [j for j in expected[:k] if gains[j] > 0]
    assert select_largest(gains, k).tolist() == sorted(kept)


def make_data(seed=0, n_classes=3):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, 90)
    X = rng.normal(size=(90, 6)) * np.logspace(-3, 3, 6) + y[:, None] * np.logspace(-3, 3, 6)
    X[:, 2] = 4.2
    return X, y


@pytest.mark.parametrize("metric", ["l2", "l1"])
def test_spread_makes_gains_shares_that_do_not_depend_on_units(metric):
    X, y = make_data()
    fitted = SparseCenterClassifier(None, metric=metric).fit(X, y)
    assert np.all((fitted.gains_ >= 0) & (fitted.gains_ <= 1))
    assert fitted.gains_[2] == 0.0
    other = SparseCenterClassifier(None, metric=metric).fit(X * [8, 0.5, 3, 2, 64, 16] - 40, y)
    assert_allclose(fitted.gains_, other.gains_, rtol=1e-9)
    assert_array_equal(fitted.feature_order_, other.feature_order_)


@pytest.mark.parametrize("metric", ["l2", "l1"])
@pytest.mark.parametrize("scaling", ["std", "variance"])
def test_scales_of_all_rows_are_those_of_numpy(metric, scaling):
    X, y = make_data()
    weight = np.random.default_rng(0).integers(1, 4, y.size)
    fitted = SparseCenterClassifier(None, metric=metric, scaling=scaling).fit(X, y, weight)
    expected = np.repeat(X, weight, axis=0).var(axis=0)
    expected = np.sqrt(expected) if scaling == "std" else expected
    expected[2] = 1.0  # constant
    assert_allclose(fitted.scale_, expected, rtol=1e-9)


@pytest.mark.parametrize("metric", ["l2", "l1"])
@pytest.mark.parametrize("scaling", ["spread", "std", "variance"])
def test_scaling_inside_equals_scaling_before(metric, scaling):
    X, y = make_data()
    inside = SparseCenterClassifier(3, metric=metric, scaling=scaling).fit(X, y)
    Z = X / inside.scale_
    before = SparseCenterClassifier(3, metric=metric, scaling=None).fit(Z, y)
    assert_allclose(inside.gains_, before.gains_, rtol=1e-9)
    assert_array_equal(inside.support_, before.support_)
    assert_allclose(inside.objective_, before.objective_)
    assert_allclose(inside.decision_function(X), before.decision_function(Z), rtol=1e-7)


def test_the_first_fit_on_a_small_table_compiles_nothing(tmp_path):
    code = """
import numpy as np
from numba.core import event
from sklearn.datasets import load_breast_cancer
from tamis import SparseCenterClassifier, rank_features_by_class
X, y = load_breast_cancer(return_X_y=True)
with event.install_recorder("numba:compile") as recorder:
    for metric in ("l2", "l1"):
        model = SparseCenterClassifier(metric=metric).fit(X, y)
        model.predict_proba(X)
        model.path_score(X, y, None)
    rank_features_by_class(X, y)
    print("compiled:", len(recorder.buffer))
    SparseCenterClassifier().fit(np.tile(X, (10, 1)), np.tile(y, 10))
    print("compiled for a larger table:", len(recorder.buffer) > 0)
"""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    expected = ["compiled: 0", "compiled for a larger table: True"]
    assert done.stdout.splitlines() == expected
