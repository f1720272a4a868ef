"""Training on Spark DataFrames: each partition is summarised where it is, summaries are merged."""

from tamis.spark.centers import SparkSparseCenterClassifier
from tamis.spark.panel import SparkPanelClassifier
from tamis.spark.primal_dual import SparkPrimalDualClassifier

__all__ = ["SparkPanelClassifier", "SparkPrimalDualClassifier", "SparkSparseCenterClassifier"]
