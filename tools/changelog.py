"""Gather the fragments of changelog.d in CHANGELOG.md.

    python tools/changelog.py          # move the fragments to the section of this version
    python tools/changelog.py --check  # fail if this version has no section, or fragments are left

A fragment is a file `name.area.md` of one or a few sentences, with an area of `AREAS`. Within an
area, entries are in the order of their names.
"""

import argparse
import datetime
import re
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE, FRAGMENTS = ROOT / "CHANGELOG.md", ROOT / "changelog.d"
AREAS = {
    "compare": "Comparing and choosing",
    "tables": "Reading tables",
    "centers": "Sparse centers",
    "primal-dual": "Primal-dual classifiers",
    "landmarks": "Landmarks",
    "datum-wise": "Datum-wise classifiers",
    "panels": "Panels",
    "selectors": "Selectors and projections",
    "guarantees": "Guarantees",
    "validation": "Validation and clinical questions",
    "command-line": "Command line",
    "report": "Report, questionnaire and card",
    "models": "Model files and exports",
    "large-data": "Large data, clusters and GPUs",
    "inspection": "Pictures",
    "other": "Everything else",
}
WIDTH = 99


def find_version():
    """The version of the package."""
    text = (ROOT / "src" / "tamis" / "__init__.py").read_text(encoding="utf-8")
    return re.search(r'__version__ = "(.+)"', text).group(1)


def find_fragments():
    """Paths of the fragments."""
    return [path for path in sorted(FRAGMENTS.glob("*.md")) if path.name != "README.md"]


def area_of(path):
    """The area in the name of a fragment."""
    area = Path(path.stem).suffix.removeprefix(".")
    if area not in AREAS:
        raise SystemExit(
            f"{path.name}: name it short-name.AREA.md, with one of {', '.join(AREAS)}; delete it "
            "if it repairs what was never released."
        )
    return area


def read_section(text, version):
    """Entries of a version in the page by their areas, and where its section begins and ends."""
    found = re.search(rf"^## {re.escape(version)} .*?(?=^## |\Z)", text, re.M | re.S)
    entries = {area: [] for area in AREAS}
    if found is None:
        first = re.search(r"^## ", text, re.M)
        place = first.start() if first else len(text)
        return entries, place, place
    titles = {title: area for area, title in AREAS.items()}
    for title, body in re.findall(r"^### (.+?)\n(.*?)(?=^### |\Z)", found.group(), re.M | re.S):
        items = re.split(r"^- ", body, flags=re.M)[1:]
        entries[titles[title]] += [" ".join(item.split()) for item in items]
    return entries, found.start(), found.end()


def write_section(version, entries, day):
    """The section of a version."""
    lines = [f"## {version} ({day})", ""]
    for area, title in AREAS.items():
        if entries[area]:
            lines += [f"### {title}", ""]
            for entry in entries[area]:
                lines += textwrap.wrap(
                    entry,
                    WIDTH,
                    initial_indent="- ",
                    subsequent_indent="  ",
                    break_long_words=False,
                    break_on_hyphens=False,
                )
            lines.append("")
    return "\n".join(lines) + "\n"


def gather(day):
    """Move the fragments to the page."""
    text, version = PAGE.read_text(encoding="utf-8"), find_version()
    entries, start, end = read_section(text, version)
    fragments = [(path, area_of(path)) for path in find_fragments()]
    for path, area in fragments:
        entry = " ".join(path.read_text(encoding="utf-8").removeprefix("- ").split())
        if entry not in entries[area]:
            entries[area].append(entry)
    section = write_section(version, entries, day)
    PAGE.write_text(text[:start] + section + text[end:].lstrip("\n"), encoding="utf-8")
    for path, _ in fragments:
        path.unlink()


def check():
    """What is missing for a release; an empty list if nothing is."""
    version = find_version()
    wrong = [f"changelog.d/{path.name} is not in CHANGELOG.md" for path in find_fragments()]
    entries, start, end = read_section(PAGE.read_text(encoding="utf-8"), version)
    if start == end or not any(entries.values()):
        wrong.append(f"CHANGELOG.md has no section for {version}")
    return [*wrong, "run python tools/changelog.py"] if wrong else []


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true")
    if parser.parse_args().check:
        raise SystemExit("\n".join(check()) or None)
    gather(datetime.date.today().isoformat())
