"""The packages that `make release` builds, as far as they can be checked without a network."""

import shutil
import tarfile
import zipfile

import pytest
from tools import release

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Sdist, wheel, and what is wrong with building them twice."""
    pytest.importorskip("hatchling")
    return release.build_twice(tmp_path_factory.mktemp("packages"))


def test_packages_are_the_same_when_they_are_built_again_from_the_sdist(built):
    assert built[2] == []


def test_packages_hold_what_they_should(built):
    sdist, wheel, _ = built
    assert release.check_wheel(wheel) == []
    assert release.check_sdist(sdist) == []


def test_a_wheel_with_tests_or_without_a_template_is_noticed(built, tmp_path):
    path = tmp_path / built[1].name
    with zipfile.ZipFile(built[1]) as whole, zipfile.ZipFile(path, "w") as damaged:
        for name in whole.namelist():
            if not name.endswith("report.html"):
                damaged.writestr(name, whole.read(name))
        damaged.writestr("tests/test_common.py", "")
    assert release.check_wheel(path) == [
        "is not packed: tamis/report/templates/report.html",
        "should not be packed: tests/test_common.py",
        f"has {path.stat().st_size:,} bytes, more than 2,000,000",  # it is not compressed
    ]


def test_an_sdist_without_tests_is_noticed(built, tmp_path):
    with tarfile.open(built[0]) as archive:
        archive.extractall(tmp_path, filter="data")
    (folder,) = tmp_path.iterdir()
    shutil.rmtree(folder / "tests" / "heads")
    path = tmp_path / "less.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        archive.add(folder, folder.name)
    wrong = release.check_sdist(path)
    assert wrong and all("is not packed: tests/heads/test_" in line for line in wrong)
