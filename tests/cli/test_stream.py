"""`tamis fit --stream`: what is said and recorded, resuming, and tables larger than memory."""

import json

import numpy as np
import pytest

from tests.cli.conftest import HEADER, make_rows, write_csv
from tests.cli.processes import call, environment

FAST = ("--methods", "centers,most-frequent", "--folds", "2", "--repeats", "1", "--n-jobs", "1")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_csv(tmp_path_factory.mktemp("stream") / "data.csv", HEADER, make_rows(1500, 0))


def fit(tamis, data, run, *more):
    words = ("fit", data, "--target", "y", "--max-size", "20KB", *FAST, *more)
    return tamis(*words, "-o", run)


def test_a_streamed_run_says_and_records_it_and_resumes(data, tamis, tmp_path):
    run = tmp_path / "run"
    code, out, err = fit(tamis, data, run)
    assert code == 0, err
    assert "data.csv is streamed: in memory, the table would take about 0.1 MB" in err
    assert "methods are compared on a random sample of" in err
    assert err.index("checkpoints take at most about") < err.index("reading the labels")
    assert "final model: streamed: all 1,500 rows" in out
    said = " ".join(out.split())
    assert "rows outside the sample, the model trained on the sample has a balanced" in said
    recorded = json.loads((run / "checkpoints" / "stream.json").read_text())
    assert recorded["streams"] and recorded["mode"] == "auto" and recorded["needed_bytes"] > 1e5
    metrics = json.loads((run / "metrics.json").read_text())
    told = metrics["streaming"]
    assert told["rows"] == 1500 and told["sampled_rows"] == metrics["data"]["rows"] < 800
    assert told["outside_sample"]["rows"] == 1500 - told["sampled_rows"]
    page = (run / "report.html").read_text()
    assert "random sample of" in page and "rows outside the sample" in page
    assert f"a sample of {told['sampled_rows']} of 1,500 rows" in page
    # Again: no pass is repeated, and the model is the same. More memory changes nothing.
    model = (run / "model.json").read_bytes()
    words = ("fit", data, "--target", "y", "--max-size", "1GB", *FAST, "-o", run)
    code, _, err = tamis(*words)
    assert code == 0 and "reading" not in err and "training" not in err
    assert (run / "model.json").read_bytes() == model
    # Another level uses what was streamed.
    code, out, err = tamis(
        "pick", run, "--method", "centers", "--n-features", 1, "-o", tmp_path / "run2"
    )
    assert code == 0, err
    assert "final model: streamed: all 1,500 rows" in out
    code, _, err = fit(tamis, data, run, "--stream", "off")
    assert code == 2 and "the table was streamed when this run began" in err


def test_small_tables_are_not_streamed(data, tamis, tmp_path):
    words = ("fit", data, "--target", "y", *FAST, "-o", tmp_path / "run")
    code, out, err = tamis(*words)
    assert code == 0 and "streamed" not in out + err
    recorded = json.loads((tmp_path / "run" / "checkpoints" / "stream.json").read_text())
    assert not recorded["streams"] and recorded["available_bytes"] > recorded["needed_bytes"]


def test_embedded_data_are_not_streamed(refuses):
    refuses("fit", "--stream", "on", match="--stream needs DATA")


@pytest.mark.slow
def test_standard_input_is_not_streamed(data):
    words = ("fit", "-", "--target", "y", "--stream", "on")
    with open(data, encoding="utf-8") as file:
        code, out, err = call(*words, stdin=file)
    assert (code, out) == (2, "")
    assert "--stream on: standard input is read only once; save it to a file." in err


# A process that may use little memory.


def limited():
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (1_500_000_000, 1_500_000_000))


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A table of 0.65 GB, more than the limit leaves after all imports."""
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path_factory.mktemp("large") / "large.parquet"
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 800_000, dtype=np.int8)
    columns = {f"x{j}": rng.integers(0, 80, labels.size, dtype=np.int8) for j in range(100)}
    for j in range(3):
        columns[f"x{j}"] += 40 * labels
    parquet.write_table(pa.table({**columns, "y": labels}), path, row_group_size=50_000)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("method", ["centers", "medians"])
def test_a_table_larger_than_memory_is_fitted(large, method, tmp_path):
    words = ["fit", large, "--target", "y", "--no-report", "--folds", "2", "--repeats", "1"]
    words += ["--n-jobs", "1", "--methods", f"{method},most-frequent"]
    # Threads would reserve addresses for memory that they never use.
    limits = {"preexec_fn": limited, "timeout": 600, "env": environment(MALLOC_ARENA_MAX="2")}
    code, out, err = call(*words, "-o", tmp_path / "run", **limits)
    assert code == 0, err
    assert "final model: streamed: all 800,000 rows" in out
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert metrics["streaming"]["outside_sample"]["score"] > 0.75
    code, out, err = call(*words, "--stream", "off", **limits)
    assert code in (1, 2) and "memory" in err and "Traceback" not in err
