"""DatumWiseClassifier: asks for features one at a time, and stops when the answer is clear."""

from sklearn.base import clone

from tamis._base import steps, with_callbacks
from tamis.datumwise._fitted import FittedDatumWise
from tamis.datumwise.learners import DEFAULT_LEARNER, check_learner
from tamis.datumwise.process import check_cost_weights
from tamis.paths.seeds import as_seed

__all__ = ["DatumWiseClassifier"]


class DatumWiseClassifier(FittedDatumWise):
    r"""Classifier that asks for features one at a time, different ones for every sample.

    .. math:: \min_\pi \frac1N \sum_i \ell_{y_i} [\hat y_\pi(x_i) \ne y_i]
              + \lambda \sum_{j \in z_\pi(x_i)} c_j

    A policy either buys one more feature (or group of features) or names a class and stops. It is
    learned to make few errors at a low price [1]_: easy samples are asked little, hard ones more.

    Parameters
    ----------
    learner : {"forest", "linear"}, default="forest"
        How the policy is learned. "forest" grows a forest for each of many sets of features and
        finds the best way through them by backward induction on out-of-fold losses. "linear" is
        the method of [1]_: linear scores of all actions by policy iteration with rollouts; it is
        quick and small.
    cost_weight : float, default=0.01
        :math:`\lambda \ge 0`: what a unit of price costs, in errors. The larger, the fewer
        questions.
    feature_costs : array-like, dict or None, default=None
        Price :math:`c_j \ge 0` of every feature, or of every group where there are groups; a dict
        goes by name. None: 1 each.
    feature_groups : dict, list of lists, array-like or None, default=None
        Features that are bought together, for one price: a dict from names to features (names or
        indices), a list of such lists, or one label for every feature. Every feature is in one
        group.
    order : {"free", "fixed"}, default="free"
        "fixed" asks all samples in the same order (they stop at different times), which overfits
        less: the constrained model of [1]_.
    max_features : int or None, default=None
        Most questions for a sample; a group is one question. 0 asks nothing and predicts the
        prior.
    max_cost : float or None, default=None
        Largest sum of prices for a sample. Sums are exact: prices of 0.1, 0.2 and 0.3 fit 0.6.
    class_weight : {"balanced"}, dict or None, default=None
        Loss :math:`\ell_c` of a wrong label for a sample of each class. None: 1 each. "balanced"
        gives all classes the same say.
    n_iterations : int or None, default=None
        Policy iterations; None: 10. With "linear" only.
    n_states : int or None, default=None
        States sampled in every iteration; None: 2000. With "linear" only.
    mixture : float or None, default=None
        Largest share that earlier scores keep in an update, 0 to 1; None: 0.9, which makes the
        scores the mean over the first ten iterations. With "linear" only.
    n_trees : int or None, default=None
        Trees of a forest; None: 100 to 300, the fewer the more rows there are. With "forest"
        only.
    n_sets : int or None, default=None
        About how many sets of features have forests (a chain of sets, from none to all
        candidates, always has); None: 30 to 100, the more the more rows there are. With "forest"
        only.
    n_candidates : int or None, default=None
        With more features (or groups) than this, only so many are ever asked for: those that
        separate the classes best by themselves or in a ridge regression ("linear"; None: 200), or
        that a forest on all features uses most ("forest"; None: 100).
    random_state : int, RandomState instance or None, default=None
        Seed of trees and folds, or of the sampled states.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    policy_ : ForestPolicy or LinearPolicy
        What was learned, as arrays and numbers.
    process_ : Process
        Prices, groups, budgets and losses.
    mean_n_features_ : float
        Mean number of questions on the training rows, a group being one.
    mean_cost_, risk_ : float
        Mean price, and mean loss plus `cost_weight` times mean price, on the training rows: too
        optimistic as an estimate.
    n_features_in_, feature_names_in_
        Features seen in `fit`, and their names where these are strings.

    Notes
    -----
    NaN, in `fit` and in `predict`, is a value that cannot be had: it is never asked for, and an
    answer is given all the same. A feature without any value in `fit` is never asked for.

    The forest learner moves among sets of features. Values that are known for free are used as
    soon as the sets on its way contain them; what is always known had better have the price 0,
    which puts it first. Some moves ask for several features: the probabilities change when all of
    them are answered. Of more than 10,000 rows it learns from a sample of 10,000.

    References
    ----------
    .. [1] Dulac-Arnold, Denoyer, Preux and Gallinari, "Datum-wise classification: a sequential
       approach to sparsity", ECML PKDD 2011.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from tamis import DatumWiseClassifier
    >>> data = load_breast_cancer(as_frame=True)
    >>> train, test = data.data[::2], data.data[1::2]
    >>> model = DatumWiseClassifier(cost_weight=0.01, random_state=0).fit(train, data.target[::2])
    >>> acquired = model.acquire(test)
    >>> acquired.n_questions.mean() < 5  # of 30
    np.True_
    >>> model.score(test, data.target[1::2]) > 0.9
    True
    """

    def __init__(
        self,
        learner=DEFAULT_LEARNER,
        cost_weight=0.01,
        *,
        feature_costs=None,
        feature_groups=None,
        order="free",
        max_features=None,
        max_cost=None,
        class_weight=None,
        n_iterations=None,
        n_states=None,
        mixture=None,
        n_trees=None,
        n_sets=None,
        n_candidates=None,
        random_state=None,
    ):
        self.learner = learner
        self.cost_weight = cost_weight
        self.feature_costs = feature_costs
        self.feature_groups = feature_groups
        self.order = order
        self.max_features = max_features
        self.max_cost = max_cost
        self.class_weight = class_weight
        self.n_iterations = n_iterations
        self.n_states = n_states
        self.mixture = mixture
        self.n_trees = n_trees
        self.n_sets = n_sets
        self.n_candidates = n_candidates
        self.random_state = random_state

    @with_callbacks
    def fit(self, X, y):
        """Learn what to ask, and when to stop.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training samples; NaN cannot be had.
        y : array-like of shape (n_samples,)
            Labels of any type, two classes or more.

        Returns
        -------
        self : DatumWiseClassifier
        """
        learn, options = check_learner(self)
        X, codes = self._validate(X, y)
        process = self._make_process(codes, self.cost_weight)
        (policy,) = learn(
            X,
            codes,
            process,
            [process.cost_weight],
            **options,
            random_state=as_seed(self.random_state),
            steps=lambda names: steps(self, names, X=X, y=y),
        )
        self._keep(policy, process, X, codes)
        return self

    def fit_path(self, X, y, cost_weights):
        """Classifiers for many cost weights, for little more than the price of one.

        The forests are the same for all of them; a linear policy is learned starting from the one
        before. So each need not be the same as that of `fit`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training samples; NaN cannot be had.
        y : array-like of shape (n_samples,)
            Labels of any type, two classes or more.
        cost_weights : array-like of float
            Cost weights; the order does not matter.

        Returns
        -------
        classifiers : list of DatumWiseClassifier
            Fitted, from the largest cost weight to the smallest. This one stays as it is.
        """
        weights = check_cost_weights(cost_weights)
        learn, options = check_learner(self)
        first = clone(self)
        X, codes = first._validate(X, y)
        processes = [first._make_process(codes, weight) for weight in weights]
        seed = as_seed(self.random_state)
        policies = learn(X, codes, processes[0], weights, **options, random_state=seed)
        classifiers = []
        for weight, process, policy in zip(weights, processes, policies, strict=True):
            one = clone(self).set_params(cost_weight=weight)
            for name in ("classes_", "n_features_in_", "feature_names_in_"):
                if hasattr(first, name):
                    setattr(one, name, getattr(first, name))
            one._keep(policy, process, X, codes)
            classifiers.append(one)
        return classifiers
