"""The benchmark of large data: cells, peaks of memory, and the cost model with its tables."""

import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks" / "speed"
RESULTS = FOLDER.parent / "results"
NAMES = ("scale", "scale_atlas", "scale_cells", "scale_memory", "scale_picture", "cost_model")


@pytest.fixture
def modules(monkeypatch):
    """The benchmark's modules, which import one another by their bare names."""
    monkeypatch.syspath_prepend(str(FOLDER))
    for name in NAMES:
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield importlib.import_module
    for name in NAMES:
        sys.modules.pop(name, None)


def test_the_peak_counts_what_is_allocated_and_not_what_is_mapped(modules, tmp_path):
    file = tmp_path / "zeros"
    file.write_bytes(bytes(120_000_000))
    code = (
        "import mmap, time\n"
        f"f = open({str(file)!r}, 'rb'); m = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)\n"
        "n = sum(m[i] for i in range(0, len(m), 4096)); b = bytearray(b'1') * 40_000_000\n"
        "time.sleep(0.3); print(n)\n"
    )
    status, output, _, peak = modules("scale_memory").run_watched(
        [sys.executable, "-c", code], timeout=60
    )
    assert (status, output.strip()) == (0, "0")
    assert 40e6 < peak < 100e6


def test_a_command_that_takes_too_long_is_killed(modules):
    command = [sys.executable, "-c", "import time; time.sleep(60)"]
    code, output, _, _ = modules("scale_memory").run_watched(command, timeout=0.5)
    assert code is None and output == ""


def test_a_table_larger_than_the_limit_dies_in_memory_and_not_in_chunks(
    modules, monkeypatch, tmp_path
):
    scale = modules("scale")
    monkeypatch.setattr(scale, "PART", 2e8)
    monkeypatch.setattr(scale, "WAYS", (("memory", 0), ("chunks", 0)))
    monkeypatch.setattr(scale, "METRICS", ("l2",))
    options = ["--sizes", "0.8", "--cap", "0.7", "--output", str(tmp_path)]
    assert scale.main([*options, "--folder", str(tmp_path)]) == 0
    cells = json.loads((tmp_path / "speed_scale.json").read_text())["cells"]
    assert "MemoryError" in cells["0.8/memory/0/l2"]["died"]
    chunks = cells["0.8/chunks/0/l2"]
    assert chunks["passes"] == 1 and chunks["peak"] < 0.5e9
    assert all(feature % 50 == 0 for feature in chunks["support"])
    assert "does not fit" in (tmp_path / "speed_scale.txt").read_text()
    assert not list(tmp_path.glob("tamis-scale-*"))
    # A second run measures nothing.
    monkeypatch.setattr(scale, "measure", None)
    assert scale.main(options) == 0


def test_a_cell_that_would_take_too_long_is_skipped_with_the_reason(modules, tmp_path):
    records = modules("scale").Records(tmp_path / "speed_scale.json", 1.0)
    records.cells["2/chunks/0/l1"] = {"fit": {"wall": 30.0}}
    assert records.expected(4.0, "chunks", 0, "l1") == 60.0
    assert records.expected(8.0, "chunks", 0, "l1") == 120.0
    assert records.expected(8.0, "dask", 1, "l1") == 0.0
    records.cells["4/chunks/0/l1"] = {"skipped": "about 60 s expected"}
    assert not records.lacks(50.0, 4.0, "chunks", 0, "l1")
    assert records.lacks(70.0, 4.0, "chunks", 0, "l1")


def test_the_atlas_has_the_sparsity_and_the_types_that_it_says(modules, monkeypatch, tmp_path):
    atlas = modules("scale_atlas")
    monkeypatch.setattr(atlas, "SHAPE", (400, 3000))
    found = atlas.generate(tmp_path)
    assert found["stored"] == pytest.approx(atlas.STORED, rel=0.3)
    y = np.load(tmp_path / "y.npy")
    assert len(np.unique(y)) == atlas.TYPES
    rows = [X for X, _ in atlas.Cells(tmp_path, False)]
    held_out = np.load(tmp_path / "held_out.npy")
    assert sum(X.shape[0] for X in rows) == np.count_nonzero(~held_out)
    assert atlas.means(tmp_path)["passes"] == 1
    assert "3,000 values of k" in atlas.every_k(tmp_path)["text"]


def test_costs_grow_with_bytes_and_passes_and_shrink_with_workers(modules):
    model = modules("cost_model")
    small, large = model.Table(10**6, 100), model.Table(10**7, 100)
    assert large.size == 10 * small.size == 4e9
    work = model.plan(large, "means")
    assert work.passes == 1 and work.summary == 2 * 8 * 100 * 2
    one = model.pass_seconds(large, work, 1, 1e9)
    assert one == (4.0, 0.0)
    read, merge = model.pass_seconds(large, work, 10, 1e9)
    assert read == pytest.approx(0.4) and merge > 0


def test_the_plan_of_medians_counts_the_passes_that_a_fit_makes(modules):
    from tamis import SparseCenterClassifier

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 7)).astype(np.float32), np.arange(60) % 2
    for max_bytes in (2e8, 3000):
        chunks = modules("scale_cells").Counted([(X[:30], y[:30]), (X[30:], y[30:])])
        SparseCenterClassifier(2, metric="l1").fit_chunks(chunks, max_bytes=max_bytes)
        model = modules("cost_model")
        assert model.plan(model.Table(60, 7), "medians", max_bytes).passes == chunks.passes


def test_the_tables_of_the_cost_model_are_those_of_the_measured_rates(modules):
    document = json.loads((RESULTS / "speed_scale.json").read_text())
    atlas = json.loads((RESULTS / "speed_scale_atlas.json").read_text())
    text = modules("cost_model").write(document, atlas)
    assert text == (RESULTS / "cost_model.md").read_text(), "run benchmarks/speed/cost_model.py"
