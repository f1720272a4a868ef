"""`DaskPrimalDualClassifier`: primal-dual classifiers of data on a cluster."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from tamis.dask.base import DaskClassifier
from tamis.dask.blocks import DaskBlocks
from tamis.primal_dual import PrimalDualClassifier
from tamis.primal_dual.partitioned import train_passes


class DaskPrimalDualClassifier(DaskClassifier[PrimalDualClassifier]):
    """`PrimalDualClassifier` for Dask arrays (dense or sparse blocks) and dataframes.

    The result is that of `PrimalDualClassifier` on all rows, to the gap, which is certified on all
    rows. One pass over the blocks finds the standardization. Then the columns of the most
    promising features are gathered here, the problem is solved for these, and one pass over all
    columns certifies the result or shows which features are missing: usually three to seven passes
    in all. If the columns do not fit into `max_bytes`, they are kept on the workers instead, and
    each iteration is a pass over them.

    Parameters
    ----------
    radius, ball, loss, huber_delta, rho, adaptive_centers, standardize, feature_weights, \
class_weight, head, tol, max_iter
        As for `PrimalDualClassifier`. ``loss="l1"`` needs the columns in use within `max_bytes`,
        and so do the heads "lda" and "logistic"; if they do not fit, an error is raised.
    max_bytes : float, default=1e9
        Memory here for gathered columns.
    client : distributed.Client or None, default=None
        Where to compute; None: the current client, or Dask's default scheduler.
    worker_timeout : float, default=60.0
        If a cluster has no workers for this many seconds, `fit` raises an error.

    Attributes
    ----------
    model_ : PrimalDualClassifier
        The classifier, which is also returned by `to_local`; it has no `dual_`, which is of the
        size of the data.
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import load_breast_cancer
    >>> from tamis.dask import DaskPrimalDualClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X, y = da.from_array(X, chunks=(100, -1)), da.from_array(y, chunks=100)
    >>> model = DaskPrimalDualClassifier(radius=0.5).fit(X, y)
    >>> model.to_local().relative_gap_ <= 1e-4
    True
    >>> model.predict(X)[:3].compute().tolist()
    [0, 0, 0]
    """

    def __init__(
        self,
        radius: float = 1.0,
        *,
        ball: str = "l1",
        loss: str = "huber",
        huber_delta: float = 0.25,
        rho: float | str = "auto",
        adaptive_centers: bool = True,
        standardize: bool = True,
        feature_weights: ArrayLike | None = None,
        class_weight: str | dict | None = "balanced",
        head: str = "auto",
        tol: float = 1e-4,
        max_iter: int | None = None,
        max_bytes: float = 1e9,
        client: Any = None,
        worker_timeout: float = 60.0,
    ) -> None:
        self.radius = radius
        self.ball = ball
        self.loss = loss
        self.huber_delta = huber_delta
        self.rho = rho
        self.adaptive_centers = adaptive_centers
        self.standardize = standardize
        self.feature_weights = feature_weights
        self.class_weight = class_weight
        self.head = head
        self.tol = tol
        self.max_iter = max_iter
        self.max_bytes = max_bytes
        self.client = client
        self.worker_timeout = worker_timeout

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> DaskPrimalDualClassifier:
        """Find the projection and the centers, and train the head on the selected features.

        Parameters
        ----------
        X : Dask array or dataframe of shape (n_samples, n_features)
            All columns in one chunk; numbers of rows may be unknown.
        y : Dask array or series of shape (n_samples,)
            With the same blocks of rows.
        sample_weight : Dask array or series of shape (n_samples,), default=None

        Returns
        -------
        self : DaskPrimalDualClassifier
        """
        model = self._make_local(PrimalDualClassifier)
        passes = DaskBlocks(X, y, sample_weight, self.client, self.worker_timeout)
        train_passes(model, passes, self.max_bytes)
        self._keep_model(model)
        return self
