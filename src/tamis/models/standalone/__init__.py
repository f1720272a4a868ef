"""Predict from the record of a model with the standard library only, one row at a time.

`tamis export --to python` writes these modules, and the record, as one file. Formulas and names
are those of docs/model_format.md.
"""

from tamis.models.standalone.predicting import load, predict, predict_proba

__all__ = ["load", "predict", "predict_proba"]
