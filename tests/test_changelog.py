"""The changelog is what `tools/changelog.py` makes of the fragments."""

import re

import pytest
from tools import changelog

import tamis


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A page without versions, and no fragments."""
    (tmp_path / "changelog.d").mkdir()
    (tmp_path / "changelog.d" / "README.md").write_text("# Fragments\n")
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## 0.0.1 (2020-01-01)\n\n- Old.\n")
    monkeypatch.setattr(changelog, "PAGE", tmp_path / "CHANGELOG.md")
    monkeypatch.setattr(changelog, "FRAGMENTS", tmp_path / "changelog.d")
    monkeypatch.setattr(changelog, "find_version", lambda: "0.1.0")
    return tmp_path


def add(folder, name, text):
    (folder / "changelog.d" / name).write_text(text)


def test_the_section_of_this_version_is_what_the_script_writes():
    text = changelog.PAGE.read_text(encoding="utf-8")
    entries, start, end = changelog.read_section(text, tamis.__version__)
    day = re.search(r"\((.+)\)", text[start:end]).group(1)
    assert changelog.write_section(tamis.__version__, entries, day) == text[start:end]
    assert sum(map(len, entries.values())) > 30


def test_fragments_move_to_the_areas_of_their_names(folder):
    add(folder, "b.panels.md", "Second: `a - b`.\n")
    add(folder, "a.panels.md", "First,\nof two lines.\n")
    add(folder, "c.tables.md", f"- Long {'word ' * 40}end.\n")
    changelog.gather("2021-02-03")
    text = (folder / "CHANGELOG.md").read_text()
    first, second = text.index("First, of two lines."), text.index("Second: `a - b`.")
    assert text.index("## 0.1.0 (2021-02-03)") < text.index("### Reading tables")
    assert text.index("### Reading tables") < text.index("### Panels") < first < second
    assert second < text.index("## 0.0.1 (2020-01-01)\n\n- Old.\n")
    assert max(map(len, text.splitlines())) <= changelog.WIDTH
    assert [path.name for path in (folder / "changelog.d").iterdir()] == ["README.md"]
    assert changelog.check() == []


def test_later_fragments_of_the_same_version_are_added(folder):
    add(folder, "a.panels.md", "First.")
    changelog.gather("2021-02-03")
    add(folder, "b.panels.md", "Second.")
    add(folder, "c.centers.md", "Third.")
    assert changelog.check()[:1] == ["changelog.d/b.panels.md is not in CHANGELOG.md"]
    changelog.gather("2021-02-04")
    text = (folder / "CHANGELOG.md").read_text()
    assert text.count("## 0.1.0") == 1 and "(2021-02-04)" in text
    assert "### Sparse centers\n\n- Third.\n\n### Panels\n\n- First.\n- Second.\n" in text
    before = text
    changelog.gather("2021-02-04")
    assert (folder / "CHANGELOG.md").read_text() == before


def test_a_fragment_without_an_area_stops_everything(folder):
    add(folder, "a.panels.md", "First.")
    add(folder, "b.md", "Second.")
    before = (folder / "CHANGELOG.md").read_text()
    with pytest.raises(SystemExit, match=r"short-name\.AREA\.md"):
        changelog.gather("2021-02-03")
    assert (folder / "CHANGELOG.md").read_text() == before
    assert (folder / "changelog.d" / "a.panels.md").exists()


def test_a_version_without_a_section_is_noticed(folder):
    assert changelog.check() == [
        "CHANGELOG.md has no section for 0.1.0",
        "run python tools/changelog.py",
    ]
