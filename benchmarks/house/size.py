"""How large the package is, room by room, beside an earlier commit.

    python benchmarks/house/size.py
    python benchmarks/house/size.py --tree ../other-checkout --commit 6b5da50

For each room (the packages and modules directly below `tamis`): files, lines, lines of code
(neither blank nor comment nor docstring), lines of docstrings, and compiled kernels (functions
decorated with `compiled` or `twins`).
"""

import argparse
import ast
import io
import sys
import tempfile
import tokenize
from collections import Counter
from pathlib import Path

from commits import ROOT, export_commit

COUNTS = ("files", "lines", "code", "docstrings", "kernels")
_LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


def docstring_lines(tree):
    """Numbers of the lines that docstrings take."""
    lines = set()
    for node in ast.walk(tree):
        if not isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        if ast.get_docstring(node, clean=False) is not None:
            lines.update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return lines


def count(source):
    """The counts of one file."""
    tree = ast.parse(source)
    docstrings, code = docstring_lines(tree), set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _LAYOUT:
            code.update(range(token.start[0], token.end[0] + 1))
    decorators = [
        decorator.func if isinstance(decorator, ast.Call) else decorator
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        for decorator in node.decorator_list
    ]
    kernels = sum(getattr(d, "id", None) in ("compiled", "twins") for d in decorators)
    return Counter(
        files=1,
        lines=len(source.splitlines()),
        code=len(code - docstrings),
        docstrings=len(docstrings),
        kernels=kernels,
    )


def measure(tree):
    """The counts of each room, and of all of them together ("all")."""
    package, rooms = Path(tree) / "src" / "tamis", {}
    for path in sorted(package.rglob("*.py")):
        room = path.relative_to(package).parts[0]
        counts = count(path.read_text(encoding="utf-8"))
        for name in (room, "all"):
            rooms.setdefault(name, Counter()).update(counts)
    return rooms


def report(before, now):
    """A table with both numbers of every count."""
    lines = [f"{'before -> now':18s}" + "".join(f"{name:>18s}" for name in COUNTS)]
    for room in sorted({*before, *now}, key=lambda name: (name == "all", name)):
        old, new = before.get(room, Counter()), now.get(room, Counter())
        cells = [f"{old[name]} -> {new[name]}" for name in COUNTS]
        lines.append(f"{room:18s}" + "".join(f"{cell:>18s}" for cell in cells))
    return "\n".join(lines)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tree", default=ROOT, help="checkout to measure (default: this one)")
    parser.add_argument("--commit", default="6b5da50", help="the earlier commit")
    parser.add_argument("--cache", help="folder that keeps the files of the earlier commit")
    arguments = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        old = export_commit(arguments.commit, arguments.cache or folder)
        print(report(measure(old), measure(arguments.tree)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
