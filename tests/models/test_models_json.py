import gzip
import json
import os
import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer, recall_score
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold

from tamis import (
    DatumWiseClassifier,
    LandmarkClassifier,
    LandmarkTransformer,
    PrimalDualClassifier,
    SparseCenterClassifier,
    SparseCenterClassifierCV,
)
from tamis._base.records import Record, plain
from tamis.models import PrivacyWarning, holds_training_rows, load_model, save_model
from tamis.models.saving import digest, read_model
from tamis.tables import InputError
from tests.models.families import MODELS, assert_predict_alike, assert_same, data, fitted

pytestmark = pytest.mark.filterwarnings("ignore::tamis.models.PrivacyWarning")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.json"


def document(path):
    return json.loads(path.read_text(encoding="utf-8"), parse_constant=pytest.fail)


def rewritten(path, change):
    """Change a file on purpose: its digest is that of the new content."""
    content = document(path)
    change(content)
    if "digest" in content:
        content["digest"] = digest(content)
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def test_a_model_of_another_class_than_was_asked_for_is_refused(path):
    model = SparseCenterClassifier(2).fit(*data())
    save_model(model, path)
    assert isinstance(load_model(path, kind=SparseCenterClassifier), SparseCenterClassifier)
    with pytest.raises(InputError, match="holds a SparseCenterClassifier, not a Landmark"):
        load_model(path, kind=LandmarkClassifier)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_comes_back_as_it_was(name, path):
    model = fitted(name)
    save_model(model, path)
    again = read_model(path)
    assert_predict_alike(model, again)
    assert_same(model.get_params(), again.get_params())
    passing = {*model.get_params(), "_known"}  # warm_start starts again after reading
    state = {key: value for key, value in model.__getstate__().items() if key not in passing}
    for key, value in state.items():
        assert_same(value, vars(again)[key])
    assert set(vars(again)) == set(model.__getstate__())
    assert_same(clone(again).get_params(), clone(model).get_params())


@pytest.mark.parametrize("name", MODELS)
def test_writing_what_was_read_gives_the_same_file(name, path, tmp_path):
    save_model(fitted(name), path)
    save_model(read_model(path), tmp_path / "again.json")
    assert path.read_bytes() == (tmp_path / "again.json").read_bytes()


@pytest.mark.parametrize(
    "labels",
    [[0, 1, 2], [False, True], [1.0, 5.0, -2.0], np.array([3, 7], dtype=np.int8), ["é", "\ud800"]],
)
def test_labels_of_any_type_come_back(labels, path):
    X, _ = data()
    y = np.asarray(labels)[np.arange(len(X)) % len(labels)]
    model = SparseCenterClassifier(2).fit(X, y)
    save_model(model, path)
    again = read_model(path)
    assert again.classes_.dtype == model.classes_.dtype
    assert_array_equal(again.predict(X), model.predict(X))


def test_models_of_single_precision_and_of_sparse_data_come_back(path):
    from scipy import sparse

    X, y = data()
    X = sparse.csr_array(np.where(X > 1, X, 0)).astype(np.float32)
    for model in (
        SparseCenterClassifier(3),
        SparseCenterClassifier(3, metric="l1"),
        PrimalDualClassifier(),
        LandmarkClassifier("fft", 4, scaling="standard", random_state=0),
    ):
        for rows in (X, X.toarray()):
            save_model(model.fit(rows, y), path)
            assert_array_equal(read_model(path).predict_proba(rows), model.predict_proba(rows))


def test_a_class_that_was_not_seen_and_large_numbers_come_back(path):
    X, _ = data()
    model = SparseCenterClassifier(2)
    model.partial_fit(X * 1e100, np.arange(len(X)) % 2, classes=[0, 1, 2])
    save_model(model, path)
    again = read_model(path)
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    model.partial_fit(X, np.arange(len(X)) % 3)
    again.partial_fit(X, np.arange(len(X)) % 3)
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_arrays_that_nobody_reads_are_bytes_and_come_back(path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 500)), np.arange(200) % 2
    model = SparseCenterClassifier(5, covariance="shrunk").fit(X, y)
    save_model(model, path)
    record = document(path)["record"]
    assert list(record["covariance"]["vectors"]) == ["$array", "shape", "base64"]
    assert len(record["class_centers"][0]) == 500
    assert_array_equal(read_model(path).decision_function(X), model.decision_function(X))
    record["covariance"]["vectors"]["shape"] = [500, 10**12]
    with pytest.raises(ValueError, match=r"covariance.vectors must be an array whose bytes"):
        SparseCenterClassifier.from_record(record)


def test_forests_that_levels_share_are_written_once(path):
    model = fitted("datum-wise cv")
    save_model(model, path)
    again = read_model(path)
    assert len(document(path)["record"]["forests"]) == len({id(f) for f in forests_of(model)})
    assert len({id(f) for f in forests_of(again)}) == len({id(f) for f in forests_of(model)})


def test_trees_are_written_in_few_bytes(path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))
    y = (X[:, 0] + 0.5 * rng.normal(size=300) > 0).astype(int)
    model = DatumWiseClassifier(n_trees=20, n_sets=4, random_state=0).fit(X, y)
    save_model(model, path)
    assert_array_equal(read_model(path).predict_proba(X), model.predict_proba(X))
    forests = {id(stage.forest): stage.forest.forest for stage in model.policy_.stages}
    n_nodes = sum(forest.n_nodes for forest in forests.values() if forest is not None)
    assert n_nodes > 10_000
    assert path.stat().st_size < 32 * n_nodes  # 44 with a full number for everything


@pytest.mark.parametrize("values", [np.zeros((200, 2)), np.array([-0.0, 0.0, np.inf] * 70)])
def test_rows_that_repeat_are_written_once_and_come_back(values):
    written = plain(values, 100, compact=True)
    assert list(written) == ["$array", "shape", "of", "at"]
    found = Record({"x": written}).numbers("x", values.shape, finite=False)
    assert found.tobytes() == values.tobytes()
    numbers = np.array([-128, 127] * 100)
    assert plain(numbers, 100, compact=True)["$array"] == "int8"
    assert plain(numbers + 1, 100, compact=True)["$array"] == "int16"
    distinct = np.arange(200.0)
    assert "base64" in plain(distinct, 100, compact=True)


@pytest.mark.parametrize(
    "change",
    [
        {"shape": [10**12, 2]},
        {"shape": [200, 3]},
        {"$array": "float32"},
        {"at": [0] * 200},
        {"at": plain(np.full(200, 1, dtype=np.int8), 100)},
        {"at": plain(np.full(200, -1, dtype=np.int8), 100)},
        {"at": plain(np.zeros(200), 100)},
        {"of": plain(np.zeros((1, 200)), 100), "shape": [200, 200]},
    ],
)
def test_rows_that_are_not_there_are_refused(change):
    written = plain(np.zeros((200, 2)), 100, compact=True) | change
    with pytest.raises(ValueError, match=r"x must be (rows|numbers)"):
        Record({"x": written}).numbers("x", (None, None))


def forests_of(model):
    return [stage.forest for level in model._levels for stage in level["policy_"].stages]


def test_the_file_says_at_its_beginning_what_it_is(path):
    save_model(fitted("centers"), path)
    found = document(path)
    assert list(found)[:7] == [
        "format",
        "format_version",
        "tamis_version",
        "model",
        "classes",
        "n_features",
        "selected_features",
    ]
    assert found["classes"] == ["one", "three", "two"]
    assert found["selected_features"] == ["age", "größe", "a b"]
    assert list(found)[7:] == ["record", "digest"]
    assert list(found["record"])[:3] == ["version", "classes", "label_type"]
    assert found["record"]["features"] == [0, 1, 2]


def test_a_compressed_file_is_the_same_each_time(tmp_path):
    for name in ("a.json.gz", "b.json.gz"):
        save_model(fitted("primal-dual"), tmp_path / name)
    first, second = ((tmp_path / name).read_bytes() for name in ("a.json.gz", "b.json.gz"))
    assert first == second
    assert json.loads(gzip.decompress(first))["format"] == "tamis-model"
    assert_predict_alike(read_model(tmp_path / "a.json.gz"), fitted("primal-dual"))


def test_folds_are_kept_and_functions_are_not(path):
    X, y = data()
    folds = StratifiedKFold(3, shuffle=True, random_state=1)
    model = SparseCenterClassifierCV(cv=folds).fit(X, y)
    save_model(model, path)
    assert repr(read_model(path).cv) == repr(folds)
    folds = RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=0)
    model = SparseCenterClassifierCV(
        cv=folds,
        scoring=make_scorer(recall_score, average="macro"),
    ).fit(X, y)
    with pytest.warns(UserWarning, match="scoring=make_scorer.* cannot be written"):
        save_model(model, path)
    again = read_model(path)
    assert repr(again.cv) == repr(folds)
    assert again.scoring == "balanced_accuracy"
    assert_array_equal(again.cv_results_["mean_test_score"], model.cv_results_["mean_test_score"])
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_set_output_is_kept(path):
    model = LandmarkTransformer("fft", 2, random_state=0).set_output(transform="pandas")
    X, _ = data()
    save_model(model.fit(X), path)
    assert list(read_model(path).transform(X).columns) == list(model.transform(X).columns)


def test_a_failure_leaves_the_old_file(path, monkeypatch):
    save_model(fitted("centers"), path)
    before = path.read_bytes()

    def fail(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="No space left on device"):
        save_model(fitted("primal-dual"), path)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == ["model.json"]


@pytest.mark.parametrize(
    ("model", "name", "message"),
    [
        (SparseCenterClassifier(), "a.json", "not fitted yet"),
        (LogisticRegression(), "a.json", "LogisticRegression cannot be saved"),
        (None, "a.json", "NoneType cannot be saved"),
        (SparseCenterClassifier(), "a.txt", "must end with .json"),
        (SparseCenterClassifier(), "nowhere/a.json", "not fitted yet"),
    ],
)
def test_what_cannot_be_saved_is_told(model, name, message, tmp_path):
    with pytest.raises(InputError, match=message):
        save_model(model, tmp_path / name)


def test_a_folder_that_is_not_there_is_told(tmp_path):
    with pytest.raises(InputError, match="cannot be written: No such file"):
        save_model(fitted("centers"), tmp_path / "nowhere" / "a.json")
    with pytest.raises(InputError, match="format must be"):
        save_model(fitted("centers"), tmp_path / "a.json", format="pickle")
    with pytest.raises(InputError, match="No such file"):
        read_model(tmp_path / "nothing.json")
    with pytest.raises(InputError, match="not a file"):
        read_model(tmp_path)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b'{"a": 1}', "does not begin with"),
        (b"[1, 2]", "does not begin with"),
        (b"[" * 200_000, "too deeply"),
        (b'{"format": NaN}', "not JSON"),
        (b'{"format": 1, "format": 2}', "same key twice"),
        (b"\xff\xfe", "not JSON"),
        (b"\x1f\x8b\x08\x00", "cannot be read"),
        (b"\x80\x04\x95pickle", "not JSON"),
        (b'{"format": ' + b"9" * 5000 + b"}", "not JSON"),
        (gzip.compress(b"not a model", mtime=0), "not JSON"),
        (gzip.compress(b'{"format": "tamis-model"}', mtime=0)[:-6], "cannot be read"),
    ],
)
def test_files_of_other_programs_are_refused(raw, message, path):
    path.write_bytes(raw)
    with pytest.raises(InputError, match=message) as caught:
        read_model(path)
    assert "\n" not in str(caught.value)


def test_large_files_are_refused_before_they_are_unpacked(tmp_path):
    bomb = tmp_path / "bomb.json.gz"
    bomb.write_bytes(gzip.compress(b" " * 30_000_000))
    with pytest.raises(InputError, match="more than the 1000000 bytes"):
        read_model(bomb, max_bytes=1_000_000)
    with pytest.raises(InputError, match="more than the 100 that"):
        read_model(bomb, max_bytes=100)


def test_a_newer_format_is_told(path):
    save_model(fitted("centers"), path)
    rewritten(path, lambda found: found.update(format_version=3))
    with pytest.raises(InputError, match=r"its format_version is 3, .* upgrade"):
        read_model(path)
    rewritten(path, lambda found: found.update(format_version=1))
    with pytest.raises(InputError, match=r"its format_version is 1, .* train the model again"):
        read_model(path)
    rewritten(path, lambda found: found.update(format_version=2))
    rewritten(path, lambda found: found["record"].update(version=2))
    with pytest.raises(InputError, match=r"its version must be at most 1: .* newer tamis"):
        read_model(path)


def test_a_damaged_number_is_noticed(path):
    save_model(fitted("centers"), path)
    content = document(path)
    content["record"]["class_centers"][0][0] += 0.1
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(InputError, match="its digest does not match its content"):
        read_model(path)


def test_the_digest_does_not_depend_on_the_order_of_keys_or_on_spaces(path):
    save_model(fitted("centers"), path)
    content = document(path)
    path.write_text(json.dumps(dict(reversed(content.items())), indent=4), encoding="utf-8")
    assert_predict_alike(read_model(path), fitted("centers"))


def put(name, value):
    return lambda found: found["record"].update({name: value})


def packed(shape, text="AAAA"):
    return {"$array": "float64", "shape": shape, "base64": text}


EDITS = {
    "its features must be ascending indices below 6": put("features", [0, 6]),
    "its features must be ascending indices": put("features", [True, False]),
    "its scale must be positive": put("scale", [0.0, 1.0, 1.0, 1.0, 1.0, 1.0]),
    "its scale must be numbers of shape (6,)": put("scale", [1.0, None, 1.0, 1.0, 1.0, 1.0]),
    "its gains must be numbers of shape (6,)": put("gains", [1.0]),
    "its class_centers must be numbers of shape (3, 6)": put("class_centers", [[1.0], [2.0, 3.0]]),
    "its origin must be numbers of shape (6,)": put("origin", ["a"] * 6),
    "its log_priors must be those of priors": put("log_priors", [-1.0, -1.0, "-inf"]),
    "its __class__ must be absent": put("__class__", "object"),
    "its predict must be absent": put("predict", 1),
    "its parameters must be those of": lambda f: f["record"]["parameters"].update(__init__=1),
    "its metric must be one of": lambda f: f["record"]["parameters"].update(metric="l7"),
    "its parameters.priors must be plain values": lambda f: f["record"]["parameters"].update(
        priors={"$record": "Rule", "kind": "go"}
    ),
    "it names 'Popen'": lambda f: f.update(model="Popen"),
    "it names 'os.system'": lambda f: f.update(model="os.system"),
    "its scale must be an array whose bytes have its shape": put("scale", packed([10**12])),
    "an array whose bytes": put("gains", packed([6], "no base64 at all")),
    "its classes must be different": put("classes", ["one", "one", "two"]),
    "its label_type must be one of": put("label_type", "U999999"),
    "'classes' does not match its record": lambda f: f.update(classes=["one", "two"]),
    "'notes', which does not belong there": lambda f: f.update(notes="hello"),
    "its n_features_in must be an integer": put("n_features_in", 6.0),
    "lacks 'record'": lambda f: f.pop("record"),
    "lacks 'digest'": lambda f: f.pop("digest"),
    "its record must be an object": lambda f: f.update(record=[]),
    "its scale is missing": lambda f: f["record"].pop("scale"),
}


@pytest.mark.parametrize("message", EDITS)
def test_an_edited_file_is_refused_with_the_reason(message, path):
    model = SparseCenterClassifier(3).fit(*data())
    save_model(model, path)

    def change(found):
        EDITS[message](found)

    rewritten(path, change)
    with pytest.raises(InputError) as caught:
        read_model(path)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def at(*keys, to):
    def change(found):
        holder = found["record"]
        for key in keys[:-1]:
            holder = holder[key]
        holder[keys[-1]] = to

    return change


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("centers", at("dispersion", to=-5.0), "dispersion must be what follows from class_disp"),
        ("centers l1", at("dispersion", to=1e300), "dispersion must be what follows"),
        ("centers covariance", at("dispersion", to=2.0), "dispersion must be what follows"),
        (
            "centers cv",
            at("class_dispersions", 0, to=[1e9] * 6),
            "dispersion must be what follows",
        ),
        ("primal-dual cv", at("path", "level", 0, to=0.11), "levels must be those of the radii"),
        ("primal-dual cv", at("radius", to=0.3), "levels must be those of the radii"),
        ("datum-wise groups", at("policy", "costs", 0, to=77.0), "costs must be those of the pro"),
        ("datum-wise groups", at("policy", "cost_weight", to=0.9), "cost_weight must be that of"),
        (
            "datum-wise groups",
            at("policy", "class_losses", 0, to=0.4),
            "class_losses must be thos",
        ),
        ("datum-wise cv", at("temperature", to=9.0), "temperature must be that of the policy"),
        ("datum-wise cv", at("levels", 0, "cost_weight", to=9.0), "cost_weight must be that of"),
    ],
)
def test_values_that_follow_from_others_must_agree_with_them(name, change, message, path):
    save_model(fitted(name), path)
    rewritten(path, change)
    with pytest.raises(InputError, match=message):
        read_model(path)


def test_columns_of_large_values_are_the_same_in_both_units(path):
    X, y = data()
    save_model(SparseCenterClassifier(2).fit(X * 1e120, y), path)
    assert read_model(path)._units is not None
    rewritten(path, lambda found: found["record"]["scale"].__setitem__(1, 3.0))
    with pytest.raises(InputError, match="scale must be what follows from other_units"):
        read_model(path)


@pytest.mark.parametrize("value", [10**30, -1.0, None, {"$float": "nan"}, "3", True])
def test_a_budget_that_no_kernel_can_take_is_refused(value, path):
    save_model(fitted("datum-wise fixed"), path)

    def change(found):
        found["record"]["policy"]["max_cost"] = value

    rewritten(path, change)
    with pytest.raises(InputError, match=r"its policy.max_cost must be"):
        read_model(path)


def test_models_that_hold_training_rows_say_so(path):
    X, _ = data()
    model = fitted("landmarks knn")
    with pytest.warns(PrivacyWarning, match="4 training rows, .* all 60 training rows"):
        save_model(model, path)
    assert holds_training_rows(read_model(path)) == holds_training_rows(model)
    assert "4 training rows" in holds_training_rows(fitted("landmark map"))
    assert holds_training_rows(fitted("landmarks nb kmeans")) is None
    for name in ("centers", "primal-dual", "datum-wise forest", "datum-wise fixed", "odds ratio"):
        assert holds_training_rows(fitted(name)) is None
    alone = SparseCenterClassifier(2).fit(X, np.where(np.arange(len(X)) == 5, "five", "other"))
    assert "'five' has a single training row" in holds_training_rows(alone)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        save_model(fitted("centers"), path)
