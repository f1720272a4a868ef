"""The picture of panels that fit as well."""

import numpy as np
from sklearn.datasets import load_breast_cancer

from tamis.inspection import BestPanelsDisplay
from tamis.panel import best_panels


def test_each_column_is_a_panel_and_frequent_features_come_first():
    X, y = load_breast_cancer(return_X_y=True)
    best = best_panels(X, y, 3, tolerance=0.04)
    display = BestPanelsDisplay.from_panels(best)
    assert display.members.shape[1] == len(best.panels) > 3
    assert (display.members.sum(axis=0) == 3).all()
    assert (np.diff(display.members.sum(axis=1)) <= 0).all()
    for column, panel in enumerate(best.panels):
        names = np.array(display.feature_names)[display.members[:, column]]
        assert set(names) == set(best.feature_names[panel])
    assert display.image_.get_array().sum() == display.members.sum()
    assert "all within the tolerance" in display.ax_.get_xlabel()
    assert display.extra_deviance[0] == 0.0


def test_what_is_left_out_is_said():
    X, y = load_breast_cancer(return_X_y=True)
    best = best_panels(X, y, 3, tolerance=0.04)
    display = BestPanelsDisplay.from_panels(best, max_features=2, max_panels=2)
    assert display.members.shape == (2, 2)
    assert display.n_left_out > 0
    assert "there may be more" in display.ax_.get_xlabel()
