"""Bad files: one line for each, and never another error."""

import gzip
import io

import numpy as np
import pytest
from scipy import sparse

from tamis.tables import InputError, read_rows, read_table
from tests.test_house import modules_after

TEXT = "id,color,u,v,y\n" + "".join(
    f'r{i},{["red", "blue"][i % 2]},{i / 4},{i * i % 17},"{"ab"[i % 2]}"\n' for i in range(30)
)


def csv_bytes():
    return TEXT.encode()


def gz_bytes():
    return gzip.compress(TEXT.encode(), mtime=0)


def svm_bytes():
    return "".join(f"{i % 2} 1:{i} 3:{i / 7:.3f} 9:1\n" for i in range(20)).encode()


def npy_bytes():
    out = io.BytesIO()
    np.save(out, np.column_stack([np.arange(40.0).reshape(20, 2) ** 2, np.arange(20) % 2]))
    return out.getvalue()


def npz_bytes():
    out = io.BytesIO()
    np.savez(out, X=np.arange(40.0).reshape(20, 2) ** 2, y=np.arange(20) % 2)
    return out.getvalue()


def sparse_bytes():
    """Classes 0 and 1 in the first column."""
    out = io.BytesIO()
    S = sparse.random_array((20, 5), density=0.4, rng=np.random.default_rng(0))
    labels = sparse.coo_array((np.arange(20) % 2.0)[:, None])
    sparse.save_npz(out, sparse.hstack([labels, S]).tocsr(), compressed=False)
    return out.getvalue()


def parquet_bytes():
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    out = io.BytesIO()
    columns = {"u": np.arange(20.0) ** 2, "c": ["r", "s"] * 10, "y": np.arange(20) % 2}
    pq.write_table(pa.table(columns), out)
    return out.getvalue()


def h5ad_bytes():
    h5py = pytest.importorskip("h5py")
    out = io.BytesIO()
    S = sparse.random_array((20, 6), density=0.4, rng=np.random.default_rng(0)).tocsr()
    with h5py.File(out, "w") as file:
        X = file.create_group("X")
        X.attrs["encoding-type"], X.attrs["shape"] = "csr_matrix", S.shape
        X["data"], X["indices"], X["indptr"] = S.data, S.indices, S.indptr
        file["obs/y"] = np.arange(20) % 2
        file["var/_index"] = [f"g{j}" for j in range(6)]
    return out.getvalue()


def xlsx_bytes():
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["u", "c", "y"])
    for i in range(20):
        book.active.append([i * i / 4, "rs"[i % 2], "ab"[i % 2]])
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


FILES = {
    "t.csv": (csv_bytes, "y"),
    "t.csv.gz": (gz_bytes, "y"),
    "t.svm": (svm_bytes, None),
    "t.npy": (npy_bytes, -1),
    "t.npz": (npz_bytes, None),
    "s.npz": (sparse_bytes, "x0"),
    "t.parquet": (parquet_bytes, "y"),
    "t.xlsx": (xlsx_bytes, "y"),
    "t.h5ad": (h5ad_bytes, "y"),
}


def cut(content, rng):
    """The beginning of the content."""
    return content[: int(rng.integers(1, len(content)))]


def damaged(content, rng):
    """The content with some bytes changed, taken out, put in, or cut off."""
    content = bytearray(content)
    for _ in range(rng.integers(1, 5)):
        at = int(rng.integers(len(content))) if content else 0
        kind = rng.integers(5)
        if kind == 0:
            content = content[:at]
        elif kind == 1:
            content[at : at + int(rng.integers(1, 20))] = b""
        elif kind == 2:
            content[at:at] = rng.bytes(int(rng.integers(1, 8)))
        elif kind == 3:
            content[at : at + 1] = bytes([rng.choice(list(b'0,;"\t\n\r -.eN\x00\xff_:'))])
        else:
            content[at : at + 1] = rng.bytes(1)
    return bytes(content)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FILES)
def test_damaged_files_give_a_table_or_one_line(tmp_path, name):
    make, target = FILES[name]
    rng = np.random.default_rng(0)
    content = make()
    path = tmp_path / name
    n_errors = 0
    # Changed bytes can send the HDF5 library itself into an endless loop: those are only cut.
    damage = cut if name.endswith(".h5ad") else damaged
    for _ in range(300):
        path.write_bytes(damage(content, rng))
        try:
            data = read_table(path, target)
            assert data.columns.n_rows == data.y.size
            np.asarray(data.columns.numeric.sum())
            for _chunk in read_rows(path, data.columns.names, data.kinds, chunk_rows=7):
                pass
        except InputError as error:
            n_errors += 1
            assert "\n" not in str(error)
    assert n_errors > 50


@pytest.mark.parametrize("name", FILES)
def test_the_files_themselves_are_fine(tmp_path, name):
    make, target = FILES[name]
    (tmp_path / name).write_bytes(make())
    data = read_table(tmp_path / name, target)
    assert data.columns.n_rows == (30 if ".csv" in name else 20)
    assert len(np.unique(data.y)) == 2


@pytest.mark.parametrize("name", FILES)
def test_empty_and_foreign_files(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(b"")
    with pytest.raises(InputError, match="empty"):
        read_table(path, "y")
    path.write_bytes(np.random.default_rng(0).bytes(5000))
    with pytest.raises(InputError, match=name):
        read_table(path, "y")


def test_folders_and_absent_files(tmp_path):
    (tmp_path / "train.csv").write_text(TEXT)
    with pytest.raises(InputError, match="is a folder"):
        read_table(tmp_path, "y")
    with pytest.raises(InputError, match=r"no file .*trian\.csv; did you mean train\.csv"):
        read_table(tmp_path / "trian.csv", "y")
    with pytest.raises(InputError, match="no folder"):
        read_table(tmp_path / "none" / "t.csv", "y")
    with pytest.raises(InputError, match="no file"):
        read_rows(tmp_path / "absent", ["u"], {})


@pytest.mark.parametrize(
    ("text", "message"),
    [("a,b,y\n", "header and no rows"), ("\n\n", "empty"), ("a\n", "header and no rows")],
)
def test_files_without_rows(tmp_path, text, message):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(InputError, match=message):
        read_table(tmp_path / "t.csv", "y")


def test_wrong_options(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(TEXT)
    for options, message in [
        ({"format": "xls"}, "format must be one of"),
        ({"delimiter": "::"}, "delimiter must be one character"),
        ({"layer": "raw"}, "layer is for h5ad"),
        ({"missing": "drop"}, "missing must be"),
        ({"text": ["color"], "categorical": ["color"]}, "either text or categorical"),
    ]:
        with pytest.raises(InputError, match=message):
            read_table(path, "y", **options)


def test_cut_gzip_is_told(tmp_path):
    (tmp_path / "t.csv.gz").write_bytes(gz_bytes()[:-30])
    with pytest.raises(InputError, match="damaged or truncated"):
        read_table(tmp_path / "t.csv.gz", "y")


def test_importing_loads_nothing_heavy():
    heavy = {"numpy", "scipy", "sklearn", "pandas", "polars", "pyarrow", "h5py"}
    assert not modules_after("import tamis.tables").intersection(heavy)
    loaded = modules_after("from tamis.tables import read_table")
    assert not loaded.intersection(["polars", "h5py", "matplotlib", "dask", "torch"])
