"""Memory while tables are read: bounded by a chunk, whatever the number of rows."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from tamis.tables import InputError, read_rows, read_table
from tamis.tables.errors import NotEnoughMemory, is_about_memory
from tamis.tables.formats.source import Source, available_memory, readable

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
pc = pytest.importorskip("pyarrow.csv")

N_COLUMNS = 10
# Does some work, and prints the largest anonymous memory of the process while it does.
MEASURED = """
import sys, threading, time
from pathlib import Path

def used():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))

def watch():
    global peak
    while not done:
        peak = max(peak, used())
        time.sleep(0.002)

peak, done = 0, False
watcher = threading.Thread(target=watch)
watcher.start()
{work}
done = True
watcher.join()
print("peak", peak)
"""
CHUNKS = """
from tamis import SparseCenterClassifier, read_chunks
SparseCenterClassifier(3).fit_chunks(read_chunks({path!r}, {target!r}, chunk_rows=5_000))
"""
STREAM = """
from tamis.cli import main
words = "fit {path} --target {target} --stream on --methods centers,most-frequent --n-jobs 1"
words += " --max-size 20MB --no-report --folds 2 --repeats 1 -o {path}-run"
assert main(words.split()) == 0
"""


def peak_of(work):
    """Kilobytes that some work needs in a new process."""
    command = [sys.executable, "-c", MEASURED.format(work=work)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return int(done.stdout.split()[-1])


def write_parquet(path, X, y):
    columns = {f"x{j}": X[:, j] for j in range(N_COLUMNS)}
    pq.write_table(pa.table({**columns, "y": y}), path, row_group_size=100_000)


def write_csv(path, X, y):
    columns = {f"x{j}": X[:, j] for j in range(N_COLUMNS)}
    pc.write_csv(pa.table({**columns, "y": y}), path)


def write_npy(path, X, y):
    np.save(path, np.column_stack([X, y == "ill"]))


def write_svmlight(path, X, y):
    lines = [" ".join(f"{j}:{value:.3f}" for j, value in enumerate(row)) for row in X.tolist()]
    labels = (y == "ill").astype(int).tolist()
    text = "\n".join(f"{label} {line}" for label, line in zip(labels, lines, strict=True))
    path.write_text(text, encoding="utf-8")


def write_h5ad(path, X, y):
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        csr = sparse.csr_array(np.where(X > 1, X, 0))
        group = file.create_group("X")
        group.attrs["encoding-type"], group.attrs["shape"] = "csr_matrix", csr.shape
        for part in ("data", "indices", "indptr"):
            group[part] = getattr(csr, part)
        file["obs/_index"] = np.arange(len(y)).astype("S8")
        file["obs/y"] = y.astype("S4")


FILES = {
    "t.parquet": (write_parquet, "y", 400_000),
    "t.csv": (write_csv, "y", 100_000),
    "t.npy": (write_npy, -1, 200_000),
    "t.svm": (write_svmlight, "target", 50_000),
    "t.h5ad": (write_h5ad, "y", 200_000),
}


def write_two(folder, name):
    """Two files, the second with four times the rows."""
    write, _, n_fewer = FILES[name]
    rng = np.random.default_rng(0)
    paths = []
    for n_rows in (n_fewer, 4 * n_fewer):
        X = rng.normal(size=(n_rows, N_COLUMNS))
        y = np.where(rng.random(n_rows) < 0.5, "ill", "well")
        X[y == "ill", 0] += 1
        paths.append(folder / f"{n_rows}-{name}")
        write(paths[-1], X, y)
    return map(str, paths)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux")
@pytest.mark.parametrize(
    ("name", "work"), [*((name, CHUNKS) for name in FILES), ("t.parquet", STREAM)]
)
def test_four_times_the_rows_need_the_same_memory(tmp_path, name, work):
    target = FILES[name][1]
    fewer, more = (
        peak_of(work.format(path=path, target=target)) for path in write_two(tmp_path, name)
    )
    assert more < 1.2 * fewer


def write_long_words(path, n_rows=200):
    """A few kilobytes that are gigabytes of text if words are repeated for each row."""
    codes = np.arange(n_rows, dtype=np.int32) % 2
    words = pa.array(["a" * 4_000_000, "b" * 4_000_000])
    long = pa.DictionaryArray.from_arrays(pa.array(codes), words)
    table = pa.table({"long": long, "x": np.arange(n_rows) / 7, "y": codes})
    pq.write_table(table, path, compression="zstd")
    assert path.stat().st_size < 20_000


def test_long_words_of_parquet_are_held_once(tmp_path):
    path = tmp_path / "t.parquet"
    write_long_words(path)
    before = pa.default_memory_pool().max_memory()
    data = read_table(path, "y")
    assert pa.default_memory_pool().max_memory() < max(before, 100_000_000)
    assert data.columns.names == ["x"]
    assert any("long (free text)" in note for note in data.notes)
    ((table, _),) = read_rows(path, ["long"], {"long": "text"})
    words = table.others["long"].tolist()
    assert len({id(word) for word in words}) == 2


def test_words_of_parquet_count_towards_the_limit(tmp_path):
    path = tmp_path / "t.parquet"
    write_long_words(path)
    with pytest.raises(InputError, match=r"needs more than .* the limit is 5.0 MB"):
        read_table(path, "y", max_size=5_000_000)


def test_small_row_groups_do_not_make_small_chunks(tmp_path):
    path = tmp_path / "t.parquet"
    words = pa.array([["a", "b", None][i % 3] for i in range(90)])
    pq.write_table(pa.table({"w": words, "x": np.arange(90)}), path, row_group_size=10)
    chunks = list(read_rows(path, ["w"], {"w": "categorical"}, chunk_rows=40))
    assert [table.n_rows for table, _ in chunks] == [40, 40, 10]
    found = np.concatenate([table.others["w"] for table, _ in chunks])
    assert found.tolist() == words.to_pylist()


def test_labels_of_thousands_of_characters_are_refused(tmp_path):
    path = tmp_path / "t.parquet"
    write_long_words(path)
    with pytest.raises(InputError, match="a label has 4,000,000 characters"):
        read_table(path, "long")
    with pytest.raises(InputError, match="category of more than 1,000 characters"):
        read_table(path, "y", categorical=["long"])


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        pa.lib.ArrowMemoryError("malloc of size 12 failed"),
        RuntimeError("std::bad_alloc"),
        OSError(12, "Cannot allocate memory"),
        ValueError("Unable to allocate 3. GiB for an array"),
    ],
)
def test_lack_of_memory_never_blames_the_file(tmp_path, error):
    path = tmp_path / "t.csv"
    path.write_text("a,y\n1,2\n", encoding="utf-8")
    expected = pytest.raises(NotEnoughMemory, match=r"not enough memory to read t\.csv")
    with expected as raised, readable(Source(path, "csv")):
        raise error
    assert "damaged" not in str(raised.value)
    assert is_about_memory(raised.value)


def test_a_limit_of_the_data_of_a_process_counts():
    resource = pytest.importorskip("resource")
    limits = resource.getrlimit(resource.RLIMIT_DATA)
    try:
        resource.setrlimit(resource.RLIMIT_DATA, (64 << 30, limits[1]))
        assert available_memory() < 64 << 30
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, limits)
