"""Training on Spark DataFrames: each partition is summarised where it is, summaries are merged."""

from tamis.spark.centers import SparkSparseCenterClassifier

__all__ = ["SparkSparseCenterClassifier"]
