"""`compare(device=)`: which methods train on a device, and what is said where there is none."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tamis import compare
from tamis.comparison import Callback
from tamis.comparison.methods.families import METHODS
from tamis.primal_dual import PrimalDualClassifier
from tests.comparison.problems import make

FAST = {"methods": ["centers", "primal-dual", "most-frequent"], "cv": 3, "repeats": 1}


def make_data(n=90):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    X = rng.normal(size=(n, 8))
    X[:, :2] += 1.5 * y[:, None]
    return X, y


@pytest.fixture
def strict(monkeypatch):
    """A device for primal-dual that every machine has; the devices that it is asked for."""
    xp, asked = pytest.importorskip("array_api_strict"), []

    def send(X, device):
        asked.append(device)
        return X if device is None else xp.asarray(X)

    monkeypatch.setattr("tamis.primal_dual.classifier.send_to_device", send)
    monkeypatch.setattr("tamis.comparison.comparing.find_device", lambda device: device)
    return asked


def test_the_processor_is_no_device():
    plain, other = compare(*make_data(), **FAST), compare(*make_data(), **FAST, device="cpu")
    assert plain.notes == other.notes
    assert_array_equal(plain.table["score"], other.table["score"])


def test_primal_dual_trains_there_and_the_notes_say_so(strict):
    there = compare(*make_data(), **FAST, device="strict")
    assert set(strict) == {"strict"}
    assert "trained on strict: primal-dual; all others run on the processor" in there.notes
    here = compare(*make_data(), **FAST)
    rows = here.table["method"] != "primal-dual"
    assert_array_equal(here.table["score"][rows], there.table["score"][rows])
    assert_allclose(here.table["score"], there.table["score"], atol=0.03)
    model = there.pick("primal-dual", n_features=2).estimator_
    assert isinstance(model, PrimalDualClassifier)
    assert model.device is None  # so that it can be trained again anywhere


def test_methods_that_cannot_use_a_device_are_said_to_run_on_the_processor(strict):
    methods = ["centers", "most-frequent"]
    found = compare(*make_data(), methods=methods, cv=3, repeats=1, device="strict")
    assert found.notes[-1] == "none of the methods can train on strict: all run on the processor"
    assert not strict


def test_landmarks_are_the_same_on_a_device(monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setattr("tamis.landmarks.neighbors._LEAST_PAIRS", 0)
    landmarks = next(method for method in METHODS if method.name == "landmarks")
    found = []
    for device in (None, "cpu"):
        problem = replace(make(*make_data()), device=device)
        part = problem.train_part(np.arange(60), problem.codes, 0)
        trained = landmarks.train(part, [1, 4])
        found.append(trained.predict(*part.test_rows(np.arange(60, 90)))[0])
        assert landmarks.shrink(trained, 1)[1].device is None
    assert_array_equal(*found)


def test_a_gpu_trains_in_processes():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("needs a GPU")
    methods = ["primal-dual", "landmarks", "most-frequent"]
    words = {"methods": methods, "cv": 3, "repeats": 1, "n_jobs": 2}
    here, there = (compare(*make_data(), **words, device=where) for where in (None, "cuda"))
    assert (
        "trained on cuda: primal-dual, landmarks; all others run on the processor" in there.notes
    )
    assert not there.failed
    for one, other in zip(here.results, there.results, strict=True):
        assert_allclose(one.scores, other.scores, atol=0.03 * (one.method.name == "primal-dual"))


class Never(Callback):
    """Fails if any work begins."""

    def on_start(self, start):
        raise AssertionError


def test_a_device_without_torch_ends_the_call_before_work_begins(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ValueError, match=r"device=cuda needs torch: pip install torch\."):
        compare(*make_data(), **FAST, device="cuda", callbacks=[Never()])


@pytest.mark.parametrize("device", ["cuda:99", "nonsense", "meta"])
def test_a_device_that_is_not_there_ends_the_call_before_work_begins(device):
    pytest.importorskip("torch")
    with pytest.raises(
        ValueError, match=f"device={device} cannot be used here .*Leave out device"
    ):
        compare(*make_data(), **FAST, device=device, callbacks=[Never()])


def test_a_device_has_a_name():
    with pytest.raises(ValueError, match="device: expected the name of a device of torch, got 3"):
        compare(*make_data(), **FAST, device=3)
