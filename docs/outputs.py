"""Run the commands that the pages show, and paste what they print.

    python docs/outputs.py          # rewrites the pages (minutes)
    python docs/outputs.py --check  # fails where a page shows something else

A command stands in `<!-- output COMMAND -->`, and what it prints between this mark and
`<!-- end -->`. `<!-- output python -->` runs the block of Python above it. A mark may end with
`| head N` to show the first lines only. Commands run once each, in the order of `PAGES`, in
build/outputs; what they write stays there for docs/make_picture.py.

Messages go to standard error and are not shown. `--check` ignores times.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "build" / "outputs"
# A page may use what commands of an earlier one wrote.
PAGES = ("README.md", "docs/getting_started.md", "docs/reading_the_output.md")
_OUTPUT = re.compile(r"(<!-- output (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)
_PYTHON = re.compile(r"```python\n((?:(?!```).)*)```\s*\Z", re.DOTALL)
_SECONDS = re.compile(r"\d+(?:\.\d+)? (?:s|min)\b")


def commands(page: str) -> list[str]:
    """Commands of a page as a person would type them; without blocks of Python."""
    return [_typed(what) for _, what, _ in _OUTPUT.findall(page) if _typed(what) != "python"]


def _typed(what: str) -> str:
    return what.partition(" | head ")[0]


class Session:
    """Runs commands in one folder, each once."""

    def __init__(self) -> None:
        shutil.rmtree(FOLDER, ignore_errors=True)
        shutil.copytree(ROOT / "docs" / "data", FOLDER / "docs" / "data")
        self._printed: dict[str, str] = {}

    def run(self, arguments: list[str], key: str, text: str | None = None) -> str:
        """What a program prints; stops with its messages if it fails."""
        if key not in self._printed:
            print(f"running: {key.splitlines()[0]}", file=sys.stderr, flush=True)
            done = subprocess.run(
                [sys.executable, *arguments],
                cwd=FOLDER,
                input=text,
                capture_output=True,
                text=True,
                env={**os.environ, "COLUMNS": "80", "PYTHONPATH": str(ROOT / "src")},
            )
            if done.returncode:
                raise SystemExit(f"{key}\nfailed:\n{done.stderr}")
            self._printed[key] = done.stdout.rstrip()
        return self._printed[key]

    def show(self, what: str, before: str) -> str:
        """What stands between the marks of one output; `before` is the page above it."""
        command = _typed(what)
        if command == "python":
            program = _PYTHON.search(before)
            if not program:
                raise SystemExit("There is no block of Python above `<!-- output python -->`.")
            return f"```text\n{self.run(['-'], program[1], program[1])}\n```"
        words = shlex.split(command)
        printed = self.run(["-m", "tamis", *words[1:]], command)
        if what != command:
            lines = printed.splitlines()
            shown = lines[: int(what.rpartition(" ")[2])]
            printed = "\n".join(shown + ["..."] * (len(shown) < len(lines)))
        return f"```text\n$ {command}\n{printed}\n```"


def refresh(page: str, session: Session) -> str:
    """The page with what the commands print now."""
    return _OUTPUT.sub(
        lambda m: f"{m[1]}\n{session.show(m[2], page[: m.start()])}\n\n{m[3]}", page
    )


def main(arguments: list[str]) -> int:
    """Rewrite the pages, or with ``--check`` name those that differ."""
    session, stale = Session(), []
    for name in PAGES:
        path = ROOT / name
        refresh(path.read_text(encoding="utf-8"), session)
        page = path.read_text(encoding="utf-8")  # it may have been edited in the meantime
        fresh = refresh(page, session)
        if _SECONDS.sub("", fresh) != _SECONDS.sub("", page):
            stale.append(name)
        if "--check" not in arguments and fresh != page:
            path.write_text(fresh, encoding="utf-8")
    if stale:
        print("differs from the output:" if "--check" in arguments else "rewritten:", *stale)
    return int(bool(stale) and "--check" in arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
