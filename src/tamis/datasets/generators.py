"""Generated data on which the right questions, and their order, are known."""

import numpy as np
from sklearn.utils import Bunch, check_random_state

__all__ = ["make_context", "make_cube", "make_xor"]

_N_CORNERS = 8
_N_AXES = 3


def make_cube(
    n_samples: int = 1000,
    n_features: int = 20,
    *,
    sigma: float = 0.1,
    random_state: int | np.random.RandomState | None = None,
) -> Bunch:
    r"""Draw samples whose relevant features depend on their class.

    Each of the eight classes is a corner of the unit cube. Class k shows the three coordinates
    of its corner, with Gaussian noise, at features k, k + 1 and k + 2 only; everything else is
    uniform noise between 0 and 1:

    .. math:: x_{k+i} \sim N(b_i(k), \sigma^2), \quad i = 0, 1, 2, \qquad
              x_j \sim U(0, 1) \quad \text{elsewhere}

    with :math:`b_0 b_1 b_2` the binary digits of k. Ten features carry information, yet three are
    enough for a given sample once one knows which: a global choice needs about all ten. With all
    of them and known densities, 97 of 100 samples are classified correctly at sigma = 0.1.

    Parameters
    ----------
    n_samples : int, default=1000
    n_features : int, default=20
        At least 10; those after the tenth are noise for every class.
    sigma : float, default=0.1
        Standard deviation of the noise at a corner.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    data : Bunch
        `data`: float64 array (n_samples, n_features); `target`: the corner, 0 to 7, all as
        likely; `relevant`: bool array (n_samples, n_features), the three features of each sample
        that its class governs.

    See Also
    --------
    make_context : The best policy asks two features and is known exactly.

    References
    ----------
    T. Rückstieß, C. Osendorfer, P. van der Smagt, "Sequential feature selection for
    classification", Australasian AI 2011, has a task of this kind.

    Examples
    --------
    >>> from tamis.datasets import make_cube
    >>> cube = make_cube(3, sigma=0.0, random_state=0)
    >>> cube.target
    array([4, 7, 5])
    >>> cube.data[0, cube.relevant[0]]
    array([1., 0., 0.])
    """
    lowest = _N_CORNERS + _N_AXES - 1
    _check_count("n_samples", n_samples, 1)
    _check_count("n_features", n_features, lowest)
    if not 0 <= sigma < np.inf:
        raise ValueError(f"sigma must be >= 0 and finite, got {sigma}.")
    random = check_random_state(random_state)
    corner = random.randint(_N_CORNERS, size=n_samples)
    X = random.uniform(size=(n_samples, n_features))
    columns = corner[:, None] + np.arange(_N_AXES)
    digits = corner[:, None] >> np.arange(_N_AXES)[::-1] & 1
    relevant = np.zeros(X.shape, dtype=bool)
    np.put_along_axis(relevant, columns, True, axis=1)
    np.put_along_axis(X, columns, digits + sigma * random.normal(size=digits.shape), axis=1)
    return Bunch(data=X, target=corner, relevant=relevant)


def make_context(
    n_samples: int = 1000,
    n_branches: int = 2,
    *,
    n_noise: int = 0,
    flip: float = 0.0,
    random_state: int | np.random.RandomState | None = None,
) -> Bunch:
    r"""Draw samples where a feature that is uninformative alone says which other one decides.

    Feature 0, the context, is a number c from 0 to B - 1, independent of the class. Features 1
    to B are fair bits, and the class is the bit that the context points at, :math:`y =
    x_{1 + c}`, flipped with probability `flip`. All other features are fair bits of noise.

    Parameters
    ----------
    n_samples : int, default=1000
    n_branches : int, default=2
        Number B >= 2 of features of which one decides.
    n_noise : int, default=0
        Number of noise features, after the others.
    flip : float, default=0.0
        Probability :math:`0 \le p < 1/2` that a label is wrong.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    data : Bunch
        `data`: float64 array (n_samples, 1 + n_branches + n_noise); `target`: 0 or 1, as likely;
        `relevant`: bool array of the shape of `data`, the context and the feature it points at.

    Notes
    -----
    With equal costs and a cost weight :math:`\lambda` the best policy is one of three, of risks

    .. math:: \tfrac12, \qquad \lambda + p + (1 - 2p)\,\frac{B - 1}{2B}, \qquad 2\lambda + p

    (ask nothing; ask one bit and trust it; ask the context, then the bit it points at), because
    any other first question, or a third one, only adds to the cost. The third is the best whenever
    :math:`\lambda < (1 - 2p)/4`. A fixed set of features needs all B + 1 to be as
    accurate. A policy that looks one step ahead never asks the context, which gains nothing by
    itself, nor a second bit, which gains nothing on average: it stops after one.

    Examples
    --------
    >>> from tamis.datasets import make_context
    >>> context = make_context(2, n_branches=3, random_state=0)
    >>> context.data
    array([[0., 0., 1., 1.],
           [1., 1., 1., 1.]])
    """
    _check_count("n_samples", n_samples, 1)
    _check_count("n_branches", n_branches, 2)
    _check_count("n_noise", n_noise, 0)
    _check_flip(flip)
    random = check_random_state(random_state)
    context = random.randint(n_branches, size=n_samples)
    bits = random.randint(2, size=(n_samples, n_branches + n_noise))
    rows = np.arange(n_samples)
    relevant = np.zeros((n_samples, 1 + n_branches + n_noise), dtype=bool)
    relevant[:, 0] = relevant[rows, 1 + context] = True
    target = bits[rows, context] ^ (random.uniform(size=n_samples) < flip)
    X = np.column_stack([context, bits]).astype(np.float64)
    return Bunch(data=X, target=target, relevant=relevant)


def make_xor(
    n_samples: int = 1000,
    n_bits: int = 2,
    *,
    n_noise: int = 0,
    flip: float = 0.0,
    random_state: int | np.random.RandomState | None = None,
) -> Bunch:
    r"""Draw samples whose class is the parity of a few bits.

    The first `n_bits` features are fair bits, and the class is whether their sum is odd, flipped
    with probability `flip`; the other features are fair bits of noise. Any proper subset of the
    bits carries no information about the class.

    Parameters
    ----------
    n_samples : int, default=1000
    n_bits : int, default=2
        Number r >= 1 of features that decide together.
    n_noise : int, default=0
        Number of noise features, after the others.
    flip : float, default=0.0
        Probability :math:`0 \le p < 1/2` that a label is wrong.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    data : Bunch
        `data`: float64 array (n_samples, n_bits + n_noise); `target`: 0 or 1, as likely;
        `relevant`: bool array of the shape of `data`, the first `n_bits` columns.

    Notes
    -----
    With equal costs and a cost weight :math:`\lambda` the best policy asks all r bits, in any
    order, or nothing at all: its risk is :math:`\min(1/2,\; r\lambda + p)`. A policy that looks
    fewer than r steps ahead asks nothing.

    Examples
    --------
    >>> from tamis.datasets import make_xor
    >>> xor = make_xor(4, random_state=0)
    >>> xor.data.astype(int).tolist(), xor.target.tolist()
    ([[0, 1], [1, 0], [1, 1], [1, 1]], [1, 1, 0, 0])
    """
    _check_count("n_samples", n_samples, 1)
    _check_count("n_bits", n_bits, 1)
    _check_count("n_noise", n_noise, 0)
    _check_flip(flip)
    random = check_random_state(random_state)
    bits = random.randint(2, size=(n_samples, n_bits + n_noise))
    target = bits[:, :n_bits].sum(axis=1) % 2 ^ (random.uniform(size=n_samples) < flip)
    relevant = np.tile(np.arange(n_bits + n_noise) < n_bits, (n_samples, 1))
    return Bunch(data=bits.astype(np.float64), target=target, relevant=relevant)


def _check_count(name, value, lowest):
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < lowest:
        raise ValueError(f"{name} must be an integer >= {lowest}, got {value!r}.")


def _check_flip(flip):
    if not 0 <= flip < 0.5:
        raise ValueError(f"flip must be >= 0 and < 0.5, got {flip}.")
