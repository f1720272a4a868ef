"""`DaskPanelClassifier`: panels of data on a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import BaseCrossValidator

from tamis.dask.base import DaskClassifier
from tamis.dask.blocks import DaskBlocks
from tamis.panel import PanelClassifier
from tamis.panel.chunks import train_passes


class DaskPanelClassifier(DaskClassifier[PanelClassifier]):
    """`PanelClassifier` for Dask arrays (dense or sparse blocks) and dataframes.

    The result is that of `PanelClassifier.fit_chunks` on the same rows: all rows screen the
    features and train the head, and a sample of at most 10,000 distinct rows, which comes here,
    chooses the features and the head. Two passes over the blocks find the sample (about six with
    selection="medians"), and one gathers the selected columns, if they fit into `max_bytes`;
    otherwise the head takes one to five. Blocks that are expensive to make should be persisted.

    Parameters
    ----------
    n_features_to_select, selection, head, alpha, n_screened, feature_groups, max_per_group, \
keep, feature_costs, class_weight, cv, max_seconds, random_state
        As for `PanelClassifier`.
    max_bytes : float, default=2e8
        Memory here for the sample and for the selected columns of all rows; with
        selection="medians" also for counts of digits, on each worker.
    client : distributed.Client or None, default=None
        Where to compute; None: the current client, or Dask's default scheduler.
    worker_timeout : float, default=60.0
        If a cluster has no workers for this many seconds, `fit` raises an error.

    Attributes
    ----------
    model_ : PanelClassifier
        The classifier, which is also returned by `to_local`.
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import load_breast_cancer
    >>> from tamis.dask import DaskPanelClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X, y = da.from_array(X, chunks=(100, -1)), da.from_array(y, chunks=100)
    >>> model = DaskPanelClassifier(3).fit(X, y)
    >>> model.to_local().get_support(indices=True).tolist()
    [20, 21, 27]
    >>> model.predict(X)[:3].compute().tolist()
    [0, 0, 0]
    """

    def __init__(
        self,
        n_features_to_select: int | float | None = 5,
        *,
        selection: str = "auto",
        head: str = "auto",
        alpha: float = 30.0,
        n_screened: int = 100,
        feature_groups: ArrayLike | Mapping[str, Any] | None = None,
        max_per_group: int | None = None,
        keep: ArrayLike | None = None,
        feature_costs: ArrayLike | None = None,
        class_weight: str | Mapping[Any, float] | None = "balanced",
        cv: int | BaseCrossValidator | Iterable = 5,
        max_seconds: float | None = 10.0,
        random_state: int | np.random.RandomState | None = 0,
        max_bytes: float = 2e8,
        client: Any = None,
        worker_timeout: float = 60.0,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.selection = selection
        self.head = head
        self.alpha = alpha
        self.n_screened = n_screened
        self.feature_groups = feature_groups
        self.max_per_group = max_per_group
        self.keep = keep
        self.feature_costs = feature_costs
        self.class_weight = class_weight
        self.cv = cv
        self.max_seconds = max_seconds
        self.random_state = random_state
        self.max_bytes = max_bytes
        self.client = client
        self.worker_timeout = worker_timeout

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, classes: ArrayLike | None = None
    ) -> DaskPanelClassifier:
        """Select the features and train the head.

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
        self : DaskPanelClassifier
        """
        model = self._make_local(PanelClassifier)
        passes = DaskBlocks(X, y, sample_weight, self.client, self.worker_timeout)
        train_passes(model, passes, classes, self.max_bytes)
        self._keep_model(model)
        return self
