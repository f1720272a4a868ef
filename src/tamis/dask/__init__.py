"""Training on the chunks of Dask: each chunk is summarised where it is, summaries are merged."""

from tamis.dask.centers import DaskSparseCenterClassifier
from tamis.dask.panel import DaskPanelClassifier
from tamis.dask.primal_dual import DaskPrimalDualClassifier

__all__ = ["DaskPanelClassifier", "DaskPrimalDualClassifier", "DaskSparseCenterClassifier"]
