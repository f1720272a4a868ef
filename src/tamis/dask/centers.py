"""`DaskSparseCenterClassifier`: sparse centers of data on a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import ArrayLike

from tamis.centers import SparseCenterClassifier
from tamis.centers.chunks import train_passes
from tamis.dask.base import DaskClassifier
from tamis.dask.blocks import DaskBlocks


class DaskSparseCenterClassifier(DaskClassifier[SparseCenterClassifier]):
    """`SparseCenterClassifier` for Dask arrays (dense or sparse blocks) and dataframes.

    Every block of rows is summarised where it is, and summaries are merged in a fixed tree: the
    result has the same bits whatever worker does what, and when. Means need one pass over the
    blocks; medians need about five for 32-bit and eight for 64-bit numbers, and more if the counts
    of all features do not fit into `max_bytes`, so blocks that are expensive to make should be
    persisted. A worker that is lost costs its blocks' summaries, which Dask makes again.

    Parameters
    ----------
    n_features_to_select, metric, scaling, priors, feature_groups, keep
        As for `SparseCenterClassifier`.
    max_bytes : float, default=2e8
        With metric="l1": memory for counts of digits, on each worker.
    client : distributed.Client or None, default=None
        Where to compute; None: the current client, or Dask's default scheduler.
    worker_timeout : float, default=60.0
        If a cluster has no workers for this many seconds, `fit` raises an error.

    Attributes
    ----------
    model_ : SparseCenterClassifier
        The classifier, which is also returned by `to_local`.
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import load_breast_cancer
    >>> from tamis.dask import DaskSparseCenterClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X, y = da.from_array(X, chunks=(100, -1)), da.from_array(y, chunks=100)
    >>> model = DaskSparseCenterClassifier(3, metric="l1").fit(X, y)
    >>> model.predict(X)[:3].compute().tolist()
    [0, 0, 0]
    """

    def __init__(
        self,
        n_features_to_select: int | float | None = 10,
        *,
        metric: str = "l2",
        scaling: str | None = "spread",
        priors: str | ArrayLike = "uniform",
        feature_groups: ArrayLike | Mapping[str, Any] | None = None,
        keep: ArrayLike | None = None,
        max_bytes: float = 2e8,
        client: Any = None,
        worker_timeout: float = 60.0,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.metric = metric
        self.scaling = scaling
        self.priors = priors
        self.feature_groups = feature_groups
        self.keep = keep
        self.max_bytes = max_bytes
        self.client = client
        self.worker_timeout = worker_timeout

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, classes: ArrayLike | None = None
    ) -> DaskSparseCenterClassifier:
        """Train.

        Parameters
        ----------
        X : Dask array or dataframe of shape (n_samples, n_features)
            All columns in one chunk; numbers of rows may be unknown.
        y : Dask array or series of shape (n_samples,)
            With the same blocks of rows.
        sample_weight : Dask array or series of shape (n_samples,), default=None
        classes : array-like of shape (n_classes,), default=None
            All classes; None: those that occur.

        Returns
        -------
        self : DaskSparseCenterClassifier
        """
        model = self._make_local(SparseCenterClassifier)
        passes = DaskBlocks(X, y, sample_weight, self.client, self.worker_timeout)
        train_passes(model, passes, classes, self.max_bytes)
        self._keep_model(model)
        return self
