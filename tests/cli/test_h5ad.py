"""h5ad files that take content from other files, which they could name at will."""

import numpy as np
import pytest

h5py = pytest.importorskip("h5py")

FAST = ("--methods", "centers,most-frequent", "--folds", "2", "--repeats", "1", "--n-jobs", "1")
N_ROWS = 40
X = np.random.default_rng(0).normal(size=(N_ROWS, 3)) + 3.0 * (np.arange(N_ROWS) % 2)[:, None]


def external_link(file, other):
    file["X"] = h5py.ExternalLink(other.name, "/X")


def soft_link_through_another_file(file, other):
    file["elsewhere"] = h5py.ExternalLink(other.name, "/")
    file["X"] = h5py.SoftLink("/elsewhere/X")


def external_link_inside(file, other):
    file["X"] = X
    file["obs/more"] = h5py.ExternalLink(other.name, "/X")


def external_storage(file, other):
    raw = other.with_suffix(".raw")
    raw.write_bytes(X.tobytes())
    file.create_dataset("X", X.shape, "f8", external=[(str(raw), 0, h5py.h5f.UNLIMITED)])


def virtual_dataset(file, other):
    layout = h5py.VirtualLayout(X.shape, "f8")
    layout[:] = h5py.VirtualSource(other, "X", X.shape)
    file.create_virtual_dataset("X", layout)


FOREIGN = (
    external_link,
    soft_link_through_another_file,
    external_link_inside,
    external_storage,
    virtual_dataset,
)


def write(folder, make):
    """A file whose matrix `make` puts there, and another one that has a matrix, too."""
    with h5py.File(folder / "other.h5", "w") as other:
        other["X"] = X
    with h5py.File(folder / "data.h5ad", "w") as file:
        make(file, folder / "other.h5")
        file["var/_index"] = ["a", "b", "c"]
        file["obs/y"] = ["well", "ill"] * (N_ROWS // 2)
    return folder / "data.h5ad"


@pytest.mark.parametrize("make", FOREIGN, ids=lambda make: make.__name__)
def test_content_of_other_files_is_refused(make, tmp_path, refuses):
    data = write(tmp_path, make)
    refuses("fit", data, "--target", "y", *FAST, match="save everything in one file first")


def test_links_inside_the_file_are_read(tmp_path, tamis):
    def inside(file, _):
        file["raw"] = X
        file["X"] = h5py.SoftLink("/raw")
        file["layers/again"] = file["raw"]

    data = write(tmp_path, inside)
    for words in ([], ["--layer", "again"]):
        code, _, err = tamis("fit", data, "--target", "y", *FAST, *words)
        assert code == 0, err


def test_a_link_to_nowhere_is_one_line(tmp_path, refuses):
    def nowhere(file, _):
        file["X"] = h5py.SoftLink("/nothing")

    data = write(tmp_path, nowhere)
    refuses("fit", data, "--target", "y", *FAST, match="data.h5ad")
