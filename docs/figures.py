"""Copy measured figures from benchmarks/results/ into the README and the pages.

    python docs/figures.py          # rewrites the excerpts
    python docs/figures.py --check  # fails where a page differs from the results

An excerpt stands between `<!-- excerpt FILE#Section -->` and `<!-- end -->`.

No figure is typed by hand: tests/test_docs.py runs the check.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
RESULTS = "benchmarks/results"
_EXCERPT = re.compile(r"(<!-- excerpt (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)

# Programs that the benchmarks compare with; their versions are those of constraints.txt.
PEERS = {
    "scikit-learn": "selectors, classifiers, baselines of `tamis fit`",
    "abess": "best subsets by splicing",
    "fasterrisk": "sparse risk scores by beam search",
    "skglm": "sparse linear models, multi-task Lasso",
    "cvxpy": "convex problems, here with Clarabel",
    "crepes": "prediction sets",
    "mapie": "prediction sets, tests in a fixed order",
    "pandas": "reading tables",
    "scanpy": "t-tests of groups of cells",
    "illico": "Wilcoxon tests of groups of cells",
}

# Rows of the README's table: a sentence, a file, a pattern whose groups fill the value, a command.
FIGURES = [
    (
        "panel minus Logistic-RFE with a tuned head, 44 data sets, 2 to 12 features, points of "
        "balanced accuracy (± standard error)",
        "at_k.md#The panel minus others",
        r"\| Logistic-RFE \| 44 \| (\S+) \| (\S+) ",
        "{} ± {}",
        "make bench-accuracy",
    ),
    (
        "the same, if Logistic-RFE has the panel's automatic head too",
        "at_k.md#The panel minus others that have its automatic head",
        r"\| Logistic-RFE \| 44 \| (\S+) \| (\S+) ",
        "{} ± {}",
        "make bench-accuracy",
    ),
    (
        "features of the recommended model, compared with l1-logistic regression chosen as in "
        "glmnet (14 sets, trained on halves)",
        "halves.md",
        r"error of log loss: (\S+) points .* \(standard error (\S+)\), with (\S+) times",
        "{2} times as many, at {0} ± {1} points",
        "python benchmarks/accuracy/halves.py",
    ),
    (
        "500 columns of noise, 60 rows, truth 0.5: honest score, and the selection score that you "
        "would have reported",
        "honest_scores.md",
        r"\| noise, 60 x 500 \| (\S+) \| 0.500 \| [^|]+ \| (\S+) ",
        "{}; {}",
        "python benchmarks/honest_scores.py",
    ),
    (
        "15 rows of noise, six times each: honest score with and without recognising copies",
        "honest_scores.md",
        r"\| noise, 15 rows, 6 times each, 20 columns \| (\S+) .*\n\| the same[^|]*\| (\S+) ",
        "{}; {}",
        "python benchmarks/honest_scores.py",
    ),
    (
        "primal-dual to a certified gap of 1e-6: speed relative to skglm (multi-task Lasso, 5,000 "
        "features, radius 2)",
        "speed_primal_dual.txt",
        r"skglm MultiTaskLasso, d=5000, k=9, radius 2, .* = (\S+) x;",
        "{} times",
        "python benchmarks/speed/primal_dual.py",
    ),
    (
        "100 of 270,000 words, selected from a million rows",
        "speed_panel_words.txt",
        r"k = 100: (\S+) s;",
        "{} s",
        "python benchmarks/speed/panel_words.py",
    ),
]


def section(source: str) -> str:
    """Text of ``file`` or of the section of ``file#Heading``; the first heading that begins so."""
    name, _, heading = source.partition("#")
    text = (ROOT / RESULTS / name).read_text(encoding="utf-8")
    if not heading:
        return text
    parts = re.split(r"^#+ (.+)$", text, flags=re.MULTILINE)
    for title, body in zip(parts[1::2], parts[2::2], strict=True):
        if title == heading or title.startswith((heading + ":", heading + ",")):
            return body
    raise SystemExit(f"{name} has no section {heading!r}: see docs/figures.py.")


def first_table(text: str) -> str:
    """The first table of a text."""
    found = re.search(r"(?:^\|.*\n?)+", text, re.MULTILINE)
    if not found:
        raise SystemExit("No table found: see docs/figures.py.")
    return found.group().strip()


def versions() -> str:
    """Table of the peers with the versions that were tested."""
    pins = dict(
        line.strip().split("==")
        for line in (ROOT / "constraints.txt").read_text().splitlines()
        if "==" in line
    )
    rows = [f"| {name} | {pins[name]} | {what} |" for name, what in PEERS.items()]
    return "\n".join(["| package | version | compared for |", "| --- | --- | --- |", *rows])


def figures() -> str:
    """The README's table."""
    rows = []
    for sentence, source, pattern, form, command in FIGURES:
        found = re.search(pattern, section(source))
        if not found:
            raise SystemExit(f"{source} does not match {pattern!r}: see docs/figures.py.")
        rows.append(f"| {sentence} | {form.format(*found.groups())} | `{command}` |")
    return "\n".join(["| measured | result | printed by |", "| --- | --- | --- |", *rows])


def excerpt(what: str) -> str:
    """What stands between the marks of one excerpt."""
    made = {"versions": versions, "figures": figures}
    if what in made:
        return made[what]()
    source = what.removeprefix(RESULTS + "/")
    if source.endswith(".txt"):
        return f"```text\n{section(source).rstrip()}\n```"
    return first_table(section(source))


def refresh(page: str) -> str:
    """The page with all excerpts as they are in the results."""
    return _EXCERPT.sub(lambda m: f"{m[1]}\n{excerpt(m[2])}\n\n{m[3]}", page)


def pages() -> list[Path]:
    """Pages that may have excerpts."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def main(arguments: list[str]) -> int:
    """Rewrite the pages, or with ``--check`` name those that differ."""
    stale = []
    for path in pages():
        page = path.read_text(encoding="utf-8")
        fresh = refresh(page)
        if fresh != page:
            stale.append(path.name)
            if "--check" not in arguments:
                path.write_text(fresh, encoding="utf-8")
    if stale:
        print(
            "differs from benchmarks/results:" if "--check" in arguments else "rewritten:", *stale
        )
    return int(bool(stale) and "--check" in arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
