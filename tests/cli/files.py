"""One small table in every format, and the words that read it."""

import bz2
import csv
import gzip
from dataclasses import dataclass, field

import numpy as np
import pytest
from scipy import sparse

N_ROWS = 48
NAMES = ["age", "dose", "noise", "more"]
RNG = np.random.default_rng(5)
LABELS = np.array(["well", "ill"])[np.arange(N_ROWS) % 2]
CODES = np.arange(N_ROWS) % 2
X = np.round(RNG.normal(size=(N_ROWS, 4)) + 2.0 * CODES[:, None] * [1, 1, 0, 0], 3)
# Zeros where they are in sparse data: the classes differ in which features are there at all.
SPARSE = np.where(RNG.random(X.shape) < 0.2, 0.0, np.abs(X) + 2.0 * CODES[:, None] * [1, 1, 0, 0])
IDS = np.array([f"s{i:02d}" for i in range(N_ROWS)])
COLORS = [
    None if i % 11 == 5 else ["red", "green", "blue"][(i + i // 7) % 3] for i in range(N_ROWS)
]
GOOD, BAD = ["quick recovery", "all good", "felt fine"], ["high fever", "bad cough", "felt ill"]
REVIEWS = [
    f"{(BAD if c else GOOD)[i % 3]} today, day {i % 5}" for i, c in enumerate(CODES.tolist())
]


@dataclass
class File:
    """A file, and options: of `read_table` by their names there."""

    path: object
    target: str | None
    reading: dict = field(default_factory=dict)  # of all commands
    labels: dict = field(default_factory=dict)  # of fit and evaluate
    training: dict = field(default_factory=dict)  # of fit
    vectorizer: str | None = None

    def words(self, *parts):
        """Options for the command line."""
        words = []
        for name, value in [item for part in parts for item in part.items()]:
            words += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
        return words

    @property
    def fit(self):
        target = {} if self.target is None else {"target": self.target}
        vectorizer = {} if self.vectorizer is None else {"vectorizer": self.vectorizer}
        return self.words(target, self.reading, self.labels, self.training, vectorizer)

    @property
    def table_options(self):
        """For `read_table`."""
        training = {name: value.split(",") for name, value in self.training.items()}
        return {**self.reading, **self.labels, **training}


def text_table(delimiter=",", decimal=".", more=None):
    """Lines of a delimited file."""
    more = more or {}
    lines = [[*NAMES, *more, "y"]]
    for i in range(N_ROWS):
        numbers = [f"{v:.3f}".replace(".", decimal) for v in X[i]]
        words = ["" if column[i] is None else column[i] for column in more.values()]
        lines.append([*numbers, *words, LABELS[i]])
    return "".join(delimiter.join(line) + "\n" for line in lines)


def make_csv(folder):
    (folder / "data.csv").write_text(text_table(), encoding="utf-8")
    return File(folder / "data.csv", "y")


def make_csv_gz(folder):
    (folder / "data.csv.gz").write_bytes(gzip.compress(text_table().encode()))
    return File(folder / "data.csv.gz", "y")


def make_csv_bz2(folder):
    (folder / "data.csv.bz2").write_bytes(bz2.compress(text_table().encode()))
    return File(folder / "data.csv.bz2", "y")


def make_csv_zst(folder):
    pa = pytest.importorskip("pyarrow")
    with pa.output_stream(folder / "data.csv.zst", compression="zstd") as file:
        file.write(f"# measured twice\n{text_table()}".encode())
    return File(folder / "data.csv.zst", "y")


def make_xlsx(folder):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    page = book.create_sheet("patients")
    page.append([*NAMES, "y"])
    for row, label in zip(X.tolist(), LABELS.tolist(), strict=True):
        page.append([*row, label])
    book.save(folder / "data.xlsx")
    return File(folder / "data.xlsx", "y", {"sheet": "patients"})


def make_tsv(folder):
    (folder / "data.tsv").write_text(text_table("\t"), encoding="utf-8")
    return File(folder / "data.tsv", "y")


def make_european(folder):
    text = text_table(";", ",").replace("dose", "größe")
    (folder / "data.csv").write_bytes(text.encode("latin-1"))
    return File(folder / "data.csv", "y", {"encoding": "latin-1"})


def make_parquet(folder):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    columns = {name: X[:, j] for j, name in enumerate(NAMES)}
    pq.write_table(pa.table({**columns, "color": COLORS, "y": LABELS}), folder / "data.parquet")
    return File(folder / "data.parquet", "y")


def svmlight_text():
    return "".join(
        f"{c} " + " ".join(f"{j + 1}:{v:.3f}" for j, v in enumerate(row) if v) + "\n"
        for c, row in zip(CODES, SPARSE, strict=True)
    )


def make_svmlight(folder):
    (folder / "data.svm").write_text(svmlight_text(), encoding="utf-8")
    return File(folder / "data.svm", None)


def make_svmlight_gz(folder):
    (folder / "data.svm.gz").write_bytes(gzip.compress(svmlight_text().encode()))
    return File(folder / "data.svm.gz", None)


def make_npz(folder):
    np.savez(folder / "data.npz", X=X, y=LABELS, feature_names=np.array(NAMES))
    return File(folder / "data.npz", None)


def write_labels(path):
    """Labels by the names of the rows, in another order."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        rows = sorted(zip(IDS, LABELS, strict=True), reverse=True)
        csv.writer(file).writerows([("sample", "state"), *rows])
    return path


def make_sparse_npz(folder):
    sparse.save_npz(folder / "data.npz", sparse.csr_array(SPARSE))
    (folder / "labels.txt").write_text("\n".join(LABELS) + "\n", encoding="utf-8")
    return File(folder / "data.npz", None, labels={"target_file": folder / "labels.txt"})


def make_npy(folder):
    np.save(folder / "data.npy", np.column_stack([X, CODES]))
    return File(folder / "data.npy", "-1")


def make_h5ad(folder):
    h5py = pytest.importorskip("h5py")
    counts = sparse.csr_array(SPARSE)
    with h5py.File(folder / "data.h5ad", "w") as file:
        file["X"] = np.zeros((N_ROWS, 4))  # nothing to learn from: the layer has it
        group = file.create_group("layers/counts")
        group.attrs["encoding-type"], group.attrs["shape"] = "csr_matrix", counts.shape
        for part in ("data", "indices", "indptr"):
            group[part] = getattr(counts, part)
        file["var/_index"] = NAMES
        file["obs/_index"], file["obs/state"] = IDS.astype("S"), LABELS.astype("S")
    return File(folder / "data.h5ad", "state", {"layer": "counts"})


def make_transposed(folder):
    lines = [["feature", *IDS]]
    lines += [[name, *(f"{v:.3f}" for v in X[:, j])] for j, name in enumerate(NAMES)]
    (folder / "data.csv").write_text("".join(",".join(line) + "\n" for line in lines))
    labels = write_labels(folder / "labels.csv")
    return File(folder / "data.csv", None, {"transpose": True}, {"target_file": labels})


def make_categories(folder):
    text = text_table(more={"color": COLORS, "ward": [str(c % 3) for c in range(N_ROWS)]})
    lines = text.splitlines(keepends=True)
    lines[5] = "," + lines[5].split(",", 1)[1]  # an age that nobody knows
    (folder / "data.csv").write_text("".join(lines), encoding="utf-8")
    return File(folder / "data.csv", "y", training={"categorical": "ward"})


def make_text(folder, vectorizer):
    quoted = [f'"{review}"' for review in REVIEWS]
    text = text_table(more={"review": quoted}).splitlines()
    # The words alone: numbers would do without them.
    body = [line.split(",", 4)[4] for line in text]
    (folder / "data.csv").write_text("\n".join(body) + "\n", encoding="utf-8")
    return File(folder / "data.csv", "y", training={"text": "review"}, vectorizer=vectorizer)


def make_counts(folder):
    return make_text(folder, "counts")


def make_tfidf(folder):
    return make_text(folder, "tfidf")


def make_hashing(folder):
    return make_text(folder, "hashing")


FILES = {
    "csv": make_csv,
    "csv.gz": make_csv_gz,
    "csv.bz2": make_csv_bz2,
    "csv.zst": make_csv_zst,
    "xlsx": make_xlsx,
    "tsv": make_tsv,
    "european csv": make_european,
    "parquet": make_parquet,
    "svmlight": make_svmlight,
    "svmlight.gz": make_svmlight_gz,
    "npz": make_npz,
    "sparse npz": make_sparse_npz,
    "npy": make_npy,
    "h5ad": make_h5ad,
    "transposed": make_transposed,
    "categories": make_categories,
    "word counts": make_counts,
    "word tfidf": make_tfidf,
    "hashed words": make_hashing,
}
