"""best_panels against fitting every panel."""

import tracemalloc
from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csc_array, csr_array
from sklearn.linear_model import LinearRegression

from tamis import PanelClassifier
from tamis._base import decided
from tamis.panel import best_panels, certify
from tamis.panel.proof import fits, search
from tests.oracles.proof import all_panels, panel_loss


def make_data(n_classes=2, seed=0, n=60, p=9, signal=1.0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    X = rng.normal(size=(n, p)) @ (np.eye(p) + 0.4 * rng.normal(size=(p, p)))
    for c in range(1, n_classes):
        X[y == c, c % p] += signal
        X[y == c, (2 * c + 3) % p] -= 0.7 * signal
    return X, y


def make_noise():
    """Rows that no panel of six features fits much better than others."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(60, 30)), np.arange(60) % 2


def check(best, losses, within):
    """The list is that of all panels, in order, up to the limit."""
    least = min(losses.values())
    near = {panel for panel, loss in losses.items() if loss <= within(least) * (1 + 1e-9)}
    assert best.is_proved
    assert best.is_complete
    assert best.gap == 0.0
    assert_allclose(best.losses[0], least, rtol=1e-9)
    assert_allclose(best.lower_bound, least, rtol=2e-9)
    assert {tuple(panel.tolist()) for panel in best.panels} == near
    assert_allclose(best.losses, [losses[tuple(p.tolist())] for p in best.panels], rtol=1e-9)
    assert (np.diff(best.losses) >= 0).all()
    assert set(best.in_all.tolist()) == set.intersection(*map(set, near))
    return near


@pytest.fixture(params=[1, 128])
def fitted_at_once(request, monkeypatch):
    """How few panels a node must have left to be done: with 1, trees go down to their leaves."""
    monkeypatch.setattr("tamis.panel.proof.search._MOST_FITTED", request.param)


@pytest.mark.usefixtures("fitted_at_once")
@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_the_list_is_that_of_brute_force(n_classes, k):
    X, y = make_data(n_classes, seed=k, p=8)
    losses = all_panels(X, y, k)
    best = best_panels(X, y, k, tolerance=0.03, max_seconds=None)
    near = check(best, losses, lambda least: 1.03 * least)
    assert set(best.in_none.tolist()) == set(range(8)).difference(*near)
    assert best.n_panels == len(losses)


def test_the_default_tolerance_is_two_units_of_deviance():
    X, y = make_data(signal=0.4)
    best = best_panels(X, y, 2, max_seconds=None)
    near = check(best, all_panels(X, y, 2), lambda least: least + 1.0)
    assert len(near) > 1
    assert best.limit == best.losses[0] + 1.0


def test_a_wide_panel_among_fifteen_features_is_proved():
    X, y = make_data(seed=5, p=15, n=50)
    best = best_panels(X, y, 3, tolerance=0.02, max_seconds=None)
    check(best, all_panels(X, y, 3), lambda least: 1.02 * least)


@pytest.mark.usefixtures("fitted_at_once")
def test_weights_groups_and_kept_features():
    X, y = make_data(3, seed=2)
    weights = np.random.default_rng(0).integers(0, 4, size=y.size)
    groups = [[0, 4], [1], [2, 3, 8], [5], [6], [7]]
    losses = all_panels(X, y, 2, groups=groups, keep=(5,), weights=weights, class_weight=None)
    best = best_panels(
        X,
        y,
        2,
        tolerance=0.05,
        feature_groups=groups,
        keep=[5],
        sample_weight=weights,
        class_weight=None,
        max_seconds=None,
    )
    check(best, losses, lambda least: 1.05 * least)


@pytest.mark.usefixtures("fitted_at_once")
@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize("k", [2, 3])
def test_at_most_n_of_each_group(most, k):
    X, y = make_data(seed=7)
    label = [0, 0, 0, 1, 1, 1, 2, 2, 2]
    losses = all_panels(X, y, k, label=label, most=most)
    best = best_panels(
        X, y, k, tolerance=0.05, feature_groups=label, max_per_group=most, max_seconds=None
    )
    check(best, losses, lambda least: 1.05 * least)
    assert best.n_panels == len(losses)


def test_kept_features_take_room_in_their_group():
    X, y = make_data(seed=7)
    label = [0, 0, 0, 0, 1, 1, 1, 2, 2]
    best = best_panels(
        X, y, 2, feature_groups=label, max_per_group=1, keep=[3], tolerance=0.1, max_seconds=None
    )
    losses = all_panels(X, y, 2, label=label, most=1, keep=(3,))
    losses = {panel: loss for panel, loss in losses.items() if min(panel) > 3}
    check(best, losses, lambda least: 1.1 * least)


@pytest.mark.usefixtures("fitted_at_once")
def test_copies_count_as_one():
    X, y = make_data(seed=3, p=6)
    X = np.column_stack([X, X[:, 1], -2.0 * X[:, 1] + 5.0, np.full(y.size, 3.0)])
    best = best_panels(X, y, 3, tolerance=0.1, max_seconds=None)
    losses = all_panels(X[:, :8], y, 3)
    assert_allclose(best.losses[0], min(losses.values()), rtol=1e-9)
    near = [panel for panel, loss in losses.items() if loss <= 1.1 * min(losses.values())]
    copies = {6: 1, 7: 1}
    kinds = {tuple(sorted(copies.get(j, j) for j in panel)) for panel in near}
    found = [tuple(sorted(copies.get(j, j) for j in panel.tolist())) for panel in best.panels]
    assert len(found) == len(set(found))
    assert set(found) == kinds
    assert [[part.tolist() for part in some] for some in best.copies] == [[[1], [6], [7]]]
    assert 8 in best.in_none
    assert not {1, 6, 7} & set(best.in_none.tolist())


def test_ties_are_all_listed():
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    x = rng.normal(size=20).repeat(2) + y
    # Columns that hold the same values in other rows of the class fit as well as each other.
    orders = [np.r_[0:20], np.r_[3:20, 0:3], np.r_[7:20, 0:7]]
    X = np.column_stack([x.reshape(20, 2)[order].ravel() for order in orders])
    best = best_panels(X, y, 1, tolerance=0.0, max_seconds=None)
    assert len(best.panels) == 3
    assert_allclose(best.losses, best.losses[0], rtol=1e-9)


@pytest.mark.usefixtures("fitted_at_once")
def test_separable_classes():
    X, y = make_data(seed=1, signal=12.0, p=7)
    losses = all_panels(X, y, 2)
    best = best_panels(X, y, 2, tolerance=0.5, max_seconds=None)
    check(best, losses, lambda least: 1.5 * least)


@pytest.mark.parametrize("unit", [1e-150, 1e150])
def test_units_do_not_matter(unit):
    X, y = make_data(seed=4)
    units = np.ones(9)
    units[[0, 3, 4]] = unit
    plain, scaled = best_panels(X, y, 3, max_seconds=None), best_panels(X * units, y, 3)
    assert [p.tolist() for p in plain.panels] == [p.tolist() for p in scaled.panels]
    assert_allclose(plain.losses, scaled.losses, rtol=1e-9)


@pytest.mark.usefixtures("fitted_at_once")
@pytest.mark.parametrize("n_classes", [2, 3])
def test_more_columns_than_are_listed(n_classes, monkeypatch):
    monkeypatch.setattr("tamis.panel.proof.search.MOST_LISTED", 5)
    monkeypatch.setattr("tamis.panel.proof.nodes.MOST_LISTED", 5)
    X, y = make_data(n_classes, seed=2, n=36, p=13)
    losses = all_panels(X, y, 3)
    best = best_panels(X, y, 3, tolerance=0.05, max_panels=1000, max_seconds=None)
    check(best, losses, lambda least: 1.05 * least)


def test_weight_two_is_the_row_twice():
    X, y = make_data(seed=6)
    weights = np.ones(y.size)
    weights[:10] = 2
    twice = np.r_[np.arange(y.size), np.arange(10)]
    once = best_panels(X, y, 3, sample_weight=weights)
    both = best_panels(X[twice], y[twice], 3)
    assert [p.tolist() for p in once.panels] == [p.tolist() for p in both.panels]
    assert_allclose(once.losses, both.losses, rtol=1e-9)


def test_a_stopped_search_proves_nothing_but_its_bound():
    X, y = make_noise()
    best = best_panels(X, y, 6, max_nodes=1, tolerance=0.0)
    least = best_panels(X, y, 6, max_seconds=None, tolerance=0.0).losses[0]
    assert not best.is_proved
    assert not best.is_complete
    assert best.gap > 0
    assert 0 < best.lower_bound < least <= best.losses[0] * (1 + 1e-9)
    assert best.complete_below == best.lower_bound
    assert best.in_all.size == best.in_none.size == 0


def test_nodes_end_a_search_at_the_same_place_twice():
    X, y = make_noise()
    first, again = (best_panels(X, y, 6, max_nodes=9, tolerance=0.0) for _ in range(2))
    assert not first.is_proved
    assert first.n_nodes + first.n_fitted / 8 < 9 + 128 / 8
    told = [(b.lower_bound, b.losses.tolist(), b.n_nodes, b.n_fitted) for b in (first, again)]
    assert told[0] == told[1]


def test_an_interrupted_look_for_the_first_panel_still_gives_one(monkeypatch):
    X, y = make_noise()
    fit, calls = fits.fit_panels, []

    def interrupt(*arguments):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return fit(*arguments)

    monkeypatch.setattr("tamis.panel.proof.incumbent.fit_panels", interrupt)
    best = best_panels(X, y, 3)
    assert len(best.panels[0]) == 3
    assert (best.lower_bound, best.is_proved, best.is_complete) == (0.0, False, False)


def test_rows_of_one_class_judge_no_panel():
    X, y = make_data()
    model = PanelClassifier(2, head="lda").fit(X, np.array(["ill", "well"])[y])
    for labels, weights in ((["ill"] * 60, None), (np.array(["ill", "well"])[y], 1.0 * (y == 0))):
        with pytest.raises(ValueError, match=r"one class only, 'ill', .* 2 classes. Pass rows"):
            certify(model, X, labels, sample_weight=weights)


def test_no_time_at_all_still_gives_a_panel():
    X, y = make_noise()
    best = best_panels(X, y, 3, max_seconds=0.0)
    assert len(best.panels) == 1
    assert best.lower_bound == 0.0
    assert not best.is_proved
    assert best.in_all.size == best.in_none.size == 0


def test_a_callback_hears_and_stops():
    X, y = make_noise()
    heard = []

    def stop(progress):
        heard.append(progress)
        return True

    best = best_panels(X, y, 6, callbacks=[stop], tolerance=0.0)
    assert len(heard) == 1
    assert heard[0].n_nodes == best.n_nodes
    assert heard[0].lower_bound == best.lower_bound
    assert not best.is_proved


def press_ctrl_c(progress):
    raise KeyboardInterrupt


def test_an_interrupted_search_keeps_what_it_proved():
    X, y = make_noise()
    best = best_panels(X, y, 6, callbacks=[press_ctrl_c], tolerance=0.0)
    least = best_panels(X, y, 6, max_seconds=None, tolerance=0.0).losses[0]
    assert best.is_interrupted
    assert not best.is_proved
    assert 0 < best.lower_bound < least <= best.losses[0] * (1 + 1e-9)
    assert best.gap == pytest.approx(1 - best.lower_bound / best.losses[0])
    assert best.in_all.size == best.in_none.size == 0


def test_a_search_that_came_to_its_end_was_not_interrupted():
    X, y = make_data()
    best = best_panels(X, y, 3, callbacks=[lambda progress: False])
    assert best.is_proved
    assert not best.is_interrupted


@pytest.fixture(scope="module")
def least_of_three():
    X, y = make_data(seed=5, p=10, n=40)
    return X, y, min(all_panels(X, y, 3).values())


@pytest.mark.parametrize("step", ["_take_next", "_process", "_bound", "_divide", "_narrow", "add"])
@pytest.mark.parametrize("turn", [1, 3])
@pytest.mark.parametrize("is_done", [False, True])
def test_ctrl_c_anywhere_in_a_search_claims_only_what_holds(
    step, turn, is_done, least_of_three, monkeypatch
):
    monkeypatch.setattr("tamis.panel.proof.search._MOST_FITTED", 1)
    X, y, least = least_of_three
    plain, calls = getattr(search.Search, step), []

    def interrupt(self, *arguments):
        calls.append(step)
        now = len(calls) == turn
        result = plain(self, *arguments) if is_done or not now else None
        if now:
            raise KeyboardInterrupt
        return result

    monkeypatch.setattr(search.Search, step, interrupt)
    best = best_panels(X, y, 3, max_seconds=None)
    assert best.is_interrupted == (len(calls) >= turn)
    assert best.lower_bound <= least * (1 + 1e-9)
    assert best.losses[0] >= least * (1 - 1e-9)
    assert len(best.panels[0]) == 3
    assert best.is_proved <= (best.losses[0] <= least * (1 + 1e-8))


def test_a_panel_is_judged_by_the_same_fit():
    X, y = make_data(3, seed=9)
    model = PanelClassifier(2, head="lda").fit(X, y)
    columns = np.flatnonzero(model.support_)
    losses = all_panels(X, y, 2)
    certificate = certify(model, X, y, max_seconds=None)
    own, least = panel_loss(X, y, columns), min(losses.values())
    assert_allclose(certificate.loss, own, rtol=1e-9)
    assert_allclose(certificate.lower_bound, least, rtol=2e-9)
    assert_allclose(certificate.gap, (own - least) / own, atol=3e-9)
    assert certificate.is_proved == (certificate.gap == 0.0)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"tolerance": -0.1}, "tolerance must be"),
        ({"max_seconds": -1}, "max_seconds must be"),
        ({"max_nodes": 1.5}, "max_nodes must be"),
        ({"max_panels": 0}, "max_panels must be"),
        ({"alpha": 0}, "alpha must be"),
    ],
)
def test_wrong_options_are_refused(option, message):
    X, y = make_data()
    with pytest.raises(ValueError, match=message):
        best_panels(X, y, 2, **option)


def test_the_table_is_held_once(monkeypatch):
    monkeypatch.setattr("tamis.heads.head._BLOCK_VALUES", 50_000)
    for part in ("duals", "fits"):
        monkeypatch.setattr(f"tamis.panel.proof.{part}._BLOCK", 20_000)
    X, y = make_data(n=20_000, p=40)
    best_panels(X[:100], y[:100], 2)  # what is imported and compiled is no copy
    tracemalloc.start()
    best_panels(X, y, 2, max_nodes=2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.8 * X.nbytes


@pytest.mark.parametrize("form", [csr_array, csc_array, lambda X: X.astype(np.float32)])
def test_other_forms_of_the_table_give_the_same_panels(form):
    X, y = make_data(3)
    X = np.round(X, 1) * (np.abs(X) > 0.5)
    weights = np.arange(y.size) % 4
    plain, other = (
        best_panels(some, y, 2, keep=[4], sample_weight=weights, max_seconds=None)
        for some in (X, form(X))
    )
    assert [p.tolist() for p in plain.panels] == [p.tolist() for p in other.panels]
    assert_allclose(plain.losses, other.losses, rtol=1e-6)


@pytest.mark.parametrize("callbacks", [lambda progress: None, [3]])
def test_callbacks_are_a_list_of_functions(callbacks):
    X, y = make_data()
    with pytest.raises(TypeError, match="callbacks must be"):
        best_panels(X, y, 2, callbacks=callbacks)
    with pytest.raises(TypeError, match="callbacks must be"):
        certify(PanelClassifier(2, head="lda").fit(X, y), X, y, callbacks=callbacks)


def test_only_panels_are_judged_and_by_whole_rows():
    X, y = make_data()
    with pytest.raises(TypeError, match=r"a PanelClassifierCV, got LinearRegression"):
        certify(LinearRegression().fit(X, y), X, y)
    model = PanelClassifier(2, head="lda").fit(X, y)
    with pytest.raises(ValueError, match="each of the 60 samples, got 59"):
        certify(model, X, y[:-1])


@pytest.mark.parametrize("k", [0, 2.5, "2", True, np.nan])
def test_a_wrong_number_of_features_is_refused(k):
    X, y = make_data()
    with pytest.raises(ValueError, match="n_features_to_select must be an integer >= 1"):
        best_panels(X, y, k)


def test_more_features_than_there_are_mean_all():
    X, y = make_data(p=4)
    best = best_panels(X, y, 9)
    assert best.panels[0].tolist() == [0, 1, 2, 3]
    assert best.is_proved
    assert best.n_panels == 1


def test_two_rows_have_a_best_panel():
    best = best_panels([[0.0, 1.0, 2.0], [1.0, 1.0, 5.0]], ["u", "v"], 1)
    assert best.panels[0].tolist() == [0]
    assert best.is_proved


def test_rows_without_weight_are_as_if_left_out():
    X, y = make_data(3)
    away = np.arange(y.size) % 4 == 0
    X[away] *= 1e160
    weights = np.where(away, 0.0, 1.0)
    with_them = best_panels(X, y, 2, sample_weight=weights)
    without = best_panels(X[~away], y[~away], 2)
    assert [p.tolist() for p in with_them.panels] == [p.tolist() for p in without.panels]
    assert_allclose(with_them.losses, without.losses, rtol=1e-9)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("tiny", [1e-300, 1e-30, 1e-15])
def test_rows_of_almost_no_weight_change_nothing_and_warn_of_nothing(tiny):
    X, y = make_data(3)
    few = np.arange(y.size) % 4 == 0
    # Decided weights are neither scaled nor refused.
    nearly, without = (
        best_panels(X, y, 2, sample_weight=decided(np.where(few, w, 1.0))) for w in (tiny, 0.0)
    )
    assert nearly.is_proved
    assert [p.tolist() for p in nearly.panels] == [p.tolist() for p in without.panels]
    assert_allclose(nearly.losses, without.losses, rtol=1e-9)


@pytest.mark.usefixtures("fitted_at_once")
@pytest.mark.parametrize("seed", range(6))
def test_limits_with_weights_copies_and_constants_against_brute_force(seed):
    """Whole and stopped searches, with at most so many of each group and a kept feature."""
    rng = np.random.default_rng(seed)
    n_classes, most, k = 2 + seed % 3, 1 + seed % 2, 2 + seed % 2
    X, y = make_data(n_classes, seed=seed, n=36, p=7)
    X[:, 6], X[:, 5] = -2.0 * X[:, 0], 3.0
    label = np.array([0, 0, 1, 1, 2, 2, 0])
    weights = rng.integers(0, 3, size=y.size)
    weights[:n_classes] = 1
    weighed = weights * (1.0 + y)
    weighed *= weights.sum() / weighed.sum()
    losses = {}
    for some in combinations([0, 1, 3, 4, 6], k):
        if np.bincount(label[[*some, 2]]).max() <= most:
            losses[some] = panel_loss(X, y, (*some, 2), weighed, class_weight=None)
    least = min(losses.values())
    options = {
        "feature_groups": label.tolist(),
        "max_per_group": most,
        "keep": [2],
        "sample_weight": weights,
        "class_weight": {c: 1.0 + c for c in range(n_classes)},
    }
    best = best_panels(X, y, k, **options)
    assert best.is_proved
    assert_allclose(best.losses[0], least, rtol=1e-9)
    assert best.n_panels == len(losses)
    for n_nodes in range(4):
        stopped = best_panels(X, y, k, max_nodes=n_nodes, **options)
        assert stopped.lower_bound <= least * (1 + 1e-9)
        assert stopped.losses[0] >= least * (1 - 1e-9)
