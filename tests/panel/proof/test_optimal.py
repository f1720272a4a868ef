"""Panels with selection="optimal"."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tamis import PanelClassifier, PanelClassifierCV, load_model, save_model
from tamis.panel import best_panels
from tamis.panel.proof.prove import prove
from tests.oracles.proof import all_panels
from tests.panel.proof.test_best_panels import make_data, make_noise


def test_an_optimal_panel_is_the_best_of_all():
    X, y = make_data(3, seed=1)
    model = PanelClassifier(3, selection="optimal", head="lda").fit(X, y)
    losses = all_panels(X, y, 3)
    assert tuple(np.flatnonzero(model.support_)) == min(losses, key=losses.get)
    assert model.is_proved_ is True
    assert model.gap_ == 0.0
    assert_allclose(model.lower_bound_, min(losses.values()), rtol=2e-9)


def test_every_level_has_its_own_best_panel():
    X, y = make_data(seed=4)
    path = PanelClassifier(selection="optimal", head="lda").fit_path(X, y, [1, 2, 4])
    for place, k in enumerate((1, 2, 4)):
        best = best_panels(X, y, k)
        assert path.features(place).tolist() == best.panels[0].tolist()
        assert path.model(place).is_proved_
        assert path.model(place).n_features_ == k


def test_a_stopped_search_leaves_a_gap_and_a_panel():
    X, y = make_noise()
    model = PanelClassifier(6, selection="optimal", head="lda", max_seconds=0.0).fit(X, y)
    assert model.n_features_ == 6
    assert model.is_proved_ is False
    assert model.gap_ == 1.0


def test_forward_panels_promise_nothing():
    X, y = make_data()
    model = PanelClassifier(2, head="lda").fit(X, y)
    assert not hasattr(model, "gap_")


def test_groups_and_kept_features_reach_the_search():
    X, y = make_data(seed=2)
    groups = [[0, 4], [1], [2, 3, 8], [5], [6], [7]]
    model = PanelClassifier(
        2, selection="optimal", head="lda", feature_groups=groups, keep=[5]
    ).fit(X, y)
    losses = all_panels(X, y, 2, groups=groups, keep=(5,))
    best = min(losses, key=losses.get)
    assert np.flatnonzero(model.support_).tolist() == sorted([*best, 5])


def test_cross_validation_chooses_among_optimal_panels():
    X, y = make_data(seed=3)
    model = PanelClassifierCV([1, 2, 3], selection="optimal", head="lda", cv=3).fit(X, y)
    best = best_panels(X, y, model.n_features_)
    assert np.flatnonzero(model.support_).tolist() == best.panels[0].tolist()
    assert model.is_proved_


def test_a_saved_model_keeps_its_proof(tmp_path):
    X, y = make_data(seed=3)
    model = PanelClassifier(2, selection="optimal", head="lda").fit(X, y)
    save_model(model, tmp_path / "model.json")
    read = load_model(tmp_path / "model.json")
    assert read.is_proved_ is True
    assert (read.gap_, read.lower_bound_) == (model.gap_, model.lower_bound_)


def test_a_saved_forward_panel_has_no_proof(tmp_path):
    X, y = make_data(seed=3)
    save_model(PanelClassifier(2, head="lda").fit(X, y), tmp_path / "model.json")
    assert not hasattr(load_model(tmp_path / "model.json"), "gap_")


def test_a_wrong_time_limit_is_refused():
    X, y = make_data()
    with pytest.raises(ValueError, match="max_seconds must be"):
        PanelClassifier(2, max_seconds="long").fit(X, y)


@pytest.fixture
def press_ctrl_c(monkeypatch):
    """Press Ctrl-C at the first progress of the given searches; returns what they proved."""

    def press(*places):
        found = []

        def report(progress):
            raise KeyboardInterrupt

        def interrupted(*data, **options):
            heard = report if len(found) in places else None
            found.append(prove(*data, report=heard, **options))
            return found[-1]

        monkeypatch.setattr("tamis.panel.proof.prove.prove", interrupted)
        return found

    return press


@pytest.mark.parametrize("place", [0, 1, 3])  # in the folds, and on all rows
def test_ctrl_c_leaves_a_fitted_panel_and_ends_all_searches(place, press_ctrl_c):
    X, y = make_noise()
    found = press_ctrl_c(place)
    model = PanelClassifier(3, selection="optimal", head="lda", cv=3, max_seconds=None)
    with pytest.raises(KeyboardInterrupt, match="fitted with the best panel found so far"):
        model.fit(X, y)
    assert len(found) == 4
    assert [proof.is_interrupted for proof in found] == [i == place for i in range(4)]
    assert [proof.n_nodes for proof in found[place + 1 :]] == [0] * (3 - place)
    assert model.lower_bound_ == found[-1].lower_bound
    assert model.gap_ == found[-1].gap > 0
    assert model.is_proved_ is False
    assert model.predict(X).shape == y.shape


def test_ctrl_c_leaves_a_cross_validated_panel(press_ctrl_c):
    X, y = make_noise()
    press_ctrl_c(1)
    model = PanelClassifierCV([2, 3], selection="optimal", head="lda", cv=3, max_seconds=None)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.n_features_ in (2, 3)
    assert model.path_["score"].shape == (2,)
    assert model.predict(X).shape == y.shape


def test_an_interrupted_path_says_so(press_ctrl_c):
    X, y = make_noise()
    press_ctrl_c(0)
    model = PanelClassifier(selection="optimal", head="lda", cv=3, max_seconds=None)
    path = model.fit_path(X, y, [1, 2])
    assert path.is_interrupted
    assert path.n_features.tolist() == [1, 2]
    assert not path.model(1).is_proved_


def test_a_later_fit_keeps_no_proof_of_an_earlier_one():
    X, y = make_data()
    model = PanelClassifier(2, selection="optimal", head="lda").fit(X, y)
    assert model.is_proved_
    model.set_params(selection="forward").fit(X, y)
    assert not hasattr(model, "is_proved_")
    assert not hasattr(model, "gap_")
