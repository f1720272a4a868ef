import json
import sys
import zipfile

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from tamis import SparseCenterClassifier, SparseCenterClassifierCV
from tamis.models import save_model
from tamis.models.saving import read_model
from tamis.tables import InputError
from tests.models.families import MODELS, assert_predict_alike, assert_same, data, fitted

sio = pytest.importorskip("skops.io")
pytestmark = pytest.mark.filterwarnings("ignore::tamis.models.PrivacyWarning")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.skops"


def rewrite(path, change):
    """Change the entries of an archive, a dict of bytes."""
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    change(entries)
    with zipfile.ZipFile(path, "w") as archive:
        for name, raw in entries.items():
            archive.writestr(name, raw)


def rewrite_schema(path, change):
    def change_entries(entries):
        schema = json.loads(entries["schema.json"])
        change(schema)
        entries["schema.json"] = json.dumps(schema)

    rewrite(path, change_entries)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_comes_back_as_it_was(name, path):
    model = fitted(name)
    save_model(model, path)
    again = read_model(path)
    assert_predict_alike(model, again)
    assert set(vars(again)) == set(model.__getstate__())
    for key in set(vars(again)) - {"_known"}:  # warm_start starts again after reading
        assert_same(vars(again)[key], vars(model)[key])


def test_folds_are_kept(path):
    X, y = data()
    folds = StratifiedKFold(3, shuffle=True, random_state=1)
    save_model(SparseCenterClassifierCV(cv=folds).fit(X, y), path)
    assert repr(read_model(path).cv) == repr(folds)


def test_a_model_of_another_library_is_refused(path):
    X, y = data()
    sio.dump(LogisticRegression().fit(X, y), path)
    with pytest.raises(InputError, match="its content is not a model"):
        read_model(path)


@pytest.mark.parametrize("function", [np.median, np.random.RandomState(0), sys.exit, {1, 2}])
def test_a_model_with_something_else_in_it_is_refused(function, path):
    model = SparseCenterClassifier(2).fit(*data())
    model.extra_ = function
    sio.dump(model, path)
    with pytest.raises(InputError, match=r"not a class of a tamis model|does not belong there"):
        read_model(path)


def test_an_attribute_that_no_model_has_is_refused(path):
    model = SparseCenterClassifier(2).fit(*data())
    model.extra_ = 1.0
    sio.dump(model, path)
    with pytest.raises(InputError, match="'extra_' does not belong there"):
        read_model(path)


def test_indices_out_of_range_are_refused(path):
    model = SparseCenterClassifier(2, covariance="shrunk").fit(*data())
    model._whitening["selected"] = np.array([1, 600])
    sio.dump(model, path)
    with pytest.raises(InputError, match=r"covariance.selected must be ascending indices below 6"):
        read_model(path)


def test_other_types_and_damaged_arrays_are_refused(path):
    def other_class(schema):
        schema["__module__"], schema["__class__"] = "subprocess", "Popen"

    def other_loader(schema):
        schema["content"]["__loader__"] = "FunctionNode"

    def huge(entries):
        name = next(name for name, raw in entries.items() if b"(6,)" in raw)
        entries[name] = entries[name].replace(b"(6,)", b"(9,)")

    def cut(entries):
        name = next(name for name in entries if name.endswith(".npy"))
        entries[name] = entries[name][:-8]

    def deep(entries):
        entries["schema.json"] = "[" * 100_000

    for change, message in (
        (lambda entries: rewrite_schema(path, other_class), "subprocess.Popen"),
        (lambda entries: rewrite_schema(path, other_loader), "not a usable tamis model"),
        (lambda entries: rewrite(path, huge), "skops cannot read it"),
        (lambda entries: rewrite(path, cut), "skops cannot read it"),
        (lambda entries: rewrite(path, deep), "skops cannot read it"),
        (lambda entries: rewrite(path, dict.clear), "skops cannot read it"),
        (lambda entries: path.write_bytes(b"PK\x03\x04 nothing"), "skops cannot read it"),
    ):
        save_model(fitted("centers"), path)
        change(None)
        with pytest.raises(InputError) as caught:
            read_model(path)
        assert message in str(caught.value)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["metric", "max_blocks"])
def test_a_part_that_is_missing_is_told(name, path):
    def drop(node):
        if isinstance(node, dict):
            node.pop(name, None)
            node = list(node.values())
        for item in node if isinstance(node, list) else []:
            drop(item)

    save_model(fitted("datum-wise fixed" if name == "max_blocks" else "centers"), path)
    rewrite_schema(path, drop)
    with pytest.raises(InputError, match=r"missing or unknown fields|cannot read"):
        read_model(path)


def test_large_archives_are_refused(path):
    save_model(fitted("centers"), path)
    rewrite(path, lambda entries: entries.update({"1.npy": b"0" * 10**7}))
    with pytest.raises(InputError, match="more than the"):
        read_model(path, max_bytes=10**6 * 5)


def test_skops_that_is_not_there_is_told(path, monkeypatch):
    save_model(fitted("centers"), path)
    monkeypatch.setitem(sys.modules, "skops.io", None)
    monkeypatch.setitem(sys.modules, "skops", None)
    with pytest.raises(InputError, match=r"needs skops: pip install 'tamis\[cli\]'"):
        read_model(path)
    with pytest.raises(InputError, match="needs skops"):
        save_model(fitted("centers"), path)
