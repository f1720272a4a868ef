"""Count the tests by room and kind, and write the table of docs/testing.md.

    python docs/count_tests.py          # rewrites the table
    python docs/count_tests.py --check  # fails if a number is more than a fifth away

Tests are collected, not run.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "testing.md"
KINDS = ("tests", "slow", "scikit-learn's checks", "slow references", "random inputs")
# Numbers that differ by so much, or by this proportion, are out of date.
FEW, SHARE = 25, 0.2
_TABLE = re.compile(r"(<!-- tests -->\n).*?(<!-- end -->)", re.DOTALL)


class Counts:
    """A plugin of pytest: the numbers of tests, by room and kind."""

    def __init__(self) -> None:
        self.of_room: dict[str, Counter[str]] = {}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Count each test once in each column that it belongs to."""
        for item in items:
            room = self.of_room.setdefault(_room(item.path.relative_to(ROOT)), Counter())
            room["tests"] += 1
            room["slow"] += item.get_closest_marker("slow") is not None
            function = getattr(item, "obj", None)
            room["random inputs"] += getattr(function, "is_hypothesis_test", False)
            spec = getattr(item, "callspec", None)
            room["scikit-learn's checks"] += spec is not None and "check" in spec.params
            room["slow references"] += "tests.oracles" in _source(item.path)


def _room(path: Path) -> str:
    if path.parts[0] != "tests":
        return "examples in docstrings" if path.parts[0] == "src" else "examples in pages"
    return f"`{path.parts[1]}`" if len(path.parts) > 2 else "the package as a whole"


def _source(path: Path, known: dict[Path, str] = {}) -> str:  # noqa: B006, a cache
    if path not in known:
        known[path] = path.read_text(encoding="utf-8")
    return known[path]


def collect() -> dict[str, Counter[str]]:
    """Numbers of tests by room and kind."""
    counts, said = Counts(), io.StringIO()
    os.chdir(ROOT)
    with contextlib.redirect_stdout(said):
        code = pytest.main(["--collect-only", "-q", "-p", "no:cacheprovider"], plugins=[counts])
    if code:
        raise SystemExit(said.getvalue()[-2000:])
    return counts.of_room


def write(of_room: dict[str, Counter[str]]) -> str:
    """The table, with the sum in its last row."""
    rows = [[room, *(of_room[room][kind] for kind in KINDS)] for room in sorted(of_room)]
    rows.append(["all", *(sum(counts[kind] for counts in of_room.values()) for kind in KINDS)])
    lines = [f"| room | {' | '.join(KINDS)} |", "| --- |" + " ---: |" * len(KINDS)]
    lines += [f"| {room} | " + " | ".join(f"{n:,}" for n in row) + " |" for room, *row in rows]
    return "\n".join(lines) + "\n"


def read(page: str) -> dict[str, list[int]]:
    """The numbers of a table by its rows."""
    found = _TABLE.search(page)
    assert found is not None
    rows = [line.strip("| ").split(" | ") for line in found.group().splitlines() if "|" in line]
    return {row[0]: [int(n.replace(",", "")) for n in row[1:]] for row in rows[2:]}


def out_of_date(page: str, table: str) -> list[str]:
    """Rows of a page that are not those of a table, within reason."""
    shown, counted = read(page), read(f"<!-- tests -->\n{table}<!-- end -->")
    rows = [name for name in {**shown, **counted} if (name in shown) != (name in counted)]
    return rows + [
        name
        for name in shown.keys() & counted.keys()
        for old, new in zip(shown[name], counted[name], strict=True)
        if abs(old - new) > max(FEW, SHARE * new)
    ]


def main() -> int:
    """Rewrite the page, or compare it."""
    table, page = write(collect()), PAGE.read_text(encoding="utf-8")
    if "--check" in sys.argv[1:]:
        wrong = out_of_date(page, table)
        print("\n".join(wrong) or "The table is up to date.")
        return int(bool(wrong))
    PAGE.write_text(_TABLE.sub(lambda m: m[1] + table + m[2], page), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
