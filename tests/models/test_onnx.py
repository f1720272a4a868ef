import json
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tamis import (
    LandmarkClassifier,
    LandmarkSearchCV,
    PrimalDualClassifier,
    PrimalDualClassifierCV,
    SparseCenterClassifier,
    SparseCenterClassifierCV,
)
from tamis.models import export_onnx, register_skl2onnx
from tamis.tables import InputError
from tests.models.families import data, fitted

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

NAMES = [
    "centers",
    "centers l1",
    "centers covariance",
    "centers shrunk",
    "centers groups",
    "centers cv",
    "centers cv l1",
    "primal-dual",
    "primal-dual frobenius",
    "primal-dual nuclear",
    "primal-dual cv",
    "panel lda",
    "panel logistic",
    "panel kernel",
    "panel cv",
    "landmarks nb",
    "landmarks nb kmeans",
    "landmarks lda",
    "landmarks ridge",
]


def run(path, X, names):
    """Labels and probabilities of a graph, for the columns that it asks for."""
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    asked = [item.name for item in session.get_inputs()]
    position = {name: at for at, name in enumerate(names)}
    X = np.asarray(X)
    return session.run(
        ["label", "probabilities"], {n: X[:, [position[n]]].astype(np.float64) for n in asked}
    )


def new_rows(n=4000, m=6):
    rng = np.random.default_rng(1)
    return rng.normal(size=(n, m)) * rng.choice([0.1, 1.0, 10.0], size=(n, 1))


def assert_agree(model, path, X, names):
    labels, probabilities = run(path, X, names)
    expected = model.predict_proba(X)
    assert_allclose(probabilities, expected, rtol=1e-6, atol=1e-9)
    top = np.sort(expected, axis=1)
    clear = top[:, -1] - top[:, -2] > 1e-9
    assert clear.mean() > 0.7
    assert_array_equal(labels[clear], model.predict(X)[clear])


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("name", NAMES)
def test_a_graph_agrees_with_its_model(name, tmp_path):
    model = fitted(name)
    export_onnx(model, tmp_path / "model.onnx")
    names = model.feature_names_in_.tolist()
    assert_agree(model, tmp_path / "model.onnx", new_rows(), names)


@pytest.mark.parametrize("metric", ["l2", "l1"])
@pytest.mark.parametrize("size", [2.0**-1000, 2.0**1000])
def test_a_graph_has_the_units_of_its_model(metric, size, tmp_path):
    X, y = data()
    X = np.asarray(X) * size
    model = SparseCenterClassifier(3, metric=metric).fit(X, y)
    export_onnx(model, tmp_path / "model.onnx")
    assert_agree(model, tmp_path / "model.onnx", X, [f"x{j}" for j in range(X.shape[1])])


def test_a_graph_of_medians_takes_values_of_any_size(tmp_path):
    X, y = data()
    model = SparseCenterClassifier(3, metric="l1").fit(np.asarray(X), y)
    export_onnx(model, tmp_path / "model.onnx")
    X = new_rows()
    X[::2, model.support_.argmax()] *= 1e300
    assert_agree(model, tmp_path / "model.onnx", X, [f"x{j}" for j in range(X.shape[1])])


@pytest.mark.parametrize("distance", ["euclidean", "angle"])
@pytest.mark.parametrize("kernel", ["linear", "gaussian", "sigmoid", "cauchy"])
def test_every_distance_and_kernel_agrees(distance, kernel, tmp_path):
    X, y = new_rows(200, 4), np.arange(200) % 3
    X[y == 1] += 1.0
    model = LandmarkClassifier(
        "fft", 5, distance=distance, kernel=kernel, scaling="minmax", random_state=0
    ).fit(X, y)
    export_onnx(model, tmp_path / "model.onnx")
    rows = np.vstack([new_rows(2000, 4), X[:20], np.zeros((1, 4))])
    assert_agree(model, tmp_path / "model.onnx", rows, ["x0", "x1", "x2", "x3"])


@pytest.mark.parametrize("metric", ["euclidean", "angle"])
@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_neighbours_agree(weights, metric, tmp_path):
    X, y = new_rows(200, 4), np.arange(200) % 3
    X[y == 1] += 1.0
    options = {"classifier": "knn", "n_neighbors": 7, "weights": weights, "metric": metric}
    model = LandmarkClassifier("fft", 5, **options, random_state=0).fit(X, y)
    export_onnx(model, tmp_path / "model.onnx")
    rows = np.vstack([new_rows(2000, 4), X])  # training rows are at distance 0
    labels, shares = run(tmp_path / "model.onnx", rows, ["x0", "x1", "x2", "x3"])
    # Neighbours at the same distance may change places by rounding.
    same = np.isclose(shares, model.predict_proba(rows), atol=1e-9).all(axis=1)
    assert same.mean() > 0.999
    assert_array_equal(labels[same], model.predict(rows)[same])


def test_quantiles_agree_also_where_values_repeat(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.integers(6, size=(300, 4)) * 0.1, np.arange(300) % 3
    X[:, 0] = rng.normal(size=300)
    model = LandmarkClassifier("fft", 5, scaling="quantile", random_state=0).fit(X, y)
    export_onnx(model, tmp_path / "model.onnx")
    rows = np.vstack([X, new_rows(2000, 4), rng.integers(-1, 8, size=(500, 4)) * 0.1])
    assert_agree(model, tmp_path / "model.onnx", rows, ["x0", "x1", "x2", "x3"])


@pytest.mark.parametrize("vote", ["majority", "soft"])
def test_an_ensemble_agrees(vote, tmp_path):
    X, y = new_rows(300, 4), np.arange(300) % 2
    X[y == 1] += 1.0
    space = {"classifier": ["nb", "ridge"], "n_landmarks": [4, 8], "scaling": [None, "standard"]}
    model = LandmarkSearchCV(
        space=space, n_configurations=10, ensemble_size=4, vote=vote, cv=2, random_state=0
    ).fit(X, y)
    export_onnx(model, tmp_path / "model.onnx")
    rows = new_rows(2000, 4)
    labels, probabilities = run(tmp_path / "model.onnx", rows, ["x0", "x1", "x2", "x3"])
    assert (labels == model.predict(rows)).mean() > 0.999
    close = np.isclose(probabilities, model.predict_proba(rows), atol=1e-9).all(axis=1)
    assert close.mean() > 0.999


def test_an_ensemble_on_some_features_agrees(tmp_path):
    X, y = new_rows(300, 4), np.arange(300) % 2
    X[y == 1] += 1.0
    space = {"classifier": ["nb", "ridge"], "n_landmarks": [4]}
    search = LandmarkSearchCV(space=space, n_configurations=4, vote="soft", random_state=0)
    model = search.fit_path(X, y, [2], feature_order=[3, 1]).model(0)
    export_onnx(model, tmp_path / "model.onnx")
    rows = new_rows(500, 4)
    names = [item.name for item in onnx.load(tmp_path / "model.onnx").graph.input]
    _, probabilities = run(tmp_path / "model.onnx", rows, names)
    close = np.isclose(probabilities, model.predict_proba(rows), atol=1e-9).all(axis=1)
    assert close.mean() > 0.999


def test_only_selected_features_are_asked_for(tmp_path):
    model = fitted("centers")
    export_onnx(model, tmp_path / "model.onnx")
    graph = onnx.load(tmp_path / "model.onnx")
    assert [item.name for item in graph.graph.input] == ["age", "größe", "a b"]
    props = {item.key: item.value for item in graph.metadata_props}
    assert json.loads(props["classes"]) == ["one", "three", "two"]


def test_ties_go_to_the_first_class(tmp_path):
    X = np.array([[0.0, 0.0], [0.0, 1.0], [2.0, 0.0], [2.0, 1.0]])
    for metric in ("l2", "l1"):
        model = SparseCenterClassifier(1, metric=metric).fit(X, ["b", "b", "a", "a"])
        export_onnx(model, tmp_path / "model.onnx")
        labels, shares = run(tmp_path / "model.onnx", np.array([[1.0, 0.5]]), ["x0", "x1"])
        assert labels.tolist() == model.predict([[1.0, 0.5]]).tolist() == ["a"]
        assert_array_equal(shares, [[0.5, 0.5]])


def test_features_may_have_any_name(tmp_path):
    X, y = data()
    names = ["label", "probabilities", "", "tamis/Sub/1/1", "a/b:c", "é\n"]
    model = SparseCenterClassifier(6).fit(X.set_axis(names, axis=1), y)
    export_onnx(model, tmp_path / "model.onnx")
    asked = ["label_input", "probabilities_input", "_input", "tamis/Sub/1/1", "a/b:c", "é\n"]
    labels, _ = run(tmp_path / "model.onnx", X, asked)
    assert_array_equal(labels, model.predict(X.set_axis(names, axis=1)))


@pytest.mark.parametrize("labels", [[0, 1], [False, True], [1.0, 5.0], [-3, 4], ["ä", "b"]])
def test_labels_are_integers_or_strings(labels, tmp_path):
    X, _ = data()
    y = np.asarray(labels)[np.arange(len(X)) % 2]
    model = PrimalDualClassifier().fit(X.to_numpy(), y)
    export_onnx(model, tmp_path / "model.onnx")
    found, _ = run(tmp_path / "model.onnx", X, [f"x{i}" for i in range(6)])
    assert found.dtype == (object if isinstance(labels[0], str) else np.int64)
    assert found.tolist() == model.predict(X.to_numpy()).tolist()


def test_what_cannot_be_a_graph_is_told(tmp_path):
    path = tmp_path / "model.onnx"
    for name, message in (
        ("datum-wise forest", "DatumWiseClassifier cannot be exported to ONNX; these can"),
        ("landmark map", "LandmarkTransformer cannot"),
        ("odds ratio", "OddsRatioSelector cannot"),
    ):
        with pytest.raises(InputError, match=message):
            export_onnx(fitted(name), path)
    X, y = new_rows(9000, 4), np.arange(9000) % 2
    model = LandmarkClassifier("random", 512, classifier="knn", random_state=0).fit(X, y)
    with pytest.raises(InputError, match="all 9,000 training rows, which is too much"):
        export_onnx(model, path)
    with pytest.raises(InputError, match="not fitted yet"):
        export_onnx(SparseCenterClassifier(), path)
    with pytest.raises(InputError, match="a int cannot"):
        export_onnx(3, path)
    assert not path.exists()


def test_onnx_that_is_not_there_is_told(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(InputError, match=r"needs onnx: pip install 'tamis\[onnx\]'"):
        export_onnx(fitted("centers"), tmp_path / "model.onnx")
    with pytest.raises(InputError, match="needs onnx"):
        register_skl2onnx()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "model",
    [
        SparseCenterClassifier(3),
        SparseCenterClassifier(2, metric="l1"),
        SparseCenterClassifierCV(cv=3),
        PrimalDualClassifier(0.5),
        PrimalDualClassifierCV([0.3, 1.0], cv=3),
        LandmarkClassifier("fft", 5, random_state=0),
        LandmarkSearchCV(
            space={"classifier": ["nb"], "n_landmarks": [4]},
            n_configurations=4,
            ensemble_size=3,
            cv=2,
            random_state=0,
        ),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_pipeline_converts_with_skl2onnx(model, dtype):
    skl2onnx = pytest.importorskip("skl2onnx")
    register_skl2onnx()
    X, y = data()
    X = X.to_numpy().astype(dtype)
    pipeline = make_pipeline(StandardScaler(), model).fit(X, y)
    graph = skl2onnx.to_onnx(pipeline, X[:1], options={"zipmap": False}, target_opset=19)
    session = onnxruntime.InferenceSession(
        graph.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    rows = np.abs(new_rows(1000)).astype(dtype)
    labels, probabilities = session.run(None, {"X": rows})
    assert probabilities.dtype == dtype
    exact = dtype == np.float64
    expected = pipeline.predict_proba(rows)
    share = np.isclose(probabilities, expected, atol=1e-9 if exact else 1e-4).all(axis=1).mean()
    assert share > (0.999 if exact else 0.99)
    assert (labels == pipeline.predict(rows)).mean() > (0.999 if exact else 0.99)


@pytest.mark.parametrize("opset", [15, 18, None])
def test_a_pipeline_converts_with_a_zipmap(opset):
    skl2onnx = pytest.importorskip("skl2onnx")
    register_skl2onnx()
    X, y = data()
    X = X.to_numpy().astype(np.float32)
    pipeline = make_pipeline(StandardScaler(), SparseCenterClassifier(2)).fit(X, y)
    graph = skl2onnx.to_onnx(pipeline, X[:1], target_opset=opset)
    session = onnxruntime.InferenceSession(
        graph.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    labels, shares = session.run(None, {"X": X})
    assert labels.tolist() == pipeline.predict(X).tolist()
    assert set(shares[0]) == {"one", "two", "three"}
