"""Tables that do not fit in memory: refused by their size, before anything of it is taken."""

import gzip
import io
import zipfile

import numpy as np
import pytest
from scipy import sparse

from tests.cli.conftest import HEADER, make_rows, write_csv
from tests.cli.processes import call

FAST = ("--methods", "centers,most-frequent", "--folds", "2", "--repeats", "1", "--n-jobs", "1")
# A process that takes more than this has an error of its own, not one line from us.
GIB = 2**30


def limited():
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (8 * GIB, 8 * GIB))


def header_of(shape, dtype="<f8"):
    """The beginning of an npy file that declares an array of some shape."""
    out = io.BytesIO()
    described = {"descr": dtype, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(out, described)
    return out.getvalue()


def write_wide_sparse(path):
    """A sparse matrix without any entry: 10 rows and a hundred million columns."""
    sparse.save_npz(path, sparse.csr_array((10, 10**8)), compressed=True)
    assert path.stat().st_size < 1500


def write_empty_promise(path):
    """An archive whose array declares 8 GB and holds nothing."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("X.npy", header_of((10, 10**8)))
        archive.writestr("y.npy", header_of((10,), "<i8") + bytes(80))


def write_zeros(path):
    """320 MB of zeros in a file of 2 MB."""
    block = bytes(1 << 20)
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("X.npy", "w", force_zip64=True) as file,
    ):
        file.write(header_of((320, 1 << 17)))
        for _ in range(320):
            file.write(block)
    assert path.stat().st_size < 2_000_000


def write_npy(path):
    """Small integers, which become floats; the file has a hole for all of them."""
    with open(path, "wb") as file:
        file.write(header_of((10**5, 10**5), "|i1"))
        file.truncate(10**10 + 128)


def write_h5ad(path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        file.create_dataset("X", (20, 3 * 10**9), "f8", chunks=(1, 10**6))
        file["obs/y"] = ["a", "b"] * 10
    assert path.stat().st_size < 50_000


def write_sparse_h5ad(path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        X = file.create_group("X")
        X.attrs["encoding-type"], X.attrs["shape"] = "csr_matrix", (20, 3 * 10**9)
        X["data"], X["indices"], X["indptr"] = np.zeros(0), np.zeros(0, int), np.zeros(21, int)
        file["obs/y"] = ["a", "b"] * 10


def write_parquet(path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    table = pa.table({f"x{j}": np.zeros(10**6) for j in range(20)})
    pq.write_table(table, path)
    assert path.stat().st_size < 100_000


def write_long_line(path, text=b"1,", n_bytes=150_000_000):
    with gzip.open(path, "wb", compresslevel=1) as file:
        block = text * (1 << 20)
        for _ in range(n_bytes // len(block)):
            file.write(block)
    assert path.stat().st_size < n_bytes / 50


def write_many_lines(path):
    write_long_line(path, b"0.5,0.25,a\n" * 8, 100_000_000)


def write_svmlight(path):
    write_long_line(path, b"1 1:1 2:1 3:1 4:1\n" * 4, 100_000_000)


# Name, how it is written, and an option where the limit of 8 GiB of this process is no help.
FILES = {
    "wide.npz": (write_wide_sparse, ()),
    "promise.npz": (write_empty_promise, ()),
    "zeros.npz": (write_zeros, ("--max-size", "200MB")),
    "bytes.npy": (write_npy, ()),
    "dense.h5ad": (write_h5ad, ()),
    "sparse.h5ad": (write_sparse_h5ad, ()),
    "table.parquet": (write_parquet, ("--max-size", "100MB")),
    "line.csv.gz": (write_long_line, ()),
    "line.tsv.gz": (write_long_line, ("--max-size", "1GB")),
    "lines.csv.gz": (write_many_lines, ("--max-size", "10MB")),
    "lines.svm.gz": (write_svmlight, ("--max-size", "10MB")),
    "line.svm.gz": (write_long_line, ()),
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.slow
def test_a_small_file_of_a_large_table_is_one_line(name, tmp_path):
    write, more = FILES[name]
    write(tmp_path / name)
    words = ["fit", tmp_path / name, "--target", "y", "--stream", "off", *FAST, *more]
    code, out, err = call(*words, preexec_fn=limited)
    assert (code, out) == (2, ""), err
    *told, last = err.splitlines()  # what is known of its size may be told before
    assert last.startswith(f"tamis: error: {name}") and len(told) < 2
    assert any(word in last for word in ("the limit is", "the limit for", "declares"))


def test_the_line_has_the_size_the_limit_and_the_option(tmp_path, refuses):
    write_wide_sparse(tmp_path / "wide.npz")
    words = ["fit", tmp_path / "wide.npz", "--target", "x0"]
    err = refuses(*words, "--max-size", "4GB", match="wide.npz needs about 40.0 GB of memory")
    assert "the limit is 4.0 GB; --max-size 45GB raises it" in err
    err = refuses(*words, match="wide.npz needs about 40.0 GB of memory")
    assert "(half of what is available)" in err


@pytest.mark.parametrize("command", ["fit", "predict", "evaluate", "explain"])
def test_the_limit_is_an_option_of_all_commands_that_read(command, tmp_path, tamis, run_folder):
    rows = make_rows(60, 0)
    columns = zip(HEADER, *rows, strict=True)
    data = write_csv(tmp_path / "t.csv", ["name", *(f"s{i}" for i in range(60))], columns)
    first = {"fit": [data, "--target", "y", *FAST]}.get(command, [run_folder, data])
    code, out, err = tamis(command, *first, "--transpose", "--max-size", "1KB")
    assert (code, out) == (2, "")
    assert "the limit is 0.0 MB; --max-size 1MB raises it" in err
    assert tamis(command, *first, "--transpose", "--max-size", "1MB")[0] == 0


@pytest.mark.parametrize("size", ["many", "0", "-1GB", "8 potatoes", ""])
def test_a_size_that_is_none_is_refused(size, new, run_folder, tamis):
    code, out, err = tamis("predict", run_folder, new, f"--max-size={size}")
    assert (code, out) == (2, "")
    assert "expected a size such as 500MB or 8GB" in err


@pytest.mark.parametrize(
    ("files", "limit"),
    [
        ({"proc/meminfo": "MemTotal: 9 kB\nMemAvailable:    4000000 kB\n"}, "2.0 GB"),
        (
            {
                "proc/meminfo": "MemAvailable:    4000000 kB\n",
                "proc/self/cgroup": "0::/jobs/one\n",
                "sys/fs/cgroup/jobs/one/memory.max": "max\n",
                "sys/fs/cgroup/jobs/memory.max": "1000000000\n",
            },
            "500.0 MB",
        ),
        (
            {
                "proc/meminfo": "MemAvailable:    4000000 kB\n",
                "proc/self/cgroup": "5:cpu:/x\n4:cpuset,memory:/docker/1\n0::/\n",
                "sys/fs/cgroup/memory/memory.limit_in_bytes": "2000000000\n",
            },
            "1.0 GB",
        ),
    ],
    ids=["free memory", "version 2", "version 1"],
)
def test_the_limits_of_containers_count(files, limit, tmp_path, refuses, monkeypatch):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr("tamis.tables.formats.source._SYSTEM", tmp_path)
    write_wide_sparse(tmp_path / "wide.npz")
    words = ["fit", tmp_path / "wide.npz", "--target", "x0"]
    refuses(*words, match=f"the limit is {limit} (half of what is available)")
