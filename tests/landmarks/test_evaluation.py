"""The tree of shared work gives what one configuration at a time gives."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.metrics import balanced_accuracy_score

from tamis.landmarks.choose import SAMPLERS
from tamis.landmarks.evaluation import FoldData, balanced_errors, evaluate_branch, list_branches
from tamis.landmarks.space import Configuration, check_space, list_configurations
from tests.landmarks.nasty import DATA
from tests.oracles.landmarks import Oracle
from tests.quick import smaller

slow = pytest.mark.slow
SPACE = list_configurations(check_space("paper", False))


def make_folds(n):
    order = np.random.default_rng(0).permutation(n)
    return [(np.setdiff1d(order, order[f::3]), np.sort(order[f::3])) for f in range(3)]


def evaluate(X, y, configurations, class_weight=None, soft=False):
    splits = make_folds(y.size)
    seeds = np.arange(12).reshape(3, 4)
    labels = np.empty((len(configurations), y.size), dtype=int)
    shares = np.empty((len(configurations), y.size, y.max() + 1))
    for branch in list_branches(configurations):
        done = [
            evaluate_branch(
                branch, FoldData(X, y, y.max() + 1, *split, seeds[f], class_weight), soft
            )
            for f, split in enumerate(splits)
        ]
        labels[list(branch.places)] = np.concatenate([found for found, _ in done], axis=1)
        if soft:
            shares[list(branch.places)] = np.concatenate([share for _, share in done], axis=1)
    return labels, shares


def make_oracle(X, y):
    seeds = [{name: 4 * f + s for s, name in enumerate(SAMPLERS)} for f in range(3)]
    return Oracle(X, y, make_folds(y.size), seeds)


# Some of the configurations on each data set; all of them on all when slow tests run.
@pytest.mark.parametrize("every", smaller(45, 1))
@pytest.mark.parametrize("name", DATA)
def test_every_configuration_of_the_paper_predicts_what_the_oracle_predicts(name, every):
    X, y = DATA[name]()
    some = SPACE[list(DATA).index(name) % every :: every]
    labels, _ = evaluate(X, y, some)
    oracle = make_oracle(X, y)
    wrong = [
        c for c, found in zip(some, labels, strict=True) if (oracle.predict(c) != found).any()
    ]
    assert wrong == []


@pytest.mark.parametrize("name", DATA)
def test_class_weights_act_on_priors_and_votes_as_in_the_oracle(name):
    X, y = DATA[name]()
    some = [c for c in SPACE if c.kernel == "cauchy" and c.n_landmarks in (4, 16)]
    weight = np.array([1.0, 3.0, 0.5])[: y.max() + 1]
    labels, _ = evaluate(X, y, some, weight)
    oracle = make_oracle(X, y)
    for c, found in zip(some, labels, strict=True):
        assert_array_equal(found, oracle.predict(c, weight), err_msg=str(c))


@pytest.mark.parametrize("name", DATA)
def test_sparse_rows_are_evaluated_like_dense_ones(name):
    X, y = DATA[name]()
    some = [c for c in SPACE if c.n_landmarks in (8, 64) and c.kernel != "sigmoid"]
    assert_array_equal(evaluate(sparse.csr_array(X), y, some)[0], evaluate(X, y, some)[0])


def test_some_configurations_give_what_all_of_them_give():
    X, y = DATA["rare_class"]()
    everything, _ = evaluate(X, y, SPACE)
    chosen = np.random.default_rng(0).choice(len(SPACE), 60, replace=False)
    some, _ = evaluate(X, y, [SPACE[i] for i in chosen])
    assert_array_equal(some, everything[chosen])


def test_probabilities_have_their_largest_entry_at_the_label():
    X, y = DATA["rare_class"]()
    some = [c for c in SPACE if c.n_landmarks == 8]
    labels, shares = evaluate(X, y, some, "balanced", soft=True)
    assert_array_equal(shares.argmax(axis=2), labels)
    assert_allclose(shares.sum(axis=2), 1.0, rtol=1e-6)


def test_balanced_errors_are_one_minus_balanced_accuracy():
    rng = np.random.default_rng(0)
    truth, labels = rng.integers(0, 4, 50), rng.integers(0, 4, (7, 50))
    expected = [1 - balanced_accuracy_score(truth, row) for row in labels]
    assert_allclose(balanced_errors(labels, truth, np.ones(5)), expected)


def test_a_branch_says_what_its_configurations_share():
    some = [Configuration(scaling="standard", per_class=True), Configuration()]
    names = [str(branch) for branch in list_branches(some)]
    assert names == ["fft, euclidean, per class, standard", "fft, euclidean"]
