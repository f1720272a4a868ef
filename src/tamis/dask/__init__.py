"""Training on the chunks of Dask: each chunk is summarised where it is, summaries are merged."""

from tamis.dask.centers import DaskSparseCenterClassifier

__all__ = ["DaskSparseCenterClassifier"]
