"""Records of panels: plain values that come back bit by bit, and every wrong one is named."""

import copy
import json
import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tamis import PanelClassifier
from tamis.models import PrivacyWarning, holds_training_rows, save_model
from tamis.models.saving import read_model
from tamis.tables import InputError
from tests.models.families import assert_same, data, fitted

NAMES = ("panel lda", "panel logistic", "panel kernel", "panel cv")


@pytest.mark.parametrize("name", NAMES)
def test_a_record_is_plain_and_comes_back(name):
    model = fitted(name)
    record = json.loads(json.dumps(model.to_record()))
    again = type(model).from_record(record)
    assert_same(again, model)
    assert_array_equal(again.predict_proba(data()[0]), model.predict_proba(data()[0]))


@pytest.mark.parametrize(
    ("name", "key", "value", "message"),
    [
        ("panel lda", "version", 2, "newer"),
        ("panel lda", "version", "1", "version must be an integer"),
        ("panel lda", "head", "svm", "head must be one of"),
        ("panel lda", "parameters", {"depth": 3}, "parameters must be those"),
        ("panel lda", "coef", [[1.0, 2.0]], r"coef must be numbers of shape \(3, 3\)"),
        ("panel lda", "coef", [[1.0], [1.0, 2.0]], "coef must be numbers"),
        ("panel lda", "coef", "no", "coef must be numbers"),
        ("panel lda", "intercept", [0.0, float("nan"), 0.0], "intercept must be finite"),
        ("panel lda", "intercept", ["a", "b", "c"], "intercept must be numbers"),
        ("panel lda", "temperature", 0.0, "temperature must be positive"),
        ("panel lda", "temperature", True, "temperature must be a finite number"),
        ("panel lda", "features", [2, 1, 0], "features must be ascending"),
        ("panel lda", "features", [0, 1, 99], "features must be ascending indices below 6"),
        (
            "panel lda",
            "feature_order",
            [0, 1, 2, 3, 4, 4],
            "feature_order must be different",
        ),
        ("panel lda", "feature_names", ["a"], "feature_names must be 6 strings"),
        ("panel lda", "classes", ["one", "one", "two"], "classes must be different"),
        ("panel lda", "label_type", "int64", "classes must be labels of type int64"),
        ("panel kernel", "width", -1.0, "width must be positive"),
        ("panel kernel", "scale", [1.0, 0.0, 1.0], "scale must be positive"),
        ("panel kernel", "landmarks", [[0.0, 0.0]], "landmarks must be numbers"),
        ("panel kernel", "center", [0.0, 1.0, float("inf")], "center must be finite"),
        ("panel cv", "stability", [0.0], "stability must be numbers"),
        ("panel cv", "path", {}, "path.head is missing"),
    ],
)
def test_a_wrong_value_is_named(name, key, value, message, tmp_path):
    model = fitted(name)
    record = copy.deepcopy(model.to_record())
    assert key in record
    record[key] = value
    with pytest.raises(ValueError, match=message):
        type(model).from_record(record)
    if key == "parameters":
        return
    path = tmp_path / "model.json"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        save_model(model, path)
    document = json.loads(path.read_text(encoding="utf-8"))
    document["record"][key] = value
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(InputError, match=f"{message}|not JSON"):
        read_model(path)


@pytest.mark.parametrize("key", ["coef", "classes", "features", "temperature"])
def test_what_is_missing_or_unknown_is_named(key):
    record = fitted("panel lda").to_record()
    with pytest.raises(ValueError, match="x must be absent"):
        PanelClassifier.from_record(record | {"x": 1})
    del record[key]
    with pytest.raises(ValueError, match=f"{key} is missing"):
        PanelClassifier.from_record(record)


@pytest.mark.parametrize(
    "labels", [[0, 1], [False, True], [1.0, -2.0], np.array([3, 7], dtype=np.int8), ["é", "b"]]
)
def test_labels_of_any_type_come_back(labels):
    X, _ = data()
    y = np.asarray(labels)[np.arange(len(X)) % 2]
    model = PanelClassifier(2, head="lda").fit(X, y)
    again = PanelClassifier.from_record(model.to_record())
    assert again.classes_.dtype == model.classes_.dtype
    assert_array_equal(again.predict(X), model.predict(X))


def test_a_kernel_holds_training_rows_and_a_linear_head_none():
    model = fitted("panel kernel")
    n_landmarks = len(model.to_record()["landmarks"])
    assert holds_training_rows(fitted("panel lda")) is None
    assert f"selected features of {n_landmarks} training rows" in holds_training_rows(model)
    X = data()[0].to_numpy()[:, model.support_]
    head = model._head_state
    rows = head["landmarks"] * head["scale"] + head["center"]
    assert np.abs(X[:, None] - rows[None]).max(axis=2).min(axis=0).max() < 1e-9
