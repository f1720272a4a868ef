"""Shared by all estimators, one subject per module."""

from tamis._base.callbacks import TamisEstimator, steps, with_callbacks
from tamis._base.decisions import DecisionMixin, adjust, softmax
from tamis._base.devices import check_device, like_input, send_to_device
from tamis._base.explanation import Explanation
from tamis._base.feature_groups import find_feature, name_some, read_groups
from tamis._base.frames import make_frame
from tamis._base.input import (
    LARGEST_INTEGER,
    FeatureSelectorMixin,
    count_classes,
    decode_labels,
    encode_labels,
    large_columns,
    refuse_collections,
    require_class_weights,
    require_two_classes,
    require_unmasked,
    validate,
)
from tamis._base.order import largest, order_by_score, resolve_n_features
from tamis._base.record_mixin import RECORD_VERSION, RecordMixin, check_version
from tamis._base.records import Record, plain
from tamis._base.weights import (
    WeightSummary,
    check_class_weight,
    check_finite,
    check_part_weights,
    check_weights,
    decided,
    is_real,
    read_weights,
    weighted_median,
)

__all__ = [
    "LARGEST_INTEGER",
    "RECORD_VERSION",
    "DecisionMixin",
    "Explanation",
    "FeatureSelectorMixin",
    "Record",
    "RecordMixin",
    "TamisEstimator",
    "WeightSummary",
    "adjust",
    "check_class_weight",
    "check_device",
    "check_finite",
    "check_part_weights",
    "check_version",
    "check_weights",
    "count_classes",
    "decided",
    "decode_labels",
    "encode_labels",
    "find_feature",
    "is_real",
    "large_columns",
    "largest",
    "like_input",
    "make_frame",
    "name_some",
    "order_by_score",
    "plain",
    "read_groups",
    "read_weights",
    "refuse_collections",
    "require_class_weights",
    "require_two_classes",
    "require_unmasked",
    "resolve_n_features",
    "send_to_device",
    "softmax",
    "steps",
    "validate",
    "weighted_median",
    "with_callbacks",
]
